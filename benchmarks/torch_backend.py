"""What the torch backend costs: operations of pyburn on the device "torch" against the same in plain PyTorch, in one process.

    PYTHONPATH=build/torch .venv-peers/bin/python benchmarks/torch_backend.py     # after `make test-torch`

Both take turns; the best of the turns is compared, in microseconds per call.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

import pyburn


def microseconds(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


def training_step(library, device: str) -> Callable[[], object]:
    nn = library.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    optimizer = library.optim.SGD(model.parameters(), lr=1e-3)
    x, y = library.randn(32, 64).to(device), library.arange(32).remainder(10).to(device)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def call_of(library, device: str, name: str) -> Callable[[], object]:
    def ones(*shape: int):
        return library.ones(*shape, device=device)

    if name == "MLP step (64-128-10, batch 32, SGD)":
        return training_step(library, device)
    size = {"a + b, 1 element": (1,), "a + b, 1000 x 1000": (1000, 1000), "a @ b, 1000 x 1000": (1000, 1000)}[name]
    a, b = ones(*size), ones(*size)
    return (lambda: a @ b) if "@" in name else (lambda: a + b)


# What is measured, and how often in one turn.
CASES = {"a + b, 1 element": 5000, "a + b, 1000 x 1000": 200, "a @ b, 1000 x 1000": 10, "MLP step (64-128-10, batch 32, SGD)": 50}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="a device of PyTorch")
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__} on {options.device}, {torch.get_num_threads()} threads; microseconds per call")
    print(f"{'':38}{'torch':>10}{'pyburn on torch':>18}{'more':>10}{'ratio':>8}")
    for name, count in CASES.items():
        calls = [call_of(torch, options.device, name), call_of(pyburn, f"torch:{options.device}", name)]
        best = [float("inf")] * 2
        for call in calls:
            microseconds(call, count)
        for _ in range(options.turns):
            for i, call in enumerate(calls):
                best[i] = min(best[i], microseconds(call, count))
        plain, ours = best
        print(f"{name:38}{plain:10.2f}{ours:18.2f}{ours - plain:10.2f}{ours / plain:8.2f}")


if __name__ == "__main__":
    main()
