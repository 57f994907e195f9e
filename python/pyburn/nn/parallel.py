"""DataParallel, for compatibility: with a single device the model runs directly, as in PyTorch without GPUs."""

from __future__ import annotations

from typing import Any

from .._core._nn import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs `module`; the state dict has the prefix `module.`.

    Args:
        module: The module.
        device_ids: Ignored.
        output_device: Ignored.
        dim: Ignored.

    >>> pyburn.nn.DataParallel(pyburn.nn.Linear(2, 3))(pyburn.ones(4, 2)).shape
    pyburn.Size([4, 3])
    """

    module: Any

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: dict[str, Any] | None = None
) -> Any:
    """Calls a module with its inputs.

    Args:
        module: The module.
        inputs: The argument, or a tuple of arguments.
        device_ids: Ignored.
        output_device: Ignored.
        dim: Ignored.
        module_kwargs: Options of the call.

    Returns:
        The output of the module.

    >>> pyburn.nn.parallel.data_parallel(pyburn.nn.ReLU(), pyburn.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
