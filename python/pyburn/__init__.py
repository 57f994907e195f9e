"""pyburn: deep learning without the weight. A C++20 core with a Python face, in the spirit of Burn."""

from . import _core, _tensor_autograd
from ._core import *  # noqa: F403  (the operations, generated from their schemas)
from ._core import Tensor

_tensor_autograd.install()

from . import autograd  # noqa: E402
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402

TensorPy = Tensor
