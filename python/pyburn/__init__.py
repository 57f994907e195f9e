"""pyburn: deep learning without the weight. A C++20 core with a Python face, in the spirit of Burn."""

from . import _core, backend
from ._core import *  # noqa: F403  (the operations, generated from their schemas)
from ._core import Tensor

TensorPy = Tensor
