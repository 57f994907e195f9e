"""Where the C++ side of the package lies: libraries, headers and the CMake package are inside the wheel."""

from __future__ import annotations

from pathlib import Path


def cmake_dir() -> str:
    """The folder of pyburnConfig.cmake, for C++ programs and plugins.

    >>> import pyburn, os
    >>> sorted(f for f in os.listdir(pyburn.cmake_dir()) if f.startswith("pyburnConfig"))
    ['pyburnConfig.cmake', 'pyburnConfigVersion.cmake']
    """
    return str(Path(__file__).resolve().parent / "lib" / "cmake" / "pyburn")
