# The GPU backend is compiled against the header of the wgpu-native that it will load, which the Python package `wgpu` carries. The library
# itself is opened at run time.
if(PYBURN_WGPU)
  find_program(PYBURN_WGPU_PYTHON NAMES python3 python HINTS ${PROJECT_SOURCE_DIR}/.venv/bin)
  foreach(python ${Python_EXECUTABLE} ${PYBURN_WGPU_PYTHON})
    execute_process(
      COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('wgpu').submodule_search_locations[0] + '/resources')"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND PYBURN_WGPU_FOLDERS ${folder})
  endforeach()
  find_path(PYBURN_WGPU_INCLUDE wgpu.h HINTS ${PYBURN_WGPU_FOLDERS})
  # Structures change between generations; this name came with the one that the sources are written for.
  if(PYBURN_WGPU_INCLUDE)
    file(STRINGS ${PYBURN_WGPU_INCLUDE}/wgpu.h immediates REGEX "WGPUNativeFeature_Immediates =")
  endif()
endif()

if(PYBURN_WGPU_INCLUDE AND immediates)
  list(REMOVE_ITEM PYBURN_SOURCES src/pyburn/backends/wgpu/not_built.cpp)
  list(APPEND PYBURN_SOURCES ${PYBURN_WGPU_SOURCES})
  # Of these sources alone: no other one sees the header.
  set_source_files_properties(${PYBURN_WGPU_SOURCES} PROPERTIES COMPILE_OPTIONS "-isystem;${PYBURN_WGPU_INCLUDE}")
elseif(PYBURN_WGPU STREQUAL "ON")
  message(FATAL_ERROR "The header of wgpu-native 29 was not found: pip install wgpu==0.32.0, or set PYBURN_WGPU_INCLUDE to its folder")
else()
  set(PYBURN_WGPU_INCLUDE "")
endif()
