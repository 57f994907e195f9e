"""One training step: from a batch to a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core import Tensor

_TENSORS = frozenset([Tensor])
_TARGET_KEYS = ("target", "targets", "label", "labels", "y")


@dataclass
class Step:
    """Result of a custom step function, if more than the loss is needed.

    Attributes:
        loss: The scalar loss.
        output: The predictions for the metrics.
        target: The targets for the metrics.
        count: The number of samples; by default the length of the batch.
        values: Additional values to log.
        updated: Whether the step function has updated the weights itself, as a GAN with two optimizers does. The loss is optional then, and
            it is not checked for NaN.
        running: Returns additional values over the epoch so far; those of the last batch are the values of the epoch.

    >>> pyburn.train.Step(pyburn.tensor(0.5), values={"penalty": 0.1}).values
    {'penalty': 0.1}
    """

    loss: Tensor | None
    output: Any = None
    target: Any = None
    count: int | None = None
    values: dict[str, float] = field(default_factory=dict)
    updated: bool = False
    running: Callable[[], Mapping[str, float]] | None = None


StepFunction = Callable[[Any, Any], Any]


def to_device(value: Any, device: Any) -> Any:
    """Moves a batch to a device.

    Handles tensors in tuples, lists and dicts, and objects with a `to` method, such as a batch of graphs. NumPy arrays become tensors.
    """
    if isinstance(value, Tensor):
        return value if device is None else value.to(device=device)
    if isinstance(value, (list, tuple)):
        if device is None and _TENSORS.issuperset(map(type, value)):  # the usual case
            return value
        items = [to_device(item, device) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, Mapping):
        return {key: to_device(item, device) for key, item in value.items()}
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and value.dtype.kind in "biuf":
        from ..tensor import as_tensor

        return to_device(as_tensor(value), device)
    if device is not None and callable(getattr(value, "to", None)):
        return value.to(device)
    return value


def split_batch(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Splits a batch into (inputs, named inputs, target).

    The target is the last item of a tuple or list, or the entry of a dict named target, targets, label, labels or y.
    """
    if isinstance(batch, (list, tuple)):
        if len(batch) == 0:
            raise ValueError("[Learner] a batch is empty")
        return (tuple(batch), {}, None) if len(batch) == 1 else (tuple(batch[:-1]), {}, batch[-1])
    if isinstance(batch, Mapping):
        key = next((key for key in _TARGET_KEYS if key in batch), None)
        return (), {name: value for name, value in batch.items() if name != key}, batch[key] if key is not None else None
    return (batch,), {}, None


def batch_length(value: Any) -> int:
    """Returns the size of dimension 0 of the first tensor."""
    if isinstance(value, Tensor):
        return value.shape[0] if value.dim() else 1
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next((n for n in (batch_length(item) for item in value) if n), 0)
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    return 0


def supervised_step(loss: Callable[..., Tensor] | None) -> StepFunction:
    """Returns the default step function: calls the model on the inputs, and the loss on output and target."""

    def step(model: Any, batch: Any) -> Step:
        if type(batch) is tuple and len(batch) == 2:  # the usual case
            output, target = model(batch[0]), batch[1]
        else:
            inputs, named, target = split_batch(batch)
            output = model(*inputs, **named)
        if loss is None:
            return Step(None, output, target)
        if target is None:
            raise ValueError(
                f"[Learner] a batch with inputs and a target is needed for the loss: got {type(batch).__name__} without a target"
            )
        return Step(loss(output, target), output, target)

    return step


def run_step(step: StepFunction, model: Any, batch: Any, *, need_loss: bool) -> Step:
    """Calls a step function and normalizes its result to a complete Step."""
    result = step(model, batch)
    if isinstance(result, Tensor):
        result = Step(result)
    elif not isinstance(result, Step):
        raise TypeError(f"[Learner] a step returns the loss or a pyburn.train.Step: got {type(result).__name__}")
    if need_loss and not result.updated and not isinstance(result.loss, Tensor):
        raise TypeError("[Learner] no loss: pass loss=..., or a step function that returns the loss")
    if result.loss is not None and result.loss.numel() != 1:
        raise ValueError(f"[Learner] the loss must be one number: got shape {tuple(result.loss.shape)}")
    if result.count is None:
        result.count = batch_length(result.target if result.target is not None else batch) or batch_length(batch) or 1
    return result
