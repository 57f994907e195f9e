"""Reductions, what works on rows (softmax, norms, running sums), transposed copies, sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Call, Make, add, gradient_of, with_jax, with_onnx


def on_matrix(f: Callable[[Any, Any], Any], *shape: int) -> Make:
    def make(x: Any) -> Call:
        a = x.randn(*shape)
        return lambda: f(x, a)

    return make


MATRIX = 4.0 * 4096 * 4096
# name: PyTorch, JAX, ONNX, the dtypes of ONNX's results
REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str, dict[str, str]]] = {
    "sum of all": (lambda x, a: a.sum(), lambda x, a: a.sum(), "y = ReduceSum <keepdims=0> (a)", {}),
    "sum over rows": (lambda x, a: a.sum(0), lambda x, a: a.sum(0), "y = ReduceSum <keepdims=0> (a, zero)", {}),
    "sum over columns": (lambda x, a: a.sum(1), lambda x, a: a.sum(1), "y = ReduceSum <keepdims=0> (a, one)", {}),
    "mean over columns": (lambda x, a: a.mean(1), lambda x, a: a.mean(1), "y = ReduceMean <keepdims=0> (a, one)", {}),
    "amax over rows": (lambda x, a: a.amax(0), lambda x, a: a.max(0), "y = ReduceMax <keepdims=0> (a, zero)", {}),
    "amax over columns": (lambda x, a: a.amax(1), lambda x, a: a.max(1), "y = ReduceMax <keepdims=0> (a, one)", {}),
    "argmax over columns": (lambda x, a: a.argmax(1), lambda x, a: a.argmax(1), "y = ArgMax <axis=1> (a)", {"y": "int64"}),
    "argmax over rows": (lambda x, a: a.argmax(0), lambda x, a: a.argmax(0), "y = ArgMax <axis=0> (a)", {"y": "int64"}),
    "max over columns": (lambda x, a: a.max(1), lambda x, a: (a.max(1), a.argmax(1)), "", {}),
    "var over columns": (lambda x, a: a.var(1), lambda x, a: a.var(1, ddof=1), "", {}),
    "var over rows": (lambda x, a: a.var(0), lambda x, a: a.var(0, ddof=1), "", {}),
    "norm": (lambda x, a: a.norm(), lambda x, a: x.jnp.linalg.norm(a), "y = ReduceL2 <keepdims=0> (a)", {}),
    "logsumexp over columns": (
        lambda x, a: a.logsumexp(1), lambda x, a: x.jax.nn.logsumexp(a, 1), "y = ReduceLogSumExp <keepdims=0> (a, one)", {},
    ),
}  # fmt: skip
for name, (f, jax, graph, results) in REDUCTIONS.items():
    onnx = with_onnx(graph, (4096, 4096), results=results, constants={"zero": [0], "one": [1]}) if graph else None
    add("reduce", f"{name}, 4096²", on_matrix(f, 4096, 4096), reads=MATRIX, quick=name.startswith("sum"),
        jax=with_jax(jax, (4096, 4096)), onnx=onnx)  # fmt: skip
add("reduce", "sum over the middle, 64×256×1024", on_matrix(lambda x, a: a.sum(1), 64, 256, 1024), reads=4.0 * 64 * 256 * 1024,
    jax=with_jax(lambda x, a: a.sum(1), (64, 256, 1024)))  # fmt: skip


def layer_norm(x: Any, a: Any) -> Any:
    return x.nn.functional.layer_norm(a, a.shape[1:])


def affine_layer_norm(*shape: int) -> Make:
    def make(x: Any) -> Call:
        a, weight, bias = x.randn(*shape), x.ones(shape[1]), x.zeros(shape[1])
        return lambda: x.nn.functional.layer_norm(a, (shape[1],), weight, bias)

    return make


def jax_layer_norm(x: Any, a: Any) -> Any:
    return (a - a.mean(1, keepdims=True)) * x.jax.lax.rsqrt(a.var(1, keepdims=True) + 1e-5)


def jax_transposed(x: Any, a: Any) -> Any:
    return a.T.copy()


for shape, label in (((4096, 4096), "4096²"), ((1024, 1024), "1024²"), ((4096, 128), "4096×128")):
    n, quick, width = 4.0 * shape[0] * shape[1], label == "4096²", shape[1]
    traffic = {"reads": n, "writes": n}
    add("rows", f"softmax, {label}", on_matrix(lambda x, a: x.softmax(a, 1), *shape), **traffic, quick=quick,
        jax=with_jax(lambda x, a: x.jax.nn.softmax(a, 1), shape), onnx=with_onnx("y = Softmax <axis=1> (a)", shape))  # fmt: skip
    add("rows", f"softmax over rows, {label}", on_matrix(lambda x, a: x.softmax(a, 0), *shape), **traffic,
        jax=with_jax(lambda x, a: x.jax.nn.softmax(a, 0), shape), onnx=with_onnx("y = Softmax <axis=0> (a)", shape))  # fmt: skip
    add("rows", f"log_softmax, {label}", on_matrix(lambda x, a: x.log_softmax(a, 1), *shape), **traffic,
        jax=with_jax(lambda x, a: x.jax.nn.log_softmax(a, 1), shape), onnx=with_onnx("y = LogSoftmax <axis=1> (a)", shape))  # fmt: skip
    add("rows", f"layer norm, {label}", on_matrix(layer_norm, *shape), **traffic, quick=quick, jax=with_jax(jax_layer_norm, shape))
    add("rows", f"layer norm with weight and bias, {label}", affine_layer_norm(*shape), **traffic,
        onnx=with_onnx("y = LayerNormalization <axis=1> (a, b, c)", shape, (width,), (width,)))  # fmt: skip
    add("rows", f"transpose copy, {label}", on_matrix(lambda x, a: a.t().contiguous(), *shape), **traffic, quick=quick,
        jax=with_jax(jax_transposed, shape), onnx=with_onnx("y = Transpose <perm=[1, 0]> (a)", shape))  # fmt: skip
    add("rows", f"cumsum, {label}", on_matrix(lambda x, a: x.cumsum(a, 1), *shape), **traffic, quick=quick,
        jax=with_jax(lambda x, a: a.cumsum(1), shape), onnx=with_onnx("y = CumSum(a, axis)", shape, constants={"axis": [1]}))  # fmt: skip
    add("rows", f"cumsum down, {label}", on_matrix(lambda x, a: x.cumsum(a, 0), *shape), **traffic)


def row_gradient(f: Callable[[Any, Any], Any], *shape: int) -> Make:
    def make(x: Any) -> Call:
        a = x.randn(*shape).requires_grad_()
        return gradient_of(x, f(x, a), [a])

    return make


for name, f in {"softmax": lambda x, a: x.softmax(a, 1), "log_softmax": lambda x, a: x.log_softmax(a, 1), "layer norm": layer_norm}.items():
    add("rows", f"{name} gradient, 4096²", row_gradient(f, 4096, 4096), reads=2 * MATRIX, writes=MATRIX)


def cross_entropy(x: Any) -> Call:
    a, target = x.randn(4096, 1000).requires_grad_(), x.randint(0, 1000, (4096,))
    return lambda: x.autograd.grad(x.nn.functional.cross_entropy(a, target), [a])


add("rows", "cross entropy with gradient, 4096×1000", cross_entropy, reads=4.0 * 4096 * 1000, writes=4.0 * 4096 * 1000, quick=True)
for n, label in ((1 << 16, "64k"), (1 << 20, "1M")):
    add("sort", f"sort, {label}", on_matrix(lambda x, a: x.sort(a), n), quick=label == "1M",
        jax=with_jax(lambda x, a: (x.jnp.sort(a), x.jnp.argsort(a)), (n,)))  # fmt: skip
add("sort", "sort of rows, 4096×256", on_matrix(lambda x, a: x.sort(a, 1), 4096, 256))
add("sort", "topk 10 of rows, 1024×4096", on_matrix(lambda x, a: x.topk(a, 10, 1), 1024, 4096), quick=True,
    jax=with_jax(lambda x, a: x.jax.lax.top_k(a, 10), (1024, 4096)),
    onnx=with_onnx("y, i = TopK(a, ten)", (1024, 4096), results={"y": "float32", "i": "int64"}, constants={"ten": [10]}))  # fmt: skip
add("sort", "topk 100 of 1M", on_matrix(lambda x, a: x.topk(a, 100), 1 << 20))
