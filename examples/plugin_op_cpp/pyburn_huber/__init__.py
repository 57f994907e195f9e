"""The operation `huber` for pyburn: values and gradients on every backend."""

from pathlib import Path

import pyburn

_library = pyburn.load_library(Path(__file__).parent / "plugin.so")
huber, huber_ = _library.huber, _library.huber_
