"""What to say about a loss that is not a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..autograd import no_grad

if TYPE_CHECKING:
    from .learner import Learner


def _finite(tensor: Tensor) -> bool:
    with no_grad():
        return not tensor.is_floating_point() or bool(_core.isfinite(tensor.detach()).all().item())


def all_finite(model: Any) -> bool:
    """Whether all parameters and buffers of a model are finite."""
    return all(_finite(tensor) for tensor in model.state_dict().values() if isinstance(tensor, Tensor))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [found for part in value for found in _tensors(part)] if isinstance(value, (list, tuple)) else []


def bad_loss_report(learner: Learner) -> str:
    """Where it happened, what is finite and what is not, and what usually helps."""
    state = learner.state
    bad = [name for name, tensor in learner.model.state_dict().items() if isinstance(tensor, Tensor) and not _finite(tensor)]
    inputs = all(_finite(tensor) for tensor in _tensors(state.inputs))
    outputs = state.result is None or all(_finite(tensor) for tensor in _tensors(state.result.output))
    lr = learner.optimizer.param_groups[0]["lr"]
    lines = [f"the loss is {state.loss} in epoch {state.epoch}, batch {state.batch}, step {state.step} (learning rate {lr:g})"]
    if not inputs:
        lines.append("The batch itself has values that are not finite: look at the data.")
    elif bad:
        lines.append(f"{len(bad)} parameters are not finite any more, first {bad[0]!r}: the step before went wrong.")
        lines.append("A lower learning rate, clip_norm=1.0 or a warm-up usually help.")
    elif not outputs:
        lines.append("Parameters and batch are finite, but the output of the model is not: something in it overflows or divides by zero.")
    else:
        lines.append("Parameters, batch and output are finite: the loss function makes it, such as the logarithm of zero.")
    return "\n".join(lines)
