"""pyburn bench: a few measurements of this machine, in seconds."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from .main import CommandError


def median_seconds(work: Callable[[], Any], seconds: float, finish: Callable[[], Any]) -> float:
    """Returns the median time of a call within a time budget; short calls are timed in groups."""
    work()
    finish()
    start = time.perf_counter()
    work()
    finish()
    once = max(time.perf_counter() - start, 1e-7)
    group = max(1, int(2e-3 / once))
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        for _ in range(group):
            work()
        finish()
        times.append((time.perf_counter() - start) / group)
    return statistics.median(times)


def measurements(device: Any, seconds: float) -> list[dict[str, Any]]:
    """Returns rows with name, microseconds and, for arithmetic-bound operations, GFLOP/s."""
    import pyburn
    from pyburn import nn, optim
    from pyburn.nn import functional as F

    rows: list[dict[str, Any]] = []

    def measure(name: str, work: Callable[[], Any], flops: float = 0.0) -> None:
        took = median_seconds(work, seconds, device.synchronize)
        rows.append({"name": name, "microseconds": took * 1e6, "gflops": flops / took / 1e9 if flops else None})

    with pyburn.no_grad():
        small = pyburn.rand(8, 8)
        measure("add 8x8", lambda: small + small)
        large = pyburn.rand(1024, 1024)
        measure("add 1024x1024", lambda: large + large)
        for n in (256, 1024):
            a, b = pyburn.rand(n, n), pyburn.rand(n, n)
            measure(f"matmul {n}x{n}", lambda a=a, b=b: a @ b, 2.0 * n**3)  # type: ignore[misc]
        image, weight = pyburn.rand(8, 64, 56, 56), pyburn.rand(64, 64, 3, 3)
        measure("conv2d 8x64x56x56, 3x3", lambda: F.conv2d(image, weight, padding=1), 2.0 * 8 * 64 * 64 * 9 * 56 * 56)
        measure("softmax 1024x1024", lambda: F.softmax(large, dim=1))
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 13 * 13, 10))
    optimizer = optim.Adam(model.parameters())
    x, y = pyburn.rand(64, 1, 28, 28), pyburn.randint(0, 10, (64,))

    def train() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    measure("training step, small CNN, batch 64", train)
    return rows


def run(options: argparse.Namespace) -> int:
    import pyburn

    if not 0 < options.seconds <= 60:
        raise CommandError(f"--seconds must be between 0 and 60: got {options.seconds}")
    if options.threads is not None:
        if options.threads < 1:
            raise CommandError(f"--threads must be positive: got {options.threads}")
        pyburn.set_num_threads(options.threads)
    try:
        if options.device is not None:
            pyburn.set_default_device(options.device)
        device = pyburn.get_default_device()
        rows = measurements(device, options.seconds)
    except (ValueError, RuntimeError) as error:
        raise CommandError(str(error)) from error
    if options.json:
        print(json.dumps({"device": str(device), "threads": pyburn.get_num_threads(), "measurements": rows}, indent=2))
        return 0
    print(f"{device}, {pyburn.get_num_threads()} threads; medians\n")
    for row in rows:
        took = row["microseconds"]
        text = f"{took:.2f} us" if took < 1000 else f"{took / 1000:.2f} ms"
        speed = f"{row['gflops']:9.1f} GFLOP/s" if row["gflops"] else ""
        print(f"{row['name']:36} {text:>12} {speed}")
    return 0
