# The extension module pyburn._core. nanobind comes with the Python that builds it.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_core NB_STATIC NOMINSIZE ${PYBURN_BINDINGS})
target_include_directories(_core PRIVATE python/bindings)
target_link_libraries(_core PRIVATE pyburn::pyburn pyburn_toolchain)
target_compile_definitions(_core PRIVATE PYBURN_VERSION="${PROJECT_VERSION}")
set_target_properties(_core PROPERTIES INSTALL_RPATH "${PYBURN_ORIGIN}/${CMAKE_INSTALL_LIBDIR}")
target_precompile_headers(_core PRIVATE ${PYBURN_STANDARD_HEADERS} <nanobind/nanobind.h>)
pyburn_compile_part(_core classes -O1 "/bind_")  # called once per layer, not once per operation
install(TARGETS _core LIBRARY DESTINATION . COMPONENT python EXCLUDE_FROM_ALL)
