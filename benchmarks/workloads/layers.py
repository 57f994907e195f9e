"""Attention, recurrent layers and steps of optimisers."""

from __future__ import annotations

from typing import Any

from .workload import Call, Make, add, with_onnx


def attention(batch: int, heads: int, tokens: int, width: int, causal: bool, backward: bool) -> Make:
    def make(x: Any) -> Call:
        q, k, v = (x.randn(batch, heads, tokens, width).requires_grad_(backward) for _ in range(3))
        f = x.nn.functional.scaled_dot_product_attention
        if not backward:
            return lambda: f(q, k, v, is_causal=causal)

        def both() -> Any:
            y = f(q, k, v, is_causal=causal)
            return x.autograd.grad(y, [q, k, v], x.ones_like(y))

        return both

    return make


for batch, heads, tokens, width in ((1, 8, 512, 64), (8, 12, 128, 64), (1, 8, 2048, 64)):
    for causal in (False, True):
        for backward in (False, True):
            flops = 4.0 * batch * heads * tokens**2 * width * (3.5 if backward else 1) * (0.5 if causal else 1)
            label = f"{batch}×{heads}×{tokens}×{width}{', causal' if causal else ''}, {'forward + backward' if backward else 'forward'}"
            add("attention", label, attention(batch, heads, tokens, width, causal, backward), flops, quick=tokens == 512 and not causal)


def recurrent(kind: str, backward: bool, batch: int = 32, steps: int = 100, features: int = 128, hidden: int = 128) -> Make:
    def make(x: Any) -> Call:
        gates = {"lstm": 4, "gru": 3}[kind] * hidden
        a = x.randn(steps, batch, features)
        weights = [(x.randn(gates, n) * 0.1) for n in (features, hidden)] + [x.randn(gates) * 0.1 for _ in range(2)]
        weights = [w.requires_grad_(backward) for w in weights]
        h = x.zeros(1, batch, hidden)
        state = (h, h) if kind == "lstm" else h
        run = lambda: getattr(x, kind)(a, state, weights, True, 1, 0.0, backward, False, False)[0]  # noqa: E731
        return (lambda: x.autograd.grad(run().sum(), weights)) if backward else run

    return make


for kind, gates in (("lstm", 4), ("gru", 3)):
    for backward in (False, True):
        flops = 2.0 * 100 * 32 * gates * 128 * 256 * (3 if backward else 1)
        what = "forward + backward" if backward else "forward"
        shapes = ((100, 32, 128), (1, gates * 128, 128), (1, gates * 128, 128), (1, 2 * gates * 128))
        onnx = None if backward else with_onnx(f"y = {kind.upper()} <hidden_size=128> (a, b, c, d)", *shapes)
        add("recurrent", f"{kind.upper()} 128→128, 100 steps, batch 32, {what}", recurrent(kind, backward), flops,
            quick=kind == "lstm" and backward, onnx=onnx)  # fmt: skip


def optimiser_step(name: str, shapes: list[tuple[int, ...]], **options: Any) -> Make:
    def make(x: Any) -> Call:
        parameters = [x.nn.Parameter(x.randn(*shape)) for shape in shapes]
        for p in parameters:
            p.grad = x.randn(*p.shape)
        how = getattr(x, "layout", "plain")
        return getattr(x.optim, name)(parameters, lr=1e-3, **options, **({} if how == "plain" else {how: True})).step

    return make


SMALL_MODEL: list[tuple[int, ...]] = [(64,), (64, 64, 3, 3), (128,), (128, 64, 3, 3)] * 15  # 60 tensors
LARGE_MODEL: list[tuple[int, ...]] = [(1024, 1024)] * 12
for name, options, per_element in (("SGD", {"momentum": 0.9}, 3), ("Adam", {}, 4), ("AdamW", {}, 4)):
    for label, shapes in (("60 tensors, 1.7M parameters", SMALL_MODEL), ("12 tensors, 12.6M parameters", LARGE_MODEL)):
        elements = 0
        for shape in shapes:
            size = 1
            for extent in shape:
                size *= extent
            elements += size
        add("optimiser", f"{name}, {label}", optimiser_step(name, shapes, **options), reads=4.0 * elements * per_element,
            writes=4.0 * elements * (per_element - 1), quick=name == "AdamW", layouts=("plain", "foreach", "fused"))  # fmt: skip
