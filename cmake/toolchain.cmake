# What every target of this build is compiled and linked with. Nothing here reaches users of the installed library.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(PYBURN_CCACHE ccache)
if(PYBURN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)  # clones share the cache; precompiled headers need the sloppiness
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_SLOPPINESS=pch_defines,time_macros ${PYBURN_CCACHE})
endif()

if(APPLE)
  set(PYBURN_ORIGIN "@loader_path")
else()
  set(PYBURN_ORIGIN "$ORIGIN")
endif()

set(linkers mold lld)
if(APPLE OR CMAKE_CROSSCOMPILING)  # these write ELF, and the compiler for another machine does not look for them
  set(linkers)
endif()
foreach(linker IN LISTS linkers)
  find_program(PYBURN_LINKER_${linker} NAMES ${linker} ld.${linker})
  if(PYBURN_LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

add_library(pyburn_toolchain INTERFACE)
target_compile_options(pyburn_toolchain INTERFACE -Wall -Wextra -Wno-missing-field-initializers
  -Wno-overloaded-virtual)  # layers of several inputs have a forward of their own
if(PYBURN_NATIVE)  # one copy of each kernel instead of one per instruction set
  target_compile_options(pyburn_toolchain INTERFACE -march=native)
  target_compile_definitions(pyburn_toolchain INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()
if(PYBURN_SANITIZE)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
if(PYBURN_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(PYBURN_LIBFUZZER)  # coverage of the library; the targets link libFuzzer's main()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The standard headers that most sources read: half the time of a small one. Our own would save little more and rebuild everything.
set(PYBURN_STANDARD_HEADERS <algorithm> <array> <atomic> <cmath> <complex> <cstring> <functional> <limits> <map> <memory> <mutex> <optional>
  <span> <sstream> <string> <unordered_map> <utility> <variant> <vector>)

# Compiles the sources of a target that match a pattern at a level of optimisation of their own. They form an object library, because GCC
# compiles at the level of the precompiled header, whatever options a source has.
function(pyburn_compile_part target name level pattern)
  get_target_property(rest ${target} SOURCES)
  set(part ${rest})
  list(FILTER part INCLUDE REGEX "${pattern}")
  list(FILTER rest EXCLUDE REGEX "${pattern}")
  set_target_properties(${target} PROPERTIES SOURCES "${rest}")
  add_library(${target}_${name} OBJECT ${part})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${name}>)
  foreach(property COMPILE_DEFINITIONS COMPILE_FEATURES COMPILE_OPTIONS INCLUDE_DIRECTORIES)
    set_target_properties(${target}_${name} PROPERTIES ${property} $<TARGET_PROPERTY:${target},${property}>)
  endforeach()
  foreach(property CXX_VISIBILITY_PRESET PRECOMPILE_HEADERS)
    get_target_property(value ${target} ${property})
    if(value)
      set_target_properties(${target}_${name} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  target_compile_options(${target}_${name} PRIVATE $<$<CONFIG:Release>:${level}>)
endfunction()
