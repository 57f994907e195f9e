"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from . import _layers, functional
from ._layers import *  # noqa: F403
from .install import install
from .lazy import LazyModuleMixin
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

install()

from . import (  # noqa: E402
    activation,
    attention,
    conv,
    embedding,
    graph,
    gru,
    init,
    lazy_layers,
    linear,
    loss,
    norm,
    pool,
    rnn,
    transformer,
    utils,
)
from .lazy_layers import *  # noqa: E402, F403
from .loss import AdaptiveLogSoftmaxWithLoss, TripletMarginWithDistanceLoss  # noqa: E402
from .parameter_containers import ParameterDict, ParameterList  # noqa: E402
from .transformer import (  # noqa: E402
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    *_layers.__all__,
    *lazy_layers.__all__,
    "AdaptiveLogSoftmaxWithLoss",
    "Buffer",
    "LazyModuleMixin",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginWithDistanceLoss",
    "UninitializedBuffer",
    "UninitializedParameter",
    "activation",
    "attention",
    "conv",
    "embedding",
    "functional",
    "graph",
    "gru",
    "init",
    "linear",
    "loss",
    "norm",
    "pool",
    "rnn",
    "transformer",
    "utils",
]
