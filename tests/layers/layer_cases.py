"""The cases that layers are tested with, and what a framework makes of one.

A file cases_FAMILY.py holds TABLE, a text with a case per line:

    Linear(3, 2, bias=False) | t(4, 3)                    a layer, and what it is called with
    Dropout(0.5) | t(4, 3) | eval                         in evaluation mode
    Hardtanh(2, 1) ! ValueError                           an error, when it is made or called
    Shrink(0.5) ~ lambda x: torch.where(...) | t(4)       a layer that PyTorch lacks, and what it should compute

Names are those of the framework's nn, the makers below (t, positive, unit, signs, ints, mask, tensor), dtypes, and what the file defines.
Values follow from the line alone, so that goldens hold results only. Parameters are filled with values that follow from their names.
"""

from __future__ import annotations

import importlib
import math
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STEPS = 20  # of a trajectory
HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "layers"


class Case(NamedTuple):
    """One line of a table."""

    family: str
    line: str
    layer: str
    inputs: str
    training: bool
    error: str | None
    torch: str | None  # what to compare with, where PyTorch has no such layer

    @property
    def name(self) -> str:
        return re.match(r"\w+", self.layer).group()  # type: ignore[union-attr]


def families() -> list[str]:
    return sorted(path.stem.removeprefix("cases_") for path in HERE.glob("cases_*.py"))


def module_of(family: str) -> Any:
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return importlib.import_module(f"cases_{family}")


def cases_of(family: str) -> list[Case]:
    table = module_of(family).TABLE
    return [parsed(family, line) for line in table.strip().splitlines() if line.strip() and not line.startswith("#")]


def parsed(family: str, line: str) -> Case:
    rest, _, error = line.partition(" ! ")
    layer, *parts = (part.strip() for part in rest.split(" | "))
    layer, _, torch = (part.strip() for part in layer.partition(" ~ "))
    return Case(family, line, layer, parts[0] if parts else "", "eval" not in parts[1:], error.strip() or None, torch or None)


class Maker:
    """Makes the inputs of a case in one framework, and remembers those that want a gradient."""

    def __init__(self, framework: Any, line: str) -> None:
        self.framework, self.line = framework, line
        self.made = 0
        self.leaves: list[Any] = []
        self.used = 0  # leaves that the inputs being made have taken

    def again(self) -> None:
        """The inputs that are made from now on are those made before, of the same leaves."""
        self.made = self.used = 0

    def random(self) -> np.random.RandomState:
        self.made += 1
        return np.random.RandomState(zlib.crc32(f"{self.made} {self.line}".encode()))

    def leaf(self, values: np.ndarray, dtype: Any = None) -> Any:
        if self.used == len(self.leaves):
            self.leaves.append(self.constant(np.asarray(values, np.float32), dtype).requires_grad_())
        self.used += 1
        return self.leaves[self.used - 1] * 1  # so that layers may write over it

    def constant(self, values: Any, dtype: Any = None) -> Any:
        return self.framework.tensor(np.asarray(values).tolist(), dtype=dtype or self.framework.float32)

    def t(self, *shape: int) -> Any:
        return self.shaped(self.random().randn(*shape), shape)

    def positive(self, *shape: int) -> Any:
        return self.shaped(self.random().rand(*shape) + 0.25, shape)

    def unit(self, *shape: int) -> Any:
        return self.shaped(self.random().rand(*shape) * 0.9 + 0.05, shape)

    def shaped(self, values: Any, shape: tuple[int, ...]) -> Any:
        return self.leaf(np.asarray(values).reshape(shape)) if math.prod(shape) else self.framework.zeros(*shape)

    def signs(self, *shape: int) -> Any:
        return self.constant(self.random().randint(0, 2, shape) * 2.0 - 1)

    def ints(self, low: int, high: int, *shape: int) -> Any:
        return self.constant(self.random().randint(low, high, shape), self.framework.int64)

    def mask(self, *shape: int) -> Any:
        return self.constant(self.random().randint(0, 2, shape).astype(bool), self.framework.bool)

    def names(self) -> dict[str, Any]:
        makers = {name: getattr(self, name) for name in ("t", "positive", "unit", "signs", "ints", "mask")}
        dtypes = {name: getattr(self.framework, name) for name in ("float32", "float64", "int64", "bool")}
        import importlib

        graph = {} if self.framework.__name__ == "torch" else {"graph": importlib.import_module("pyburn.nn.geometric")}
        return {
            **vars(self.framework.nn),
            **graph,
            **makers,
            **dtypes,
            "nn": self.framework.nn,
            "tensor": self.framework.tensor,
            "math": math,
        }


