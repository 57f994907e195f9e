# What every target of this build is compiled and linked with. Nothing here reaches users of the installed library.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(PYBURN_CCACHE ccache)
if(PYBURN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PYBURN_CCACHE})
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
