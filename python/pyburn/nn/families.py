"""Classes that stand for several layers: what `isinstance(module, nn.RNNBase)` and the like ask for in code written for PyTorch.

A class that derives from one derives from the family's `root` instead, and becomes a member."""

from __future__ import annotations

from typing import Any

from . import _layers


class Family(type):
    """The class of a family: its members and their subclasses are instances of it."""

    members: tuple[type, ...]
    root: Any  # a function that gives the class to derive from, or None

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        families = [base for base in bases if isinstance(base, Family)]
        if not families:
            return super().__new__(mcs, name, bases, {"root": None, **namespace})
        plain = tuple(base.root() if isinstance(base, Family) and base.root else base for base in bases)
        if any(isinstance(base, Family) for base in plain):
            raise TypeError(f"{families[0].__name__} cannot be derived from: derive from one of its layers")
        built = type(plain[0])(name, plain, namespace)
        for family in families:
            family.members = (*family.members, built)
        return built

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        if isinstance(cls, Family):
            super().__init__(name, bases, namespace)

    def __getattr__(cls, name: str) -> Any:
        if cls.root is None or name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return getattr(cls.root(), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.members)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.members)


def family(name: str, members: tuple[type, ...], doc: str, root: Any = None) -> Any:
    """The class that stands for `members`; `root` is a function, called when someone derives from it."""
    namespace = {"__module__": "pyburn.nn", "__doc__": doc, "members": members, "root": root and staticmethod(root)}
    return Family(name, (), namespace)


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
