# nereus-worker alone, with few libraries, for a machine where nothing can be installed: beside a PyTorch wheel it takes the
# headers of fmt and nlohmann/json, and zlib.
#   cmake -S . -B build/worker -DNEREUS_WORKER_ONLY=ON -DNEREUS_TORCH=$(python3 -c 'import torch; print(torch.__path__[0])')
# A worker is handed JSON: TOML, YAML and ONNX are left out.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_path(FMT_INCLUDE fmt/format.h REQUIRED)
find_path(JSON_INCLUDE nlohmann/json.hpp REQUIRED)

include(cmake/embed.cmake)
include(cmake/build_info.cmake)

set(core_sources)
foreach(folder IN ITEMS base spec model cluster plan schedule job timeline profile data checkpoint)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(APPEND core_sources ${sources})
endforeach()
list(FILTER core_sources EXCLUDE REGEX "_test\\.cpp$")
list(FILTER core_sources EXCLUDE REGEX "/base/parallel\\.cpp$|/spec/(toml|yaml)\\.cpp$")
add_library(nereus_core STATIC ${core_sources})
target_include_directories(nereus_core PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_include_directories(nereus_core SYSTEM PUBLIC ${FMT_INCLUDE} ${JSON_INCLUDE})
target_compile_definitions(nereus_core PUBLIC FMT_HEADER_ONLY NEREUS_JSON_ONLY)
target_link_libraries(nereus_core PUBLIC nereus_embedded Threads::Threads ZLIB::ZLIB)
foreach(folder IN ITEMS job schedule timeline profile data checkpoint)
  add_library(nereus_${folder} INTERFACE)
  target_link_libraries(nereus_${folder} INTERFACE nereus_core)
endforeach()
include(cmake/worker.cmake)

# The comparison of plans with one rank, on the GPU: NEREUS_TEST_DEVICE=cuda build/worker/equality_test (or uneven_test, burst_test); and
# of products, sums and updates (linear_test, gpu_update_test); and NCCL between ranks that share the GPU (nccl_test).
find_package(GTest)
if(GTest_FOUND)
  foreach(name IN ITEMS equality uneven burst comm/nccl ops/linear ops/gpu_update)
    get_filename_component(test ${name}_test NAME)
    add_executable(${test} EXCLUDE_FROM_ALL src/worker/${name}_test.cpp)
    target_link_libraries(${test} PRIVATE nereus_worker GTest::gtest_main)
  endforeach()
endif()

# Two jobs that take turns on the GPU, for bench/gpu/background: build/worker/turns
file(GLOB launch_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/launch/*.cpp ${PROJECT_SOURCE_DIR}/src/launch/background/*.cpp)
list(FILTER launch_sources EXCLUDE REGEX "_test\\.cpp$|/tensorboard\\.cpp$")
add_executable(turns EXCLUDE_FROM_ALL bench/gpu/turns.cpp ${launch_sources})
target_link_libraries(turns PRIVATE nereus_core)
