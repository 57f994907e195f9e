"""Runs the programs of the aliasing fuzzer with any library that has PyTorch's names: pyburn or torch itself."""

from __future__ import annotations

import contextlib
import math


def fresh_values(count: int, first: float, integer: bool) -> list[float]:
    """The numbers that `fresh` fills a tensor with; the same as in the C++ fuzzer."""
    values = [0.25 * ((k * 7 + int(first)) % 17 - 8) for k in range(count)]
    return [math.trunc(v) for v in values] if integer else values


def root_gradient(count: int) -> list[float]:
    """The gradient that backward starts from at a tensor with `count` elements."""
    return [1 + 0.25 * (i % 3) for i in range(count)]


def flat(x) -> list[float]:
    """The elements of x in row-major order."""
    return x.detach().reshape(-1).tolist()


class Run:
    """One program: how each instruction ended, the tensors, readings and gradients it left."""

    def __init__(self, library, *, device=None) -> None:
        self.library = library
        self.options = {} if device is None else {"device": device}
        self.tensors: dict[int, object] = {}
        self.readings: dict[int, list[float]] = {}
        self.outcomes: list[str] = []
        self.messages: list[str] = []

    def run(self, program: list[dict]) -> Run:
        for instruction in program:
            if any(instruction[k] >= 0 and instruction[k] not in self.tensors for k in ("a", "b")):
                self.outcomes.append("skipped")  # an instruction before it raised here, but not in the fuzzer
                continue
            self.attempt(lambda i=instruction: self.step(i))
        self.attempt(self.backward)
        return self

    def attempt(self, action) -> None:
        try:
            action()
            self.outcomes.append("ok")
        except (RuntimeError, TypeError, ValueError) as error:
            self.outcomes.append("error")
            self.messages.append(str(error))

    def step(self, i: dict) -> None:
        with self.library.no_grad() if i["no_grad"] else contextlib.nullcontext():
            result = self.execute(i, self.tensors.get(i["a"]), self.tensors.get(i["b"]))
        if i["out"] >= 0 and result is not None:
            self.tensors[i["out"]] = result

    def execute(self, i: dict, a, b):
        library, dims, number = self.library, i["dims"], i["number"]
        dtype = getattr(library, i["dtype"])
        if number == int(number):
            number = int(number)
        match i["op"]:
            case "fresh":
                values = fresh_values(math.prod(dims), number, i["dtype"] == "int64")
                x = library.tensor(values, dtype=dtype, **self.options).reshape(dims).clone()  # a tensor of its own, no view
                return x.requires_grad_(i["flag"])
            case "random":
                generator = library.Generator().manual_seed(number)
                return library.rand(dims, dtype=dtype, generator=generator, requires_grad=i["flag"], **self.options)
            case "view":
                return a.view(dims)
            case "reshape":
                return a.reshape(dims)
            case "expand":
                return a.expand(dims)
            case "permute":
                return a.permute(dims)
            case "slice":
                return a[(slice(None),) * dims[0] + (slice(*dims[1:]),)]
            case "select":
                return a.select(*dims)
            case "unsqueeze":
                return a.unsqueeze(*dims)
            case "detach":
                return a.detach()
            case "clone":
                return a.clone()
            case "cast":
                return a.to(dtype, copy=True)
            case "add":
                return library.add(a, b, alpha=number)
            case "mul":
                return a * b
            case "add_number":
                return a + number
            case "mul_number":
                return a * number
            case "exp":
                return a.exp()
            case "matmul":
                return a @ b
            case "nonzero":
                return a.nonzero()
            case "sum":
                return a.sum(dims or tuple(range(a.ndim)), keepdim=i["flag"]) if a.ndim else a.sum()
            case "copy_":
                a.copy_(b)
            case "add_":
                a.add_(b)
            case "mul_":
                a.mul_(b)
            case "add_number_":
                a.add_(number)
            case "mul_number_":
                a.mul_(number)
            case "exp_":
                a.exp_()
            case "fill_":
                a.fill_(number)
            case "uniform_":
                a.uniform_(0, 1, generator=library.Generator().manual_seed(number))
            case "data_mul_":
                a.data.mul_(number)
            case "data_copy_":
                a.data.copy_(b)
            case "read":
                self.readings[i["out"]] = flat(a)
            case "drop":
                del self.tensors[i["a"]]
        return None

    def backward(self) -> None:
        roots = [x for _, x in sorted(self.tensors.items()) if x.requires_grad]
        if not roots:
            return
        gradients = [self.library.tensor(root_gradient(x.numel()), dtype=x.dtype, **self.options).reshape(tuple(x.shape)) for x in roots]
        self.library.autograd.backward(roots, gradients)

    def result(self) -> dict:
        """What PyTorch and pyburn must agree on, as plain data. No gradient and a gradient of zeros are the same here."""
        leaves = {n: x for n, x in self.tensors.items() if x.requires_grad and x.is_leaf}
        gradients = (
            {}
            if self.outcomes[-1] == "error"
            else {n: flat(x.grad) if x.grad is not None else [0.0] * x.numel() for n, x in leaves.items()}
        )
        return {
            "outcomes": self.outcomes,
            "messages": self.messages,
            "readings": {str(n): v for n, v in self.readings.items()},
            "tensors": {str(n): [str(x.dtype).rpartition(".")[2], list(x.shape), flat(x)] for n, x in self.tensors.items()},
            "gradients": {str(n): g for n, g in gradients.items()},
        }
