"""relu(x @ w + b) as one kernel written in WGSL, with its gradient."""

from __future__ import annotations

import argparse

import pyburn
from pyburn import Tensor, nn
from pyburn.backend import WgslKernel

# A workgroup of 16 x 16 invocations computes a tile of 16 x 16 results: each reads one element of x and one of w, which all 16 share.
kernel = WgslKernel(
    name="linear_relu",
    inputs=["x", "w", "b"],
    workgroup_size=256,
    declarations="""
var<workgroup> x_tile: array<f32, 256>;
var<workgroup> w_tile: array<f32, 256>;
""",
    body="""
let r = lane / 16u;
let c = lane % 16u;
let row = group / p.tiles * 16u + r;
let column = group % p.tiles * 16u + c;
var sum = 0.0;
for (var k = 0u; k < p.depth; k += 16u) {
  x_tile[lane] = 0.0;
  w_tile[lane] = 0.0;
  if (row < p.rows && k + c < p.depth) { x_tile[lane] = x_get(row * p.depth + k + c); }
  if (k + r < p.depth && column < p.columns) { w_tile[lane] = w_get((k + r) * p.columns + column); }
  workgroupBarrier();
  for (var j = 0u; j < 16u; j++) { sum += x_tile[r * 16u + j] * w_tile[j * 16u + c]; }
  workgroupBarrier();
}
if (row < p.rows && column < p.columns) {
  y_set(row * p.columns + column, max(sum + b_get(column), 0.0));
}
""",
)


def on_gpu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    rows, depth, columns = *x.shape, w.shape[1]
    tiles = -(-columns // 16)
    return kernel(x, w, b, shape=(rows, columns), count=-(-rows // 16) * tiles, rows=rows, depth=depth, columns=columns, tiles=tiles)


def elsewhere(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Computes relu(x @ w + b)."""
    return (x @ w + b).relu()


def gradient(ctx: pyburn.operations.GradientContext, dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    dz = dy * (ctx.outputs[0] > 0)
    return dz @ ctx.w.T, ctx.x.T @ dz, dz.sum(0)


linear_relu = pyburn.register_op(
    "linear_relu(Tensor x, Tensor w, Tensor b) -> Tensor",
    kernel={"wgpu": on_gpu},
    decompose=elsewhere,  # on other devices, and what shapes and dtypes follow from
    grad=gradient,
    saves=("inputs", "outputs"),
)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(pyburn.randn(2, 64))
        self.b = nn.Parameter(pyburn.zeros(64))
        self.last = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(linear_relu(x, self.w, self.b))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="wgpu", help="the device; the kernel runs on wgpu and fusion(wgpu)")
    parser.add_argument("--steps", type=int, default=200, help="training steps")
    options = parser.parse_args()

    pyburn.manual_seed(0)
    x, w, b = (pyburn.randn(*shape).to(options.device).requires_grad_() for shape in [(100, 70), (70, 33), (33,)])
    ours, theirs = linear_relu(x, w, b), elsewhere(x, w, b)
    print(f"largest difference of values: {(ours - theirs).abs().max().item():.1e}")
    of_ours, of_theirs = (pyburn.autograd.grad((y * y).sum(), (x, w, b)) for y in (ours, theirs))
    largest = max((a - c).abs().max().item() / c.abs().max().item() for a, c in zip(of_ours, of_theirs, strict=True))
    print(f"largest relative difference of gradients: {largest:.1e}")

    model = Network().to(options.device)
    optimizer = pyburn.optim.Adam(model.parameters(), lr=0.01)
    points = pyburn.rand(256, 2).to(options.device) * 2 - 1
    wanted = (points * points).sum(1, keepdim=True)
    for step in range(options.steps):
        loss = nn.functional.mse_loss(model(points), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, options.steps - 1):
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
