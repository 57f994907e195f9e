"""Recurrent layers and cells."""

from __future__ import annotations

from typing import Any

from .._core._nn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

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
