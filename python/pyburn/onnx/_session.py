"""Session: an ONNX model, prepared for the shapes that it meets."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

from .. import _core
from ._model import Model, ValueInfo
from ._values import from_core, in_order, to_core

__all__ = ["Session", "session"]


class Session:
    """An ONNX model that is captured and prepared for the shapes of its inputs when they first come.

    From the second shapes on, the sizes that the file leaves open are captured as such if the model follows them; otherwise the last few
    shapes stay prepared. Where values decide what is computed, the model runs operation by operation; `summary` says so.

    Args:
        model: The model, from pyburn.onnx.load.

    >>> session = pyburn.onnx.session("model.onnx")  # doctest: +SKIP
    >>> output = session(pyburn.randn(1, 3, 224, 224))  # doctest: +SKIP
    >>> outputs = session.run({"image": pyburn.randn(1, 3, 224, 224)})  # doctest: +SKIP
    """

    _public: Model | None = None  # a copy of the model, where the session has one of its own

    def __init__(self, model: Model) -> None:
        self._prepare(model.eval(), taken=False)

    def _prepare(self, model: Model, taken: bool) -> None:
        self._model, self._taken = model, taken
        self.inputs: list[ValueInfo] = model.inputs  # type: ignore[attr-defined]
        self.outputs: list[ValueInfo] = model.outputs  # type: ignore[attr-defined]
        self._names = [value.name for value in self.inputs]
        self._session = _core._onnx._Session(model, taken)

    @property
    def model(self) -> Model:
        """The model that the session was made of. Changing its weights does not change the session."""
        if self._taken and self._public is None:
            self._public = copy.deepcopy(self._model)
        return self._public if self._taken else self._model

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs the session.

        Args:
            *inputs: The inputs, in order.
            **named: The same by name.

        Returns:
            The output, or a tuple if there are several.
        """
        results = self._run(in_order(self._names, inputs, named, "the session"))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the session on inputs by name and returns the outputs by name.

        Args:
            inputs: The inputs by name.
        """
        results = self._run(in_order(self._names, (), dict(inputs), "the session"))
        return dict(zip([value.name for value in self.outputs], results, strict=True))

    def summary(self, *inputs: Any) -> str:
        """Describes what runs for these inputs: the prepared steps, or why the model runs operation by operation.

        Args:
            *inputs: The inputs, in order.
        """
        return self._session.summary([to_core(value) for value in inputs])

    def profile(self, *inputs: Any, runs: int = 20) -> _core.Profile:
        """Runs the session several times and measures each step.

        Args:
            *inputs: The inputs, in order.
            runs: How many runs to measure; times are medians.

        Raises:
            UnsupportedOp: The model runs operation by operation for these inputs.
        """
        result: _core.Profile = self._session.profile([to_core(value) for value in inputs], runs)
        return result

    def _run(self, inputs: list[Any]) -> list[Any]:
        return [from_core(value) for value in self._session.run([to_core(value) for value in inputs])]

    def __repr__(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.inputs)
        return f"<pyburn.onnx.Session of {inputs} -> {', '.join(value.name for value in self.outputs)}>"


def session(source: str | os.PathLike[str] | bytes, device: Any = None) -> Session:
    """Loads an ONNX model as a Session, for inference.

    Args:
        source: The path of the file, or its bytes. Large weights stay in the mapped file where they can be read in place: it must not
            change while the session lives.
        device: The device; None for the default one.
    """
    made = Session.__new__(Session)
    made._prepare(_core._onnx.load(source, device, True), taken=True)  # nobody else has this model: its weights need no copy
    return made
