"""Classes that stand for several layers: what `isinstance(module, nn.RNNBase)` and the like ask for in code written for PyTorch."""

from __future__ import annotations

from typing import Any

from . import _layers


class Family(type):
    """The class of a family: its members and their subclasses are instances of it."""

    members: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.members)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.members)


def family(name: str, members: tuple[type, ...], doc: str) -> Any:
    """The class that stands for `members`."""
    return Family(name, (), {"__module__": "pyburn.nn", "__doc__": doc, "members": members})


class RNNBase(metaclass=Family):
    """What RNN, LSTM and GRU are; `RNNBase("LSTM", ...)` makes one of them.

    >>> isinstance(pyburn.nn.GRU(3, 2), pyburn.nn.RNNBase)
    True
    """

    __module__ = "pyburn.nn"
    members = (_layers.RNN, _layers.LSTM, _layers.GRU)

    def __new__(cls, mode: str, input_size: int, hidden_size: int, *args: Any, **options: Any) -> Any:
        if mode in ("LSTM", "GRU"):
            if mode == "GRU" and not options.get("proj_size", 1):
                del options["proj_size"]
            return getattr(_layers, mode)(input_size, hidden_size, *args, **options)
        if mode not in ("RNN_TANH", "RNN_RELU"):
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        named = dict(zip(("num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"), args)) | options
        if named.pop("proj_size", 0):
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        return _layers.RNN(input_size, hidden_size, nonlinearity=mode.removeprefix("RNN_").lower(), **named)


RNNCellBase = family("RNNCellBase", (_layers.RNNCell, _layers.LSTMCell, _layers.GRUCell), "What RNNCell, LSTMCell and GRUCell are.")

__all__ = ["RNNBase", "RNNCellBase"]
