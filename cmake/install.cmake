# `cmake --install build --prefix DIR`: the program, the header nereus/nereus.hpp and its libraries.
# find_package(nereus) then gives nereus::nereus.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The library: src/api/nereus.hpp over all folders below it.
add_library(nereus_library INTERFACE)
target_include_directories(nereus_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(nereus_library INTERFACE nereus_api)
set_target_properties(nereus_library PROPERTIES EXPORT_NAME nereus)

get_property(folders GLOBAL PROPERTY NEREUS_FOLDERS)
list(REMOVE_ITEM folders nereus_cli)
install(TARGETS nereus_library ${folders} nereus_embedded nereus_onnx_proto nereus_build_info EXPORT nereus-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/nereus)
install(FILES src/api/nereus.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nereus)
install(EXPORT nereus-targets NAMESPACE nereus:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nereus)

# What the libraries link, so that a user's CMake finds it too.
set(dependencies fmt Threads ZLIB SQLite3)
foreach(package TBB yaml-cpp Protobuf PNG JPEG)
  if(${package}_FOUND)
    list(APPEND dependencies ${package})
  endif()
endforeach()
set(finds "")
foreach(package ${dependencies})
  string(APPEND finds "find_dependency(${package})\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/nereus-config.cmake CONTENT
"include(CMakeFindDependencyMacro)
${finds}include(\${CMAKE_CURRENT_LIST_DIR}/nereus-targets.cmake)
" @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nereus-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nereus-config.cmake ${PROJECT_BINARY_DIR}/nereus-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/nereus)
