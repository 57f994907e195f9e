"""pyburn: deep learning without the weight. A C++20 core with a Python face, in the spirit of Burn."""

from . import _core, _tensor_autograd, backend
from ._cmake import cmake_dir
from ._core import *  # noqa: F403  (the operations, generated from their schemas)
from ._core import Tensor, __version__
from .plugins import load_library

_tensor_autograd.install()

from . import autograd  # noqa: E402
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402

TensorPy = Tensor
