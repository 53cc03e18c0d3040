# nereus-worker: the program that holds libtorch, one process a rank. Debian's libtorch with Gloo, or a PyTorch wheel:
#   -DNEREUS_TORCH=DIR   the folder that holds include/ and lib/ (python3 -c 'import torch; print(torch.__path__[0])')
# Found by hand: TorchConfig.cmake of a CUDA wheel asks for a whole CUDA toolkit.
set(NEREUS_TORCH "" CACHE PATH "A PyTorch wheel's folder; empty: the system's libtorch")
if(NEREUS_TORCH)
  set(torch_places PATHS ${NEREUS_TORCH} NO_DEFAULT_PATH)
endif()
find_path(TORCH_INCLUDE torch/csrc/api/include/torch/torch.h ${torch_places} PATH_SUFFIXES include REQUIRED)
add_library(nereus_torch INTERFACE)
target_include_directories(nereus_torch SYSTEM INTERFACE ${TORCH_INCLUDE} ${TORCH_INCLUDE}/torch/csrc/api/include)
foreach(name IN ITEMS torch torch_cpu c10 torch_cuda c10_cuda)
  find_library(TORCH_LIBRARY_${name} ${name} ${torch_places} PATH_SUFFIXES lib)
  if(TORCH_LIBRARY_${name})
    # A library that only registers kernels must stay linked though nothing names it.
    target_link_libraries(nereus_torch INTERFACE -Wl,--no-as-needed ${TORCH_LIBRARY_${name}} -Wl,--as-needed)
  elseif(NOT name MATCHES "cuda")
    message(FATAL_ERROR "libtorch has no lib${name} (Debian: libtorch-dev)")
  endif()
endforeach()
find_path(GLOO_INCLUDE gloo/context.h)
find_library(GLOO_LIBRARY gloo)
if(GLOO_INCLUDE AND GLOO_LIBRARY AND NOT NEREUS_TORCH)
  target_compile_definitions(nereus_torch INTERFACE USE_C10D_GLOO NEREUS_GLOO)
  target_link_libraries(nereus_torch INTERFACE ${GLOO_LIBRARY})
endif()
if(TORCH_LIBRARY_torch_cuda)
  target_compile_definitions(nereus_torch INTERFACE NEREUS_CUDA)
  # NCCL and the headers of CUDA's runtime: a wheel's own, or a toolkit's.
  find_path(NCCL_INCLUDE nccl.h HINTS ${NEREUS_TORCH}/../nvidia/nccl/include)
  find_library(NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${NCCL_INCLUDE}/../lib ${NCCL_INCLUDE}/../lib64)
  find_path(CUDA_INCLUDE cuda_runtime_api.h HINTS /usr/local/cuda/include ${NEREUS_TORCH}/../nvidia/cu13/include
            ${NEREUS_TORCH}/../nvidia/cuda_runtime/include)
  # torch's headers call the runtime by name; a wheel has it under its full name alone.
  find_library(CUDA_RUNTIME NAMES cudart libcudart.so.13 libcudart.so.12 HINTS ${CUDA_INCLUDE}/../lib ${CUDA_INCLUDE}/../lib64)
  if(CUDA_INCLUDE AND CUDA_RUNTIME)
    target_compile_definitions(nereus_torch INTERFACE NEREUS_GPU_HEADERS)
    target_include_directories(nereus_torch SYSTEM INTERFACE ${CUDA_INCLUDE})
    target_link_libraries(nereus_torch INTERFACE ${CUDA_RUNTIME})
  endif()
  if(NCCL_INCLUDE AND NCCL_LIBRARY AND CUDA_INCLUDE AND CUDA_RUNTIME)
    target_compile_definitions(nereus_torch INTERFACE NEREUS_NCCL)
    target_include_directories(nereus_torch SYSTEM INTERFACE ${NCCL_INCLUDE})
    target_link_libraries(nereus_torch INTERFACE ${NCCL_LIBRARY})
  else()
    message(STATUS "No NCCL, or no headers of CUDA: ranks on GPUs talk through the host alone")
  endif()
endif()

nereus_folder(worker DEPENDS job schedule timeline profile data checkpoint nereus_build_info nereus_torch)
# Loops over plain memory: vectors pay, and torch's headers are not needed.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/worker/comm/combine.cpp ${PROJECT_SOURCE_DIR}/src/worker/ops/gelu_loops.cpp
  PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno;-fno-trapping-math" SKIP_PRECOMPILE_HEADERS ON)
# torch's headers take 15 to 25 s a file; once is enough. Named as an #include names it and kept through preprocessing, so that
# ccache knows it in any checkout.
target_precompile_headers(nereus_worker PRIVATE <worker/device/torch.hpp>)
target_compile_options(nereus_worker PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
if(TARGET worker_test)
  target_precompile_headers(worker_test REUSE_FROM nereus_worker)
  target_compile_options(worker_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  # Some 1,100 trainings of up to four ranks each where all plans are asked for: two halves side by side, before all others.
  # Each has its own name, since GoogleTest names its results by the program.
  add_custom_command(TARGET worker_test POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink worker_test worker2_test
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  add_test(NAME worker2 COMMAND ${PROJECT_BINARY_DIR}/worker2_test)
  set_tests_properties(worker worker2 PROPERTIES TIMEOUT 2400 COST 1000)
  set_tests_properties(worker PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=0")
  set_tests_properties(worker2 PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=1")
endif()
add_executable(nereus-worker src/worker/worker_main.cpp)
target_link_libraries(nereus-worker PRIVATE nereus_worker)
target_precompile_headers(nereus-worker REUSE_FROM nereus_worker)
target_compile_options(nereus-worker PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
