# nereus_mpi.so, beside the program: src/mpi/module.cpp with Open MPI. The program opens it when mpirun has started several
# ranks, and neither links nor needs MPI. Without MPI there is no module, and the rest is the same.
set(MPI_CXX_SKIP_MPICXX ON)  # the C interface only
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_library(nereus_mpi MODULE src/mpi/module.cpp)
  set_target_properties(nereus_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                        CXX_VISIBILITY_PRESET hidden)
  target_link_libraries(nereus_mpi PRIVATE nereus_build_info MPI::MPI_CXX Threads::Threads)
  # Both carry the commit and are compared, so neither is built without the other.
  if(TARGET nereus)
    add_dependencies(nereus nereus_mpi)
  endif()
else()
  message(STATUS "No MPI (Debian: openmpi-bin libopenmpi-dev): nereus_mpi.so is not built, runs stay on one machine")
endif()
