"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from . import _layers, functional, module_methods
from ._layers import *  # noqa: F403
from .parameter import Parameter

module_methods.install()

from . import attention, conv, embedding, graph, gru, linear, norm, rnn, transformer  # noqa: E402
from .transformer import (  # noqa: E402
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    *_layers.__all__,
    "Parameter",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "attention",
    "conv",
    "embedding",
    "functional",
    "graph",
    "gru",
    "linear",
    "norm",
    "rnn",
    "transformer",
]
