"""One element at a time: single operations, chains, casts, and what draws random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Call, Make, add, with_jax, with_onnx

SIZES = {"1k": 1 << 10, "64k": 1 << 16, "1M": 1 << 20, "16M": 1 << 24, "64M": 1 << 26}


def elementwise(f: Callable[..., Any], n: int, operands: int = 1) -> Make:
    def make(x: Any) -> Call:
        tensors = [x.rand(n) + 0.5 for _ in range(operands)]
        return lambda: f(x, *tensors)

    return make


# name: operands, PyTorch, JAX, ONNX
OPERATIONS: dict[str, tuple[int, Callable[..., Any], Callable[..., Any], str]] = {
    "add": (2, lambda x, a, b: a + b, lambda x, a, b: a + b, "y = Add(a, b)"),
    "mul by a number": (1, lambda x, a: a * 2.5, lambda x, a: a * 2.5, "y = Mul(a, number)"),
    "div": (2, lambda x, a, b: a / b, lambda x, a, b: a / b, "y = Div(a, b)"),
    "exp": (1, lambda x, a: x.exp(a), lambda x, a: x.jnp.exp(a), "y = Exp(a)"),
    "log": (1, lambda x, a: x.log(a), lambda x, a: x.jnp.log(a), "y = Log(a)"),
    "tanh": (1, lambda x, a: x.tanh(a), lambda x, a: x.jnp.tanh(a), "y = Tanh(a)"),
    "sigmoid": (1, lambda x, a: x.sigmoid(a), lambda x, a: x.jax.nn.sigmoid(a), "y = Sigmoid(a)"),
    "sin": (1, lambda x, a: x.sin(a), lambda x, a: x.jnp.sin(a), "y = Sin(a)"),
    "cos": (1, lambda x, a: x.cos(a), lambda x, a: x.jnp.cos(a), "y = Cos(a)"),
    "erf": (1, lambda x, a: x.erf(a), lambda x, a: x.jax.lax.erf(a), "y = Erf(a)"),
    "gelu": (1, lambda x, a: x.nn.functional.gelu(a), lambda x, a: x.jax.nn.gelu(a, approximate=False), "y = Gelu(a)"),
    "relu": (1, lambda x, a: x.relu(a), lambda x, a: x.jax.nn.relu(a), "y = Relu(a)"),
    "pow": (2, lambda x, a, b: x.pow(a, b), lambda x, a, b: x.jnp.power(a, b), "y = Pow(a, b)"),
    "sqrt": (1, lambda x, a: x.sqrt(a), lambda x, a: x.jnp.sqrt(a), "y = Sqrt(a)"),
    "greater": (2, lambda x, a, b: a > b, lambda x, a, b: a > b, "y = Greater(a, b)"),
    "where": (2, lambda x, a, b: x.where(a > b, a, b), lambda x, a, b: x.jnp.where(a > b, a, b), "t = Greater(a, b) y = Where(t, a, b)"),
}
for name, (operands, f, jax, graph) in OPERATIONS.items():
    for label, n in SIZES.items():
        boolean, shapes = name == "greater", ((n,),) * operands
        onnx = with_onnx(graph, *shapes, results={"y": "bool" if boolean else "float32"}, constants={"number": 2.5})
        add("elementwise", f"{name}, {label}", elementwise(f, n, operands), reads=4.0 * n * operands, writes=n * (1.0 if boolean else 4.0),
            quick=name in ("add", "exp", "gelu", "where") and label in ("64k", "16M"), jax=with_jax(jax, *shapes), onnx=onnx)  # fmt: skip


def chain(x: Any, a: Any, b: Any) -> Any:
    y = (a + b) * 0.5
    y = y * a - b
    return (y * y + 1.0) * 0.25


NUMBERS: dict[str, float | list[int]] = {"half": 0.5, "one": 1.0, "quarter": 0.25}
CHAIN_ONNX = "s = Add(a, b) h = Mul(s, half) m = Mul(h, a) d = Sub(m, b) q = Mul(d, d) r = Add(q, one) y = Mul(r, quarter)"
for label, n in SIZES.items():
    add("chain", f"7 operations, {label}", elementwise(chain, n, 2), reads=8.0 * n, writes=4.0 * n, quick=label in ("64k", "16M"),
        jax=with_jax(chain, (n,), (n,)), onnx=with_onnx(CHAIN_ONNX, (n,), (n,), constants=NUMBERS))  # fmt: skip


def cast(dtype: str, n: int) -> Make:
    def make(x: Any) -> Call:
        a, to = x.rand(n), getattr(x, dtype)
        return lambda: a.to(to)

    return make


for dtype, size, number in (("float16", 2, 10), ("bfloat16", 2, 16), ("int32", 4, 6), ("float64", 8, 11)):
    n = 1 << 24
    add("cast", f"float32 to {dtype}, 16M", cast(dtype, n), reads=4.0 * n, writes=float(size * n), quick=dtype == "bfloat16",
        jax=None if dtype == "float64" else with_jax(lambda x, a, d=dtype: a.astype(d), (n,)),
        onnx=with_onnx(f"y = Cast <to={number}> (a)", (n,), results={"y": dtype}))  # fmt: skip

for name, f in {
    "rand": lambda x: x.rand(1 << 22),
    "randn": lambda x: x.randn(1 << 22),
    "randint": lambda x: x.randint(0, 100, (1 << 22,)),
    "randperm": lambda x: x.randperm(1 << 20),
}.items():
    size = {"randint": 8.0, "randperm": 2.0}.get(name, 4.0)
    label = "1M" if name == "randperm" else "4M"
    add("random", f"{name}, {label}", lambda x, f=f: lambda: f(x), writes=size * (1 << 22), quick=name == "randn")
add("random", "bernoulli, 4M", elementwise(lambda x, a: x.bernoulli(a - 0.5), 1 << 22), reads=4.0 * (1 << 22), writes=4.0 * (1 << 22))
for label in ("1M", "16M"):
    n = SIZES[label]
    add("random", f"dropout, {label}", elementwise(lambda x, a: x.nn.functional.dropout(a, 0.1, True), n), reads=4.0 * n, writes=4.0 * n,
        quick=label == "16M")  # fmt: skip
