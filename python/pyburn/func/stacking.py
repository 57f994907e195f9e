"""Ensembles: the parameters of several models as one batch."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stacks the parameters and the buffers of models of the same class along a new first dimension.

    Args:
        models: Modules of the same class.

    Returns:
        The parameters and the buffers by name.

    Raises:
        RuntimeError: The models have different classes.

    >>> models = [pyburn.nn.Linear(2, 3) for _ in range(4)]
    >>> pyburn.func.stack_module_state(models)[0]["weight"].shape
    pyburn.Size([4, 3, 2])
    """
    models = list(models)
    if len({type(model) for model in models}) != 1:
        raise RuntimeError("stack_module_state: expected models of one class")
    together = []
    for named in ("named_parameters", "named_buffers"):
        rows = [dict(getattr(model, named)()) for model in models]
        together.append({name: _core.stack([row[name] for row in rows]).detach() for name in rows[0]})
    return {name: value.requires_grad_() for name, value in together[0].items()}, together[1]
