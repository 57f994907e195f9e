"""Matrix products: square, of BERT's and ResNet's layers, with transposes, with few rows, batched."""

from __future__ import annotations

from typing import Any

from .workload import Call, Make, add, with_jax, with_onnx


def matmul(m: int, n: int, k: int, batch: int = 0, ta: bool = False, tb: bool = False) -> Make:
    def make(x: Any) -> Call:
        lead = (batch,) if batch else ()
        a = x.randn(*lead, *((k, m) if ta else (m, k)))
        b = x.randn(*lead, *((n, k) if tb else (k, n)))
        a, b = a.transpose(-1, -2) if ta else a, b.transpose(-1, -2) if tb else b
        return lambda: x.matmul(a, b)

    return make


def product(group: str, name: str, m: int, n: int, k: int, batch: int = 0, ta: bool = False, tb: bool = False, **options: Any) -> None:
    lead = (batch,) if batch else ()
    shapes = ((*lead, k, m) if ta else (*lead, m, k), (*lead, n, k) if tb else (*lead, k, n))

    def jax(x: Any, a: Any, b: Any) -> Any:
        return x.jnp.matmul(a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b)

    text = "y = MatMul(a, b)" if batch else f"y = Gemm <transA={int(ta)}, transB={int(tb)}> (a, b)"
    add(group, name, matmul(m, n, k, batch, ta, tb), 2.0 * max(1, batch) * m * n * k, jax=with_jax(jax, *shapes),
        onnx=with_onnx(text, *shapes), **options)  # fmt: skip


for n in (64, 128, 256, 512, 1024, 2048, 4096):
    product("matmul", f"{n}³", n, n, n, quick=n in (64, 512, 1024))
for m, n, k, what in (
    (128, 768, 768, "BERT projection, 128 tokens"),
    (128, 3072, 768, "BERT feed-forward up, 128 tokens"),
    (128, 768, 3072, "BERT feed-forward down, 128 tokens"),
    (512, 768, 768, "BERT projection, 512 tokens"),
    (512, 3072, 768, "BERT feed-forward up, 512 tokens"),
    (512, 768, 3072, "BERT feed-forward down, 512 tokens"),
    (3136, 64, 576, "ResNet layer1 as a product"),
    (784, 128, 1152, "ResNet layer2 as a product"),
    (196, 256, 2304, "ResNet layer3 as a product"),
    (49, 512, 4608, "ResNet layer4 as a product"),
):
    product("matmul", f"{m}×{n}×{k} ({what})", m, n, k, quick=m == 128 and n == 768 and k == 768)
for n in (512, 1024, 2048):
    product("matmul", f"{n}³, left transposed", n, n, n, ta=True, quick=n == 512)
    product("matmul", f"{n}³, right transposed", n, n, n, tb=True)
    product("matmul", f"{n}³, both transposed", n, n, n, ta=True, tb=True)
for m, n, k in ((1, 256, 256), (1, 1024, 1024), (1, 4096, 4096), (4, 1024, 1024), (16, 256, 256), (16, 1024, 1024), (32, 1024, 1024)):
    for tb in (False, True):
        quick = n == 1024 and (m == 1 or (m == 16 and not tb))
        product("skinny", f"{m}×{n}×{k}{', right transposed' if tb else ''}", m, n, k, tb=tb, reads=4.0 * k * n, quick=quick)
for b, m, n, k in ((96, 128, 128, 64), (96, 128, 64, 128), (256, 32, 32, 32), (1024, 16, 16, 16), (8, 512, 512, 64)):
    product("batched", f"{b} × {m}×{n}×{k}", m, n, k, b, quick=b == 96 and n == 128)
