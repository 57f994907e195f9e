"""Neural network modules: layers implemented in C++, and `Module` for custom ones."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand
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
    gru,
    init,
    lazy_layers,
    linear,
    loss,
    norm,
    parallel,
    pool,
    rnn,
    transformer,
    utils,
)
from .choice import Activation, Normalization  # noqa: E402
from .lazy_layers import *  # noqa: E402, F403
from .linear_cross_entropy import LinearCrossEntropyLoss  # noqa: E402
from .loss import TripletMarginWithDistanceLoss  # noqa: E402
from .parallel import DataParallel  # noqa: E402
from .parameter_containers import ParameterDict, ParameterList  # noqa: E402
from .rnn import RNNBase, RNNCellBase  # noqa: E402
from .transformer import (  # noqa: E402
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

if TYPE_CHECKING:
    from . import geometric, grad, modules
    from .cross_entropy_options import LinearCrossEntropyOptions
else:
    __getattr__, __dir__ = on_demand(
        __name__, "geometric", "grad", "modules", places={"LinearCrossEntropyOptions": "cross_entropy_options"}
    )

__all__ = [
    *_layers.__all__,
    *lazy_layers.__all__,
    "Activation",
    "Buffer",
    "DataParallel",
    "LazyModuleMixin",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "Normalization",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RNNBase",
    "RNNCellBase",
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
    "geometric",
    "grad",
    "gru",
    "init",
    "linear",
    "loss",
    "modules",
    "norm",
    "parallel",
    "pool",
    "rnn",
    "transformer",
    "utils",
]
