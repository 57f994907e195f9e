"""Operations that need several lines of PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as f

from ... import _core
from ..interface import kernel
from ..numpy_backend.arrays import BOTH, operands

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
REFLECT, EDGE, WRAP = range(3)  # padding modes


class OtherKernels:
    """Kernels whose arguments or results differ from those of the PyTorch function.

    >>> "clamp" in vars(OtherKernels)
    True
    """

    torch_device: torch.device

    @kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value) if scalar else tensors
        return a + (b if alpha == 1 else alpha * b)

    @kernel
    def sub(self, *tensors, scalar, value, alpha):
        a, b = operands(tensors, scalar, value) if scalar else tensors
        return a - (b if alpha == 1 else alpha * b)

    @kernel
    def where(self, condition, *branches, scalar, value, other):
        return torch.where(condition, *((value, other) if scalar == BOTH else operands(branches, scalar, value)))

    @kernel
    def lerp(self, start, end, *weights, weight):
        return torch.lerp(start, end, weights[0] if weights else weight)

    @kernel
    def clamp(self, x, *, min, max):
        return x if min is None and max is None else torch.clamp(x, min, max)

    # --- creation ---

    @kernel
    def full(self, *, size, value, dtype):
        return torch.full(size, value, dtype=getattr(torch, dtype.name), device=self.torch_device)

    @kernel
    def arange(self, *, start, step, count, dtype):
        floating = torch.float32 if self.torch_device.type == "mps" else torch.float64
        exact = torch.int64 if isinstance(start, int) and isinstance(step, int) else floating
        return (start + step * torch.arange(count, dtype=exact, device=self.torch_device)).to(getattr(torch, dtype.name))

    @kernel
    def linspace(self, *, start, end, steps, dtype):
        return torch.linspace(start, end, steps, dtype=getattr(torch, dtype.name), device=self.torch_device)

    # A seed gives the same numbers on every backend: pyburn's CPU generates them.

    @kernel
    def random(self, **attributes):
        return torch.from_dlpack(_core._draw(**attributes)).to(self.torch_device)

    @kernel
    def seeded_dropout(self, x, *, p, scale, shift, dropped, seed, offset):
        unit = {"size": tuple(x.shape), "draw": 0, "a": 0.0, "b": 1.0, "seed": seed, "offset": offset, "dtype": _core.float32}
        return torch.where(self.random(**unit) < p, dropped, x * scale + shift)

    # --- along dimensions ---

    @kernel
    def prod(self, x, *, dim, keepdim, result):
        x = x.to(getattr(torch, result.name))
        for d in sorted(dim, reverse=True):
            x = torch.prod(x, d, keepdim)
        return x

    @kernel
    def cumsum(self, x, *, dim, result, reverse):
        return scanned(torch.cumsum, x, dim, reverse, dtype=getattr(torch, result.name))

    @kernel
    def cumprod(self, x, *, dim, result, reverse):
        return scanned(torch.cumprod, x, dim, reverse, dtype=getattr(torch, result.name))

    @kernel
    def logcumsumexp(self, x, *, dim, result, reverse):
        return scanned(torch.logcumsumexp, x, dim, reverse)

    @kernel
    def searchsorted(self, sequence, values, *, right, result):
        return torch.searchsorted(sequence.contiguous(), values.contiguous(), right=right, out_int32=result is _core.int32)

    @kernel
    def distinct(self, x, *, dim, consecutive):
        function = torch.unique_consecutive if consecutive else torch.unique
        return function(x, return_inverse=True, return_counts=True, dim=None if dim < 0 else dim)

    # --- indexing ---

    @kernel
    def _index(self, x, *indices, axis, accumulate):
        return torch.ops.aten.index(x, [None] * axis + list(indices))

    @kernel
    def _index_put(self, x, values, *indices, axis, accumulate):
        return torch.ops.aten.index_put(x, [None] * axis + list(indices), values, accumulate)

    @kernel
    def scatter_reduce(self, x, index, src, *, dim, reduce, include_self):
        return torch.scatter_reduce(x, dim, index, src, REDUCTIONS[reduce], include_self=include_self)

    @kernel
    def _segment_reduce(self, x, lengths, *, reduce, initial):
        return torch.segment_reduce(x, REDUCTIONS[reduce].removeprefix("a"), lengths=lengths, initial=initial)

    @kernel("repeat_interleave.indices")
    def repeat_interleave_indices(self, repeats, *, output_size):
        return torch.repeat_interleave(repeats, output_size=None if output_size < 0 else output_size)

    @kernel
    def _border_pad(self, x, *, pad, border):
        for k in range(len(pad) // 2):
            axis = x.ndim - 1 - k
            n, place = x.shape[axis], torch.arange(-pad[2 * k], x.shape[axis] + pad[2 * k + 1], device=x.device)
            place = n - 1 - (n - 1 - place.abs()).abs() if border == REFLECT else place.clamp(0, n - 1) if border == EDGE else place % n
            x = x.index_select(axis, place)
        return x

    @kernel
    def linalg_eigh(self, a, *, upper):
        if not torch.isfinite(a).all():
            raise _core.ArgumentError("[linalg_eigh] expected finite elements: got a matrix with infinities or NaN")
        return torch.linalg.eigh(a, "U" if upper else "L")

    # --- images: one to three spatial dimensions ---

    @kernel
    def conv2d(self, x, weight, bias=None, *, stride, padding, dilation, groups):
        return of_rank(f, "conv{}d", x.ndim - 2)(x, weight, bias, stride, padding, dilation, groups)

    @kernel
    def conv2d_input(self, dy, weight, *, shape, stride, padding, dilation, groups):
        return of_rank(torch.nn.grad, "conv{}d_input", dy.ndim - 2)(shape, weight, dy, stride, padding, dilation, groups)

    @kernel
    def conv2d_weight(self, x, dy, *, shape, stride, padding, dilation, groups):
        return of_rank(torch.nn.grad, "conv{}d_weight", x.ndim - 2)(x, shape, dy, stride, padding, dilation, groups)

    @kernel
    def conv3d(self, *tensors, **attributes):
        return self.conv2d(*tensors, **attributes)

    @kernel
    def conv3d_input(self, *tensors, **attributes):
        return self.conv2d_input(*tensors, **attributes)

    @kernel
    def conv3d_weight(self, *tensors, **attributes):
        return self.conv2d_weight(*tensors, **attributes)

    @kernel
    def max_pool(self, x, **attributes):
        return self.max_pool_with_indices(x, **attributes)[0]

    @kernel
    def max_pool_with_indices(self, x, *, kernel_size, stride, padding, dilation, ceil_mode, adaptive):
        axes = len(kernel_size)
        planes = x.reshape(math.prod(x.shape[:-axes]), 1, *x.shape[-axes:])
        if adaptive:
            results = of_rank(f, "adaptive_max_pool{}d", axes)(planes, kernel_size, True)
        else:
            results = of_rank(f, "max_pool{}d", axes)(planes, kernel_size, stride, padding, dilation, ceil_mode, True)
        return tuple(t.reshape(*x.shape[:-axes], *t.shape[2:]) for t in results)

    @kernel
    def avg_pool(self, x, *, input_size, kernel_size, **attributes):
        planes = x.reshape(math.prod(x.shape[: -len(kernel_size)]), 1, *x.shape[-len(kernel_size) :])
        y = averaged(planes, kernel_size, **attributes)
        return y.reshape(*x.shape[: -len(kernel_size)], *y.shape[2:])

    @kernel
    def avg_pool_input(self, dy, *, input_size, kernel_size, **attributes):
        space = input_size[-len(kernel_size) :]
        with torch.inference_mode(False), torch.enable_grad():  # only in this thread; average pooling is linear
            x = torch.zeros((math.prod(input_size[: -len(kernel_size)]), 1, *space), dtype=dy.dtype, device=dy.device, requires_grad=True)
            y = averaged(x, kernel_size, **attributes)
        return torch.autograd.grad(y, x, dy.reshape(y.shape))[0].reshape(input_size)

    @kernel
    def unpool(self, x, indices, *, output_size, accumulate):
        axes = len(output_size)
        y = x.new_zeros(*x.shape[:-axes], math.prod(output_size))
        y = (y.scatter_add if accumulate else y.scatter)(-1, indices.flatten(-axes), x.flatten(-axes))
        return y.reshape(*x.shape[:-axes], *output_size)

    @kernel
    def unpool_input(self, dy, indices, *, output_size, accumulate):
        return dy.flatten(-len(output_size)).gather(-1, indices.flatten(-len(output_size))).reshape(indices.shape)

    @kernel
    def _ctc_loss(self, x, targets, input_lengths, target_lengths, *, blank, zero_infinity):
        if targets.device.type == "cpu":  # PyTorch reads out of bounds here
            for what, lengths, most in (("input", input_lengths, len(x)), ("target", target_lengths, targets.shape[-1])):
                if not (lengths >= 0).all() or not ((lengths.sum() if (what, targets.ndim) == ("target", 1) else lengths) <= most).all():
                    raise _core.ArgumentError(f"[ctc_loss] expected {what}_lengths up to {most}: got {lengths.tolist()}")
            used = torch.arange(targets.shape[-1]) < (target_lengths[:, None] if targets.ndim == 2 else target_lengths.sum())
            if ((targets < 0) | (targets >= x.shape[2]))[used].any():
                raise _core.IndexOutOfRange(f"[ctc_loss] label out of range: got {targets.tolist()} for {x.shape[2]} labels")
        return f.ctc_loss(x, targets, input_lengths, target_lengths, blank, "none", zero_infinity)


def of_rank(module: Any, name: str, axes: int) -> Any:
    return getattr(module, name.format(axes))


def scanned(function, x, dim, reverse, **options):
    if not reverse or not x.ndim:
        return function(x, dim, **options)
    return function(x.flip(dim), dim, **options).flip(dim)


def averaged(planes, kernel_size, *, stride, padding, ceil_mode, count_include_pad, divisor, adaptive):
    axes = len(kernel_size)
    if adaptive:
        return of_rank(f, "adaptive_avg_pool{}d", axes)(planes, kernel_size)
    if axes > 1:
        return of_rank(f, "avg_pool{}d", axes)(planes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor or None)
    options = (1, *kernel_size), (1, *stride), (0, *padding), ceil_mode, count_include_pad, divisor or None
    return f.avg_pool2d(planes.unsqueeze(-2), *options).squeeze(-2)
