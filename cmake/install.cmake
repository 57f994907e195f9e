# An installed tree and the wheel have the same inside: lib/, include/ and lib/cmake/pyburn/. In the wheel its root is the
# Python package, so `python -m pyburn --cmake` prints what find_package(pyburn) needs.
include(CMakePackageConfigHelpers)
set(PYBURN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pyburn)

if(PYBURN_BUNDLE)
  set(PYBURN_NAMELINK NAMELINK_SKIP)  # a wheel cannot hold links: libpyburn.so would be a second copy. CMake's users need none
endif()
install(TARGETS pyburn EXPORT pyburn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${PYBURN_NAMELINK})
install(DIRECTORY src/pyburn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(EXPORT pyburn NAMESPACE pyburn:: FILE pyburnTargets.cmake DESTINATION ${PYBURN_CMAKE_DIR})
configure_package_config_file(cmake/pyburnConfig.cmake.in pyburnConfig.cmake INSTALL_DESTINATION ${PYBURN_CMAKE_DIR})
write_basic_package_version_file(pyburnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pyburnConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/pyburnConfigVersion.cmake
        DESTINATION ${PYBURN_CMAKE_DIR})

get_target_property(hwy_type hwy::hwy TYPE)
if(PYBURN_BUNDLE AND hwy_type STREQUAL "SHARED_LIBRARY")
  # Under the name that the loader looks for: a wheel cannot hold the usual links.
  install(FILES $<TARGET_FILE:hwy::hwy> DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME $<TARGET_SONAME_FILE_NAME:hwy::hwy>)
endif()
