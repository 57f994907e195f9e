# Libraries come from the system (Debian packages, see the Makefile), else are fetched at a pinned version.
include(FetchContent)

find_package(hwy CONFIG QUIET)
if(hwy_FOUND OR EXISTS /usr/include/hwy/highway.h)
  set(PYBURN_HWY hwy)
else()
  FetchContent_Declare(highway GIT_REPOSITORY https://github.com/google/highway GIT_TAG 1.2.0)
  set(HWY_ENABLE_TESTS OFF CACHE BOOL "")
  set(HWY_ENABLE_EXAMPLES OFF CACHE BOOL "")
  FetchContent_MakeAvailable(highway)
  set(PYBURN_HWY hwy)
endif()
