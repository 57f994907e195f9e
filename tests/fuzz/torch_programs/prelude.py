"""What programs may use. `T` is torch or pyburn; the text of this file, from the mark on, is the head of every program."""

from __future__ import annotations

from typing import Any

T: Any = None
# --- the head of every program ---

calls: list[Any] = []  # what hooks and Functions saw, in order


def make(shape, k=0, dtype=None):
    """Quarters between -2 and 2, all of which every floating dtype holds."""
    count = 1
    for extent in shape:
        count *= extent
    values = [((7 * i + 3 * k) % 17 - 8) / 4 for i in range(count)]
    return T.tensor(values).reshape(shape).to(dtype or T.float32)


def hook(name, factor=None):
    def run(gradient):
        if gradient is None:  # PyTorch passes None on for outputs of split that got no gradient
            return None
        calls.append((name, tuple(gradient.shape)))
        return None if factor is None else gradient * factor

    return run


def grads(y, wanted, **options):
    """autograd.grad, in memory of its own: "a gradient lies in memory as its leaf does", where PyTorch may stretch one element."""
    found = T.autograd.grad(y, wanted, allow_unused=True, **options)
    return [None if g is None else g.clone() for g in found]


def function(kind):
    """A custom Function: defined where T is known."""

    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            calls.append(("Cube", tuple(g.shape)))
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    class Scaled(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            calls.append(("Scaled", ctx.needs_input_grad))
            return g * ctx.factor, None

    class Pair(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x + y, x * y

        @staticmethod
        def backward(ctx, g, h):
            calls.append(("Pair", tuple(g.shape), tuple(h.shape)))
            x, y = ctx.saved_tensors
            return g + h * y, g + h * x

    class AddOne(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g

    return {"Cube": Cube, "Scaled": Scaled, "Pair": Pair, "AddOne": AddOne}[kind].apply
