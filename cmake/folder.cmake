# nereus_folder(NAME [DEPENDS targets...] [OPTIONS flags...] [ALONE files...])
# A static library nereus_NAME from src/NAME/**.cpp, and with NEREUS_TESTS a program NAME_test from its *_test.cpp.
# Plain names in DEPENDS (base, spec, ...) mean other folders.
#
# Most of a compilation is parsing headers, so 12 files are compiled as one (NEREUS_UNITY). Names in anonymous namespaces must
# therefore differ within a folder; files that cannot be put together with others are named by ALONE.
option(NEREUS_UNITY "Compile several files as one" ON)
set(NEREUS_UNOPTIMIZED "" CACHE STRING "Folders of src/ compiled with -O0, to build sooner where the code takes little time")
function(nereus_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;OPTIONS;ALONE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main|/worker_main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  set(links)
  foreach(dependency ${ARG_DEPENDS})
    if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/${dependency})
      list(APPEND links nereus_${dependency})
    else()
      list(APPEND links ${dependency})
    endif()
  endforeach()

  if(sources)
    add_library(nereus_${name} STATIC ${sources})
    target_include_directories(nereus_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
    target_link_libraries(nereus_${name} PUBLIC ${links})
    target_compile_options(nereus_${name} PRIVATE ${ARG_OPTIONS})
    if(name IN_LIST NEREUS_UNOPTIMIZED)
      target_compile_options(nereus_${name} PRIVATE -O0)
    endif()
    set_target_properties(nereus_${name} PROPERTIES UNITY_BUILD ${NEREUS_UNITY} UNITY_BUILD_BATCH_SIZE 12)
    foreach(file ${ARG_ALONE})
      set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${name}/${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
  else()
    add_library(nereus_${name} INTERFACE)
    target_include_directories(nereus_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
    target_link_libraries(nereus_${name} INTERFACE ${links})
  endif()

  set_property(GLOBAL APPEND PROPERTY NEREUS_FOLDERS nereus_${name})  # for cmake/install.cmake

  if(NEREUS_TESTS AND tests)
    find_package(GTest REQUIRED)
    include(GoogleTest)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE nereus_${name} nereus_source_dir GTest::gtest_main GTest::gmock rapidcheck)
    target_compile_options(${name}_test PRIVATE ${ARG_OPTIONS})
    if(NOT name STREQUAL "worker")  # whose tests share a precompiled header with what they test
      target_compile_options(${name}_test PRIVATE ${NEREUS_TEST_OPTIONS})
    endif()
    set_target_properties(${name}_test PROPERTIES UNITY_BUILD ${NEREUS_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()

if(NEREUS_TESTS)
  add_library(nereus_source_dir STATIC ${PROJECT_SOURCE_DIR}/tests/source_dir.cpp)
  target_include_directories(nereus_source_dir PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(nereus_source_dir PRIVATE NEREUS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
