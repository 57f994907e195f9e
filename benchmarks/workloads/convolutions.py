"""Convolutions: every shape of ResNet-18 and MobileNet, forward and both gradients, and those over lines and volumes."""

from __future__ import annotations

from typing import Any

from .workload import Call, Make, add, gradient_of, with_jax, with_onnx

RESNET18 = (  # channels in, out, size, kernel, stride
    ("conv1", 3, 64, 224, 7, 2),
    ("layer1", 64, 64, 56, 3, 1),
    ("layer2 first", 64, 128, 56, 3, 2),
    ("layer2 shortcut", 64, 128, 56, 1, 2),
    ("layer2", 128, 128, 28, 3, 1),
    ("layer3 first", 128, 256, 28, 3, 2),
    ("layer3 shortcut", 128, 256, 28, 1, 2),
    ("layer3", 256, 256, 14, 3, 1),
    ("layer4 first", 256, 512, 14, 3, 2),
    ("layer4 shortcut", 256, 512, 14, 1, 2),
    ("layer4", 512, 512, 7, 3, 1),
)
MOBILENET = (  # channels, size, stride of the depthwise; then the pointwise to
    (32, 112, 1, 64), (64, 112, 2, 128), (128, 56, 1, 128), (128, 56, 2, 256), (256, 28, 1, 256), (256, 28, 2, 512), (512, 14, 1, 512),
    (512, 14, 2, 1024), (1024, 7, 1, 1024),
)  # fmt: skip
PASSES = ("forward", "input", "weight")


def conv(rank: int, batch: int, c: int, o: int, size: int, k: int, s: int, groups: int = 1, what: str = "forward") -> Make:
    def make(x: Any) -> Call:
        a = x.randn(batch, c, *(size,) * rank)
        w = x.randn(o, c // groups, *(k,) * rank) * 0.1
        if getattr(x, "layout", "plain") == "channels last" and rank == 2:
            a, w = a.contiguous(memory_format=x.channels_last), w.contiguous(memory_format=x.channels_last)
        f = getattr(x.nn.functional, f"conv{rank}d")
        if what == "forward":
            return lambda: f(a, w, None, s, k // 2, 1, groups)
        (a if what == "input" else w).requires_grad_()
        return gradient_of(x, f(a, w, None, s, k // 2, 1, groups), [a if what == "input" else w])

    return make


def convolution(group: str, name: str, rank: int, batch: int, c: int, o: int, size: int, k: int, s: int, groups: int = 1,
                what: str = "forward", memory: bool = False, **options: Any) -> None:  # fmt: skip
    """`memory`: the limit is that of reading the input and writing the output, not that of the arithmetic."""
    out = (size + 2 * (k // 2) - k) // s + 1
    elements_in, elements_out = batch * c * size**rank, batch * o * out**rank
    shapes = ((batch, c, *(size,) * rank), (o, c // groups, *(k,) * rank))

    def jax(x: Any, a: Any, w: Any) -> Any:
        return x.jax.lax.conv_general_dilated(a, w, (s,) * rank, [(k // 2, k // 2)] * rank, feature_group_count=groups)

    limit = {"reads": 4.0 * elements_in, "writes": 4.0 * elements_out} if memory else {"flops": 2.0 * elements_out * c // groups * k**rank}
    if what == "forward":
        text = f"y = Conv <group={groups}, pads={[k // 2] * 2 * rank}, strides={[s] * rank}> (a, b)"
        options |= {"jax": with_jax(jax, *shapes), "onnx": with_onnx(text, *shapes)}
    layouts = ("plain", "channels last") if rank == 2 else ("plain",)
    add(group, name, conv(rank, batch, c, o, size, k, s, groups, what), **limit, layouts=layouts, **options)


for batch in (1, 8):
    for name, *shape in RESNET18:
        for what in PASSES:
            if what == "input" and name == "conv1":
                continue
            full = f"ResNet-18 {name} {shape[3]}×{shape[3]} {shape[0]}→{shape[1]}, batch {batch}, {what}"
            quick = batch == 8 and name in ("conv1", "layer1", "layer2", "layer3", "layer2 first") and what in ("forward", "weight")
            convolution("conv2d", full, 2, batch, *shape, what=what, quick=quick)
for c, size, s, o in MOBILENET:
    for what in PASSES:
        quick = c == 128 and s == 1 and what == "forward"
        name = f"MobileNet {c}@{size} stride {s}, batch 8, {what}"
        convolution("depthwise", name, 2, 8, c, c, size, 3, s, groups=c, what=what, memory=True, quick=quick)
    for what in PASSES:
        convolution("conv2d", f"MobileNet pointwise {c}→{o}@{size // s}, batch 8, {what}", 2, 8, c, o, size // s, 1, 1, what=what)
for what in PASSES:
    convolution("conv2d", f"MobileNet first 3×3 3→32@224, batch 8, {what}", 2, 8, 3, 32, 224, 3, 2, what=what)
    quick = what == "forward"
    convolution("conv1d", f"64→64, 1024 samples, kernel 7, batch 8, {what}", 1, 8, 64, 64, 1024, 7, 1, what=what, quick=quick)
    convolution("conv3d", f"32→32, 24³, kernel 3, batch 2, {what}", 3, 2, 32, 32, 24, 3, 1, what=what, quick=quick)
