"""Through an index: gathering, scattering, masks; and what puts tensors together or takes them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import Call, Make, add, with_jax, with_onnx

ROWS, WIDTH = 1 << 17, 64
BYTES = 4.0 * ROWS * WIDTH


def indexed(what: str) -> Make:
    def make(x: Any) -> Call:
        a, index, source = x.randn(ROWS, WIDTH), x.randint(0, ROWS, (ROWS,)), x.randn(ROWS, WIDTH)
        full = index.unsqueeze(1).expand(ROWS, WIDTH)
        dense = x.randint(0, ROWS, (ROWS, WIDTH)) if "dense" in what else full
        return {
            "index_select": lambda: x.index_select(a, 0, index), "advanced indexing": lambda: a[index],
            "gather": lambda: x.gather(a, 0, full), "gather, dense index": lambda: x.gather(a, 0, dense),
            "embedding": lambda: x.nn.functional.embedding(index, a),
            "index_add": lambda: x.index_add(a, 0, index, source), "index_copy": lambda: x.index_copy(a, 0, index, source),
            "scatter": lambda: x.scatter(a, 0, full, source), "scatter_add": lambda: x.scatter_add(a, 0, full, source),
            "scatter_add, dense index": lambda: x.scatter_add(a, 0, dense, source), "boolean mask": lambda: a[a > 0],
            "masked_fill": lambda: x.masked_fill(a, a > 0, 0.5), "nonzero": lambda: x.nonzero(a > 1.5),
            "roll": lambda: x.roll(a, (100, 3), (0, 1)), "flip": lambda: x.flip(a, (1,)),
        }[what]  # fmt: skip

    return make


JAX: dict[str, Callable[..., Any]] = {
    "index_select": lambda x, a, i: a[i],
    "index_add": lambda x, a, i: a.at[i].add(1.0),
}
for what in ("index_select", "advanced indexing", "gather", "gather, dense index", "embedding", "index_add", "index_copy", "scatter",
             "scatter_add", "scatter_add, dense index", "boolean mask", "masked_fill", "nonzero", "roll", "flip"):  # fmt: skip
    jax = with_jax(JAX[what], (ROWS, WIDTH), (ROWS,), index_below=ROWS) if what in JAX else None
    onnx = with_onnx("y = Gather(a, b)", (ROWS, WIDTH), (ROWS,), index_below=ROWS) if what == "index_select" else None
    add("index", f"{what}, 128k rows of 64", indexed(what), reads=BYTES, writes=BYTES, quick=what in ("index_select", "index_add"),
        jax=jax, onnx=onnx)  # fmt: skip


def embedding_gradient(x: Any) -> Call:
    weight, index = x.randn(30000, 256).requires_grad_(), x.randint(0, 30000, (8192,))
    return lambda: x.autograd.grad(x.nn.functional.embedding(index, weight).sum(), [weight])


add("index", "embedding with gradient, 8192 of 30000×256", embedding_gradient)


def cat(x: Any) -> Call:
    parts = [x.randn(1 << 20) for _ in range(8)]
    return lambda: x.cat(parts)


add("index", "cat of 8, 1M each", cat, reads=4.0 * (8 << 20), writes=4.0 * (8 << 20))


def split_gradient(how: Callable[[Any, Any], Any]) -> Make:
    """Forward and backward of a split whose parts are all used."""

    def make(x: Any) -> Call:
        a = x.randn(1024, 3072).requires_grad_()

        def both() -> Any:
            parts = how(x, a)
            return x.autograd.grad(parts[0] + parts[1] * parts[2], [a], dy)

        with x.no_grad():
            dy = x.ones_like(how(x, a)[0])
        return both

    return make


for name, how in {
    "chunk in 3": lambda x, a: x.chunk(a, 3, 1),
    "split by 1024": lambda x, a: x.split(a, 1024, 1),
    "unbind of 3": lambda x, a: x.unbind(a.view(1024, 3, 1024), 1),
}.items():
    add("index", f"{name} with gradient, 1024×3072", split_gradient(how))
