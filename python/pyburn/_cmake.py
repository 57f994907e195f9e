"""The location of the C++ files in the wheel: libraries, headers and the CMake package."""

from __future__ import annotations

import os


def cmake_dir() -> str:
    """Returns the folder of pyburnConfig.cmake, for C++ programs and plugins.

    >>> import pyburn, os
    >>> sorted(f for f in os.listdir(pyburn.cmake_dir()) if f.startswith("pyburnConfig"))
    ['pyburnConfig.cmake', 'pyburnConfigVersion.cmake']
    """
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib", "cmake", "pyburn")
