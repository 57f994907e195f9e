"""summary: a table of the layers of a model, with shapes, parameters and multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._core import Tensor
from .._nested import tensors
from ..autograd import no_grad
from .module_registry import BUFFER
from .parameter import is_lazy


@dataclass
class LayerSummary:
    """A row of a summary: one call of a module."""

    name: str
    type_name: str
    depth: int
    mult_adds: int  # including submodules
    params: int = 0  # including submodules, without those of modules called before
    trainable_params: int = 0
    is_leaf: bool = False
    is_repeated: bool = False  # all its parameters are already counted
    outputs: list[tuple[tuple[int, ...], int]] = field(default_factory=list)  # (shape, bytes) of each output

    @property
    def output_shape(self) -> Any:
        """The shape of the output; a list of shapes if there are several outputs."""
        shapes = [list(shape) for shape, _ in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes


@dataclass(repr=False)
class ModelSummary:
    """Result of `summary`; its str is the table."""

    layers: list[LayerSummary]
    total_params: int
    trainable_params: int
    total_mult_adds: int
    input_bytes: int
    output_bytes: int  # outputs of all leaf modules
    param_bytes: int  # including buffers
    depth: int

    @property
    def non_trainable_params(self) -> int:
        """The number of parameters that do not require grad."""
        return self.total_params - self.trainable_params

    @property
    def total_bytes(self) -> int:
        """The bytes of input, layer outputs and parameters: what training keeps in memory, without gradients."""
        return self.input_bytes + self.output_bytes + self.param_bytes

    def __str__(self) -> str:
        titles = ("Layer (type)", "Output Shape", "Param #", "Mult-Adds")
        rows = [self._row(layer) for layer in self.layers if layer.depth <= self.depth]
        widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(4)]
        rule = sum(widths) + 6
        lines = [_aligned(titles, widths), "=" * rule, *(_aligned(row, widths) for row in rows), "=" * rule]
        lines += [
            f"Total params: {self.total_params:,}",
            f"Trainable params: {self.trainable_params:,}",
            f"Non-trainable params: {self.non_trainable_params:,}",
            f"Total mult-adds: {self.total_mult_adds:,}",
            "-" * rule,
            f"Input size: {_size(self.input_bytes)}",
            f"Forward pass size: {_size(self.output_bytes)}",
            f"Params size: {_size(self.param_bytes)}",
            f"Estimated total size: {_size(self.total_bytes)}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    @staticmethod
    def _row(layer: LayerSummary) -> tuple[str, str, str, str]:
        name = f"{layer.type_name} ({layer.name})" if layer.name else layer.type_name
        params = "(recursive)" if layer.is_repeated else f"{layer.params:,}" if layer.params else "--"
        mult_adds = f"{layer.mult_adds:,}" if layer.mult_adds else "--"
        return "  " * layer.depth + name, str(layer.output_shape) if layer.outputs else "--", params, mult_adds


def summary(
    model: Any, input: Any = None, *, input_size: Any = None, dtype: Any = None, depth: int = 100, mode: str = "eval", **kwargs: Any
) -> ModelSummary:
    """Calls a model once and lists its layers with output shapes, parameters and multiply-adds.

    Multiply-adds are counted from the executed operations: matrix products, convolutions, attention and recurrences.

    Args:
        model: The module.
        input: A tensor, several as a tuple, or a size or list of sizes for random inputs.
        input_size: The size of the input, instead of `input`.
        dtype: The dtype of random inputs.
        depth: The maximum depth of listed modules.
        mode: "eval", "train" or "same" (unchanged).
        **kwargs: Keyword arguments for the model.

    Returns:
        A ModelSummary, which prints as a table.

    Raises:
        ValueError: There is no input, or mode is unknown.

    >>> model = pyburn.nn.Sequential(pyburn.nn.Linear(4, 8), pyburn.nn.ReLU(), pyburn.nn.Linear(8, 2))
    >>> found = pyburn.summary(model, (16, 4))
    >>> found.total_params, found.total_mult_adds
    (58, 768)
    """
    if mode not in ("eval", "train", "same"):
        raise ValueError(f"mode must be 'eval', 'train' or 'same': got {mode!r}")
    inputs = _inputs(model, input if input_size is None else input_size, dtype)
    modes = [(module, module.training) for module in model.modules()]
    try:
        if mode != "same":
            model.train(mode == "train")
        with no_grad():
            layers = _call(model, inputs, kwargs)
    finally:
        for module, training in modes:
            module.training = training
    parameters = list(model.parameters())
    return ModelSummary(
        layers,
        total_params=sum(p.numel() for p in parameters),
        trainable_params=sum(p.numel() for p in parameters if p.requires_grad),
        total_mult_adds=layers[0].mult_adds,
        input_bytes=sum(_bytes(x) for x in inputs),
        output_bytes=sum(size for layer in layers if layer.is_leaf for _, size in layer.outputs),
        param_bytes=sum(_bytes(t) for t in [*parameters, *model.buffers()]),
        depth=depth,
    )


def _call(model: Any, inputs: list[Any], kwargs: dict[str, Any]) -> list[LayerSummary]:
    """Calls the model with hooks around each module; only computes if the model reads values."""
    devices = [x.device for x in inputs if isinstance(x, Tensor)]
    device = devices[0] if devices else _core._default_device()
    buffers = [(module, module._pb_entries(BUFFER)) for module in model.modules()]
    if not any(is_lazy(p) for p in model.parameters()):  # lazy parameters need a real call
        try:
            return _watched_call(model, inputs, kwargs, _core._OperationCost(device, False))
        except _core.CaptureError:
            pass
        finally:
            for module, entries in buffers:  # forward may have replaced buffers by tensors without values
                for entry in entries:
                    module._pb_put(*entry)
    return _watched_call(model, inputs, kwargs, _core._OperationCost(device, True))


def _watched_call(model: Any, inputs: list[Any], kwargs: dict[str, Any], cost: Any) -> list[LayerSummary]:
    layers: list[LayerSummary] = []
    running: list[LayerSummary] = []
    counted: set[int] = set()
    kept = list(model.parameters())  # kept alive, so that ids stay unique
    names = {id(module): name.rpartition(".")[2] for name, module in model.named_modules()}

    def before(module: Any, args: Any) -> None:
        own = [p for p in module.parameters() if id(p) not in counted]
        layer = LayerSummary(names[id(module)], module._get_name(), depth=len(running), mult_adds=-cost.multiply_adds)
        layer.params = sum(p.numel() for p in own)
        layer.trainable_params = sum(p.numel() for p in own if p.requires_grad)
        layer.is_leaf = not list(module.children())
        layer.is_repeated = not own and any(True for _ in module.parameters())
        if layer.is_leaf:
            counted.update(id(p) for p in own)
        layers.append(layer)
        running.append(layer)

    def after(module: Any, args: Any, output: Any) -> None:
        layer = running.pop()
        layer.outputs = [(tuple(tensor.shape), _bytes(tensor)) for tensor in tensors(output)]
        layer.mult_adds += cost.multiply_adds

    handles = [h for m in model.modules() for h in (m.register_forward_pre_hook(before), m.register_forward_hook(after))]
    try:
        with cost:
            model(*inputs, **kwargs)
    finally:
        del kept
        for handle in handles:
            handle.remove()
    return layers


def _bytes(tensor: Any) -> int:
    return tensor.numel() * tensor.dtype.itemsize if isinstance(tensor, Tensor) else 0


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths))).rstrip()


def _size(count: int) -> str:
    return f"{count / 2**20:,.2f} MiB"


def _inputs(model: Any, given: Any, dtype: Any) -> list[Any]:
    if given is None:
        raise ValueError("[summary] expected input tensors or their sizes")
    if isinstance(given, Tensor):
        return [given]
    given = list(given)
    if all(isinstance(x, int) for x in given):
        given = [given]
    where = next((p for p in model.parameters()), None)
    device = None if where is None else where.device
    chosen = dtype if dtype is not None else None if where is None else where.dtype
    return [x if isinstance(x, Tensor) else _random(x, chosen, device) for x in given]


def _random(size: Sequence[int], dtype: Any, device: Any) -> Tensor:
    if dtype is not None and not dtype.is_floating_point:
        return _core.zeros(*size, dtype=dtype, device=device)
    return _core.rand(*size, dtype=dtype, device=device)
