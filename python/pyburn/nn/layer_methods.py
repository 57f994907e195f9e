"""Methods of layers from C++ that PyTorch implements in Python."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core._nn import GRU, LSTM, RNN, BatchNorm1d, BatchNorm2d, BatchNorm3d, Embedding, EmbeddingBag, Module, RNNBase, SyncBatchNorm
from .parameter import Parameter


def _convert_sync_batchnorm(cls: Any, module: Module, process_group: Any = None) -> Any:
    """Returns the module with every BatchNorm layer replaced by a SyncBatchNorm with the same state."""
    for name, child in list(module.named_children()):
        setattr(module, name, _convert_sync_batchnorm(cls, child, process_group))
    if not isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
        return module
    made = cls(**module._pb_config(), process_group=process_group)
    for name, _, value, _ in module._pb_entries():
        setattr(made, name, value)
    made.training = module.training
    return made


def _from_pretrained(cls: Any, embeddings: Tensor, freeze: bool = True, *args: Any, **options: Any) -> Any:
    """Creates a layer from an existing embedding matrix; with `freeze` the weights are not trained.

    >>> import pyburn
    >>> pyburn.nn.Embedding.from_pretrained(pyburn.tensor([[1.0, 2.0], [3.0, 4.0]]))(pyburn.tensor([1]))
    tensor([[3., 4.]])
    """
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, columns = embeddings.shape
    layer = cls(rows, columns, *args, **options)
    layer.weight = Parameter(embeddings, requires_grad=not freeze)
    return layer


_CELLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LSTM": (LSTM, {}),
    "GRU": (GRU, {}),
    "RNN_TANH": (RNN, {"nonlinearity": "tanh"}),
    "RNN_RELU": (RNN, {"nonlinearity": "relu"}),
}


def _init(
    self: Any,
    mode: str,
    input_size: int,
    hidden_size: int,
    num_layers: int = 1,
    bias: bool = True,
    batch_first: bool = False,
    dropout: float = 0.0,
    bidirectional: bool = False,
    proj_size: int = 0,
    device: Any = None,
    dtype: Any = None,
) -> None:
    """Initializes the weights and options of a recurrent layer; `forward` is defined by the subclass."""
    if mode not in _CELLS:
        raise ValueError(f"Unrecognized RNN mode: {mode}")
    layer, options = _CELLS[mode]
    if layer is LSTM:
        options = {"proj_size": proj_size}
    elif proj_size:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    options = {**options, "num_layers": num_layers, "bias": bias, "batch_first": batch_first, "dropout": dropout}
    layer.__init__(self, input_size, hidden_size, bidirectional=bidirectional, device=device, dtype=dtype, **options)
    self.mode = mode


_init.__name__, _init.__qualname__ = "__init__", "RNNBase.__init__"
RNNBase.__init__ = _init  # type: ignore[method-assign]
SyncBatchNorm.convert_sync_batchnorm = classmethod(_convert_sync_batchnorm)  # type: ignore[attr-defined]
for _layer in (Embedding, EmbeddingBag):
    _layer.from_pretrained = classmethod(_from_pretrained)  # type: ignore[attr-defined]
