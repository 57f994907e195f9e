"""pyburn: deep learning without the weight. A C++20 core with a Python face, in the spirit of Burn."""

from . import _core
from ._cmake import cmake_dir
from ._core import *  # noqa: F403  (the operations, generated from their schemas)
from ._core import Tensor, __version__
from .plugins import load_library

TensorPy = Tensor
