"""The layer `GatedLinear` for pyburn, written in C++."""

from pathlib import Path

import pyburn

GatedLinear = pyburn.load_library(Path(__file__).parent / "plugin.so").GatedLinear
