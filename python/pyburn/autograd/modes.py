"""Autograd modes: context managers and decorators that control recording, as in PyTorch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from .. import _core

_graphs_stay: ContextVar[bool] = ContextVar("graphs_stay", default=False)


def graphs_stay() -> bool:
    """Returns whether `grad` keeps the graph by default."""
    return _graphs_stay.get()


@contextlib.contextmanager
def keeping_graphs(keep: bool) -> Iterator[None]:
    """Context manager in which graphs are kept by default."""
    before = _graphs_stay.set(keep or graphs_stay())
    try:
        yield
    finally:
        _graphs_stay.reset(before)


class _Mode:
    """Base class: sets (grad, inference, anomaly) on entry and restores them on exit."""

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._saved = [*getattr(self, "_saved", []), _core._get_modes()]
        _core._set_modes(*self._wanted(*_core._get_modes()))

    def __exit__(self, *error: object) -> None:
        _core._set_modes(*self._saved.pop())

    def clone(self) -> _Mode:
        return type(self)()

    def __call__(self, function: Any) -> Any:
        import inspect  # imported here: it would take a quarter of the time of `import pyburn`

        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} decorates functions, not classes: got {function.__name__}")
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args, **kwargs):
                running = function(*args, **kwargs)
                sent = None
                while True:
                    with self.clone():
                        try:
                            value = running.send(sent)
                        except StopIteration as stop:
                            return stop.value
                    sent = yield value

            return generator

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapper


class _PlainMode(_Mode):
    """Mode that can decorate without parentheses: @no_grad."""

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)


class no_grad(_PlainMode):  # noqa: N801
    """Disables the recording of operations.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> with pyburn.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        return False, inference, anomaly


class enable_grad(_PlainMode):  # noqa: N801
    """Enables the recording of operations, inside no_grad.

    >>> x = pyburn.ones(2, requires_grad=True)
    >>> with pyburn.no_grad(), pyburn.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        return True, inference, anomaly


class set_grad_enabled(_Mode):  # noqa: N801
    """Enables or disables the recording of operations, immediately or as a context manager.

    Args:
        mode: Whether operations are recorded.

    >>> with pyburn.set_grad_enabled(False):
    ...     pyburn.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool):
        self.mode = bool(mode)
        self._saved = [_core._get_modes()]
        _core._set_modes(*self._wanted(*_core._get_modes()))

    def __enter__(self) -> None:
        pass

    def clone(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Any) -> Any:
        _core._set_modes(*self._saved[-1])  # as a decorator it must not take effect immediately
        return super().__call__(function)

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        return self.mode, inference, anomaly


class inference_mode(_Mode):  # noqa: N801
    """Like no_grad, with results that can never be part of a recorded computation: the fastest way to run a model.

    Args:
        mode: Whether the mode is active; or the function to decorate.

    >>> with pyburn.inference_mode():
    ...     y = pyburn.ones(2, requires_grad=True) * 2
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: Any = True):
        self.mode = bool(mode)

    def clone(self) -> _Mode:
        return inference_mode(self.mode)

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        return not self.mode, self.mode, anomaly


class detect_anomaly(_Mode):  # noqa: N801
    """Makes errors and NaN in the backward pass report the line of the forward call.

    Args:
        check_nan: Whether a NaN in the backward pass raises an error.

    >>> with pyburn.autograd.detect_anomaly():
    ...     pyburn.is_anomaly_enabled()
    True
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        return grad, inference, True


class set_detect_anomaly(set_grad_enabled):  # noqa: N801
    """Enables or disables anomaly detection, immediately or as a context manager."""

    def clone(self) -> _Mode:
        return set_detect_anomaly(self.mode)

    def _wanted(self, grad: bool, inference: bool, anomaly: bool) -> tuple[bool, bool, bool]:
        return grad, inference, self.mode
