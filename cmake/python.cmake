# The extension module pyburn._core.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
find_package(nanobind CONFIG REQUIRED)
nanobind_add_module(_core NB_STATIC ${PYBURN_BINDINGS})
target_include_directories(_core PRIVATE python/bindings)
target_link_libraries(_core PRIVATE pyburn)
target_compile_options(_core PRIVATE -Wall -Wextra -Wno-missing-field-initializers)
