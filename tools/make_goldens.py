"""Makes tests/golden/ops/*.npz: what PyTorch gives for the samples of the operations, values and gradients.

    python tools/make_goldens.py [--torch PYTHON] [op ...]

Run it where pyburn is installed. PYTHON is an interpreter that has torch, if this one has not; the tests need
neither. Without names all operations are done, and files of operations that no longer exist are removed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "ops"
sys.path.insert(0, str(ROOT / "python" / "pyburn" / "testing" / "conformance"))  # samples.py needs no pyburn

from samples import DTypeName, Input, Sample, samples_of, weights  # noqa: E402


def torch_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """For functions of PyTorch that take no numbers."""
    import torch

    return tuple(x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in (a, b))


def torch_grid_taps(grid: Any, extents: Any, mode: str, padding_mode: str, align_corners: bool) -> tuple[Any, Any]:
    """The elements around places, and how much they count; PyTorch has no name for it."""
    import itertools

    import torch

    taps = {"nearest": (0,), "bilinear": (0, 1), "bicubic": (-1, 0, 1, 2)}[mode]

    def inside(x: Any, n: int) -> Any:
        if padding_mode == "reflection":
            low, high = (0, n - 1) if align_corners else (-0.5, n - 0.5)
            turns, rest = ((x - low).abs() / (high - low)).floor(), (x - low).abs() % (high - low)
            x = torch.where(turns % 2 == 1, high - rest, rest + low)
        return x if padding_mode == "zeros" else x.clamp(0, n - 1)

    def shares(x: Any) -> list[Any]:
        near, far = (lambda d: (1.25 * d - 2.25) * d * d + 1), (lambda d: ((-0.75 * d + 3.75) * d - 6) * d + 3)
        return {1: [x.floor() * 0 + 1], 2: [1 - x, x], 4: [far(x + 1), near(x), near(1 - x), far(2 - x)]}[len(taps)]

    axes = []
    for n, g in zip(extents, grid.unbind(-1)[::-1]):
        at = (g + 1) * ((n - 1) / 2) if align_corners else ((g + 1) * n - 1) / 2
        at = at if mode == "bicubic" else inside(at, n)
        lower = at.round() if mode == "nearest" else at.floor()
        seen = [inside(lower + k, n) if mode == "bicubic" else lower + k for k in taps]
        axes.append([(e.detach(), w, n) for e, w in zip(seen, shares(at - lower.detach()))])
    places, weights = [], []
    for corner in itertools.product(*axes[::-1]):  # the first axis turns fastest
        place, weight, valid = torch.zeros_like(grid[..., 0]), 1, torch.ones_like(grid[..., 0], dtype=torch.bool)
        for element, share, n in corner[::-1]:
            place, weight, valid = place * n + element, weight * share, valid & (element >= 0) & (element < n)
        places.append(torch.where(valid, place, -1).long())
        weights.append(weight)
    return torch.stack(places, 1), torch.stack(weights, 1)


def torch_grid_sample(x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    """grid_sample in operations that PyTorch can differentiate twice."""
    import torch

    places, weights = torch_grid_taps(grid.flatten(1, -2), x.shape[2:], mode, padding_mode, align_corners)
    at = places.clamp(min=0).flatten(1)[:, None].expand(-1, x.shape[1], -1)
    seen = x.flatten(2).gather(2, at).unflatten(2, places.shape[1:])
    y = torch.einsum("nckm,nkm->ncm", torch.where(places[:, None] < 0, 0, seen), weights)
    return y.reshape(*x.shape[:2], *grid.shape[1:-1])


def torch_grid_sample_input(dy: Any, grid: Any, extents: Any, *how: Any) -> Any:
    import torch

    x = torch.zeros(*dy.shape[:2], *extents, dtype=dy.dtype, requires_grad=True)
    return torch.autograd.grad(torch_grid_sample(x, grid, *how), x, dy, create_graph=True)[0]


def torch_grid_sample_grid(dy: Any, x: Any, grid: Any, *how: Any) -> Any:
    import torch

    return torch.autograd.grad(torch_grid_sample(x, grid, *how), grid, dy, create_graph=True)[0]


def torch_ctc_loss(x: Any, y: Any, steps: Any, lengths: Any, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Any:
    """PyTorch's gradient has a term exp(x), which is none of the derivative and vanishes behind log_softmax; here it is taken away."""
    import torch

    loss = torch.nn.functional.ctc_loss(x, y, steps, lengths, blank, "none", zero_infinity)
    single = x.ndim == 2
    steps, lengths = torch.as_tensor(steps).reshape(-1), torch.as_tensor(lengths).reshape(-1)
    every = x.unsqueeze(1) if single else x
    counts = (torch.arange(len(x)).unsqueeze(1) < steps).unsqueeze(2) & (loss.reshape(-1) != 0).unsqueeze(1)
    more = torch.where(counts, every.exp(), 0).sum((0, 2)).reshape(loss.shape)
    loss = loss - (more - more.detach())
    if reduction == "mean":
        return (loss / lengths.clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss


def torch_dft(x: Any, dim: int = -2, inverse: bool = False, scale: float = 1.0) -> Any:
    import torch

    w, dim = x.float() if x.dtype == torch.bfloat16 else x, dim % x.ndim
    z = torch.complex(w[..., 0], w[..., 1])
    y = torch.fft.ifft(z, dim=dim, norm="forward") if inverse else torch.fft.fft(z, dim=dim)
    return (torch.view_as_real(y) * scale).to(x.dtype)


def torch_rdft(x: Any, dim: int = -1, scale: float = 1.0) -> Any:
    import torch

    y = torch.fft.rfft(x.float() if x.dtype == torch.float16 else x, dim=dim)
    return (torch.view_as_real(y) * scale).to(x.dtype)


def torch_irdft(x: Any, dim: int, n: int, scale: float = 1.0) -> Any:
    import torch

    w = x.float() if x.dtype == torch.bfloat16 else x
    z = torch.complex(w[..., 0], w[..., 1])
    return (torch.fft.irfft(z, n, dim % x.ndim, norm="forward") * scale).to(x.dtype)


def torch_nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
    import torchvision  # type: ignore[import-not-found]

    return torchvision.ops.nms(boxes, scores, iou_threshold)


def torch_roi_align(x: Any, boxes: Any, size: Any, *how: Any, **named: Any) -> Any:
    import torchvision

    return torchvision.ops.roi_align(x, boxes, size, *how, **named)


def torch_roi_align_input(dy: Any, boxes: Any, size: Any, *how: Any) -> Any:
    """With the matrix of roi_align, which is linear in the images: torchvision's own gradient cannot be differentiated."""
    import torch

    images, channels, height, width = size
    pixels = torch.eye(height * width, dtype=dy.dtype).reshape(1, -1, height, width).expand(images, -1, -1, -1)
    shares = dy[:, :, None] * torch_roi_align(pixels.contiguous(), boxes, dy.shape[2:], *how)[:, None]
    return dy.new_zeros(images, channels, height * width).index_add(0, boxes[:, 0].long(), shares.sum((3, 4))).reshape(*size)


HELPERS = (torch_pair, torch_ctc_loss, torch_grid_sample_input, torch_grid_sample_grid, torch_dft, torch_rdft, torch_irdft,
           torch_nms, torch_roi_align, torch_roi_align_input)  # fmt: skip


def as_torch(x: Input | DTypeName, made: list[tuple[Input, Any]]) -> Any:
    import torch

    if isinstance(x, DTypeName):
        return getattr(torch, x.name)
    y = torch.tensor(x.array).to(getattr(torch, x.dtype))
    made.append((x, y.requires_grad_(x.is_leaf)))
    for name, arguments in x.steps:
        y = y[arguments] if name == "slices" else getattr(y, name)(*arguments)
    return y


def as_numpy(y: Any) -> np.ndarray:
    import torch

    y = y.detach()
    return (y.float() if y.dtype == torch.bfloat16 else y).contiguous().numpy()


def golden(sample: Sample, function: Any) -> dict[str, Any]:
    """value and dtype, value1 and dtype1, ... of further results; grad0, grad1, ... of the inputs before their views; after0, ... of
    inputs that were written."""
    import torch

    made: list[tuple[Input, Any]] = []
    arguments, keywords = sample.map(lambda x: as_torch(x, made))
    y = function(*arguments, **keywords)
    results = [y] if isinstance(y, torch.Tensor) else list(y) if isinstance(y, (tuple, list)) else []
    result: dict[str, Any] = {} if results else {"value": np.array(y)}
    for k, r in enumerate(results):
        result |= {f"value{k or ''}": as_numpy(r), f"dtype{k or ''}": str(r.dtype).removeprefix("torch.")}
    result |= {f"after{i}": as_numpy(t) for i, (x, t) in enumerate(made) if not np.array_equal(as_numpy(t), x.array)}
    results = [r for r in results if r.requires_grad]
    if results and made:
        leaves = {i: t for i, (x, t) in enumerate(made) if x.is_leaf}
        uses = [f"result{k}" if k else "first" for k in range(len(results))]
        entering = [torch.tensor(weights(sample, tuple(r.shape), use)).to(r.dtype) for r, use in zip(results, uses)]
        gradients = torch.autograd.grad(results, list(leaves.values()), entering, allow_unused=True)
        result |= {f"grad{i}": as_numpy(g) for i, g in zip(leaves, gradients) if g is not None}
    return result


def make(rows: list[dict[str, Any]]) -> None:
    import torch

    torch.set_num_threads(1)
    refused = []
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for row in rows:
        samples = [s for s in samples_of(row) if not s.error]
        names = {"torch": torch} | {f.__name__: f for f in HELPERS}
        function = eval(row["torch"] or f"torch.{row['name'].split('.')[0]}", names)
        arrays: dict[str, Any] = {"lines": np.array([s.line for s in samples])}
        for i, sample in enumerate(samples):
            try:
                arrays |= {f"{i}.{key}": value for key, value in golden(sample, function).items()}
            except Exception as error:
                refused.append(f"{row['name']}({sample.line}): {error}")
        np.savez_compressed(GOLDEN / f"{row['name']}.npz", **arrays)
    if refused:
        raise SystemExit("PyTorch refuses\n" + "\n".join(refused))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--from-stdin", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.from_stdin:
        return make(json.load(sys.stdin))
    from pyburn._core import _op_table

    rows = [row for row in _op_table() if row["samples"]]
    if not options.ops:
        for stale in {p.stem for p in GOLDEN.glob("*.npz")} - {row["name"] for row in rows}:
            (GOLDEN / f"{stale}.npz").unlink()
    chosen = [row for row in rows if not options.ops or row["name"] in options.ops]
    raise SystemExit(subprocess.run([options.torch, __file__, "--from-stdin"], input=json.dumps(chosen), text=True).returncode)


if __name__ == "__main__":
    main()
