"""What training asks of a GPU: kernels, batches, compiled shaders and bytes per step, before and after fusion.

    python benchmarks/wgpu.py

Counts do not depend on the adapter, so they mean the same on lavapipe as on a GPU; times of an adapter in software say nothing about GPUs.
The time to a first result is measured in new processes: with an empty shader cache of the driver (Mesa's), with a filled one, and again in
the same process. Products are compared with what their tiles need: each element of the left matrix once per tile of columns, each of the
right one once per tile of rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.backend import gpu

STEPS = 12
TILES = ((32, 64), (16, 32), (0, 16))  # a side of more than ... rows or columns has tiles of ...
PRODUCTS = [(256, 256, 256), (512, 128, 64), (100, 70, 50), (1024, 64, 48)]


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        layers = [nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.0, batch_first=True) for _ in range(2)]
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(32, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.blocks(self.embed(tokens)).mean(1))


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))


def convolutions() -> nn.Module:
    first = (nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*first, nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "MLP": (perceptron, lambda: pyburn.randn(32, 20)),
    "CNN": (convolutions, lambda: pyburn.randn(16, 1, 12, 12)),
    "transformer": (Transformer, lambda: pyburn.randint(0, 50, (16, 12))),
}


def train(name: str, device: str, steps: int) -> list[gpu.Counters]:
    """Trains without reading a value; returns the counters before and after each step."""
    pyburn.manual_seed(0)
    make, data = MODELS[name]
    model, x, target = make().to(device), data().to(device), pyburn.randint(0, 5, (16 if name != "MLP" else 32,)).to(device)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    counted = [gpu.counters(device)]
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()
        counted.append(gpu.counters(device))
    return counted


def report_steps() -> None:
    print(f"Per step, mean of steps 3 to {STEPS}; shaders: compiled in steps 1, 2, and later")
    print("| model | device | kernels | batches | shaders | on the CPU | bytes up | bytes down |\n|---|---|---|---|---|---|---|---|")
    for name in MODELS:
        for device in ("wgpu", "fusion(wgpu)"):
            counted = train(name, device, STEPS)
            last, settled = counted[-1], counted[2]
            mean = [(b - a) / (STEPS - 2) for a, b in zip(settled, last, strict=True)]
            row = dict(zip(gpu.Counters._fields, mean, strict=True))
            shaders = [counted[k + 1].pipelines - counted[k].pipelines for k in (0, 1)] + [last.pipelines - settled.pipelines]
            print(
                f"| {name} | {device} | {row['dispatches']:.1f} | {row['submissions']:.2f} | {', '.join(map(str, shaders))} "
                f"| {row['host_calls']:.1f} | {row['uploaded']:.0f} | {row['downloaded']:.0f} |"
            )


# Loaded by path: `wgpu` is also the name of the package that carries the library.
FIRST = """
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("benchmark", sys.argv[1])
benchmark = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)
times = []
for _ in range(2):
    start = time.perf_counter()
    benchmark.train("MLP", "fusion(wgpu)", 1)
    benchmark.pyburn.device("fusion(wgpu)").synchronize()
    times.append(time.perf_counter() - start)
print(json.dumps(times))
"""


def report_first_result() -> None:
    print("\nTime to the first step of the MLP on fusion(wgpu), with opening the device; and of a second model in the same process")
    print("| cache of the driver | first | again |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "filled"):
            environment = {**os.environ, "MESA_SHADER_CACHE_DIR": cache, "__GL_SHADER_DISK_CACHE_PATH": cache}
            done = subprocess.run([sys.executable, "-c", FIRST, __file__], check=True, env=environment, stdout=subprocess.PIPE, text=True)
            first, again = json.loads(done.stdout)
            print(f"| {state} | {first * 1e3:.0f} ms | {again * 1e3:.0f} ms |")


def tiles(extent: int) -> int:
    return next(math.ceil(extent / size) for above, size in TILES if extent > above)


def product_reads(m: int, n: int, k: int) -> tuple[int, int]:
    """The elements that a product reads, and those that its tiles need."""
    a, b = pyburn.randn(m, k).to("wgpu"), pyburn.randn(k, n).to("wgpu")
    before = gpu.counters("wgpu").reads
    a @ b
    return gpu.counters("wgpu").reads - before, tiles(n) * m * k + tiles(m) * k * n


def report_products() -> None:
    print("\nElements that products read (float32)")
    print("| m × n × k | read | ceil(n / tile) · left + ceil(m / tile) · right | ratio |\n|---|---|---|---|")
    for m, n, k in PRODUCTS:
        read, needed = product_reads(m, n, k)
        print(f"| {m} × {n} × {k} | {read:,} | {needed:,} | {read / needed:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["steps", "first", "products"], help="only this part")
    options = parser.parse_args()
    if options.part == "products":
        return report_products()
    print(f"Adapter: {gpu.adapters()[0].name}\n")
    if options.part in (None, "steps"):
        report_steps()
    if options.part in (None, "first"):
        report_first_result()
    if options.part is None:  # counting changes the kernels: in a process of its own
        sys.stdout.flush()
        command = [sys.executable, __file__, "--part", "products"]
        subprocess.run(command, check=True, env={**os.environ, "PYBURN_WGPU_COUNT_READS": "1"})
    return None


if __name__ == "__main__":
    main()