def as_numpy(x: Any) -> np.ndarray:
    return np.array(x.detach().contiguous().numpy())  # a copy: buffers change later


def flat(value: Any, framework: Any) -> Iterator[Any]:
    """The tensors in a nest of tuples and lists."""
    if isinstance(value, framework.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from flat(item, framework)


def fill(layer: Any, framework: Any) -> None:
    """Parameters and running statistics with values that follow from their names."""
    with framework.no_grad():
        for name, tensor in [*layer.named_parameters(), *layer.named_buffers()]:
            if not tensor.dtype.is_floating_point or (not tensor.requires_grad and "running" not in name):
                continue
            values = np.random.RandomState(zlib.crc32(name.encode())).randn(*tensor.shape) * 0.5
            values = np.abs(values) + 0.5 if name.endswith("var") else values
            tensor.copy_(framework.tensor(np.asarray(values, np.float32).tolist(), dtype=tensor.dtype).reshape(tensor.shape))


def made(case: Case, framework: Any, maker: Maker | None = None) -> Any:
    """The layer of a case, filled."""
    names = (maker or Maker(framework, case.line)).names() | vars(module_of(case.family)) | {framework.__name__: framework}
    layer = eval(case.torch if case.torch and framework.__name__ == "torch" else case.layer, names)
    if isinstance(layer, framework.nn.Module):
        fill(layer, framework)
        layer.train(case.training)
    return layer


def described(layer: Any) -> dict[str, Any]:
    """Text and state of a layer."""
    state = {name: [list(t.shape), str(t.dtype).rpartition(".")[2]] for name, t in layer.state_dict().items()}
    text = repr(layer).replace("NonDynamicallyQuantizableLinear", "Linear")  # there is one Linear
    return {"text": text, "state": state, "parameters": [name for name, _ in layer.named_parameters()]}


def inputs_of(case: Case, maker: Maker) -> tuple[Any, Any]:
    return eval(f"_call({case.inputs})", {**maker.names(), "_call": lambda *args, **kwargs: (args, kwargs)})


def trajectory(case: Case, framework: Any, layer: Any, maker: Maker, steps: int = STEPS) -> np.ndarray:
    """The losses of a case while parameters and inputs go downhill, until it is refused or not finite."""
    parameters = [p for p in layer.parameters() if p.requires_grad] if isinstance(layer, framework.nn.Module) else []
    trained = [*parameters, *maker.leaves]
    losses: list[float] = []
    if not trained:
        return np.asarray(losses, np.float32)
    optimizer = framework.optim.SGD(trained, lr=1e-3, momentum=0.9)
    while len(losses) < steps:
        maker.again()
        args, kwargs = inputs_of(case, maker)
        try:
            results = [y for y in flat(layer(*args, **kwargs), framework) if y.requires_grad]
        except (RuntimeError, ValueError):
            break  # a step has led out of what the layer takes
        loss = sum(((y * y).mean() for y in results if y.numel()), maker.constant(0.0))
        if not loss.requires_grad or not math.isfinite(loss.item()):
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.asarray(losses, np.float32)


def run(case: Case, framework: Any, layer: Any, maker: Maker) -> dict[str, np.ndarray]:
    """out0, ...: the results; input0, ...: the gradients of inputs; grad.NAME of parameters; after.NAME: buffers after the call."""
    args, kwargs = inputs_of(case, maker)
    results = list(flat(layer(*args, **kwargs), framework))
    values = {f"out{i}": as_numpy(y) for i, y in enumerate(results)}
    weighted = [
        (y * maker.constant(np.random.RandomState(i).rand(*y.shape)).reshape(y.shape)).sum()
        for i, y in enumerate(results)
        if y.requires_grad
    ]
    if weighted:
        sum(weighted[1:], weighted[0]).backward()
    values |= {f"input{i}": as_numpy(leaf.grad) for i, leaf in enumerate(maker.leaves) if leaf.grad is not None}
    if isinstance(layer, framework.nn.Module):
        values |= {f"grad.{name}": as_numpy(p.grad) for name, p in layer.named_parameters() if p.grad is not None}
        values |= {f"after.{name}": as_numpy(b) for name, b in layer.named_buffers() if "running" in name or "num_batches" in name}
    return values
