"""Neural network modules: layers implemented in C++, and `Module` for custom ones."""

from .._on_demand import from_stub
from . import _layers
from ._layers import *  # noqa: F403
from .install import install

install()

from . import functional, layer_methods, lazy_layers  # noqa: E402
from .lazy_layers import *  # noqa: E402, F403
from .transformer import TransformerDecoderLayer, TransformerEncoderLayer  # noqa: E402

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
__all__ += [*_layers.__all__, *lazy_layers.__all__]
