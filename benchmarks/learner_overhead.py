"""What a step of Learner.fit costs, as a ratio to the same loop written by hand in pyburn, in the same run.

python benchmarks/learner_overhead.py [--steps 400] [--rounds 15]

A small MLP (20-64-64-10, batches of 32, Adam), the loss of the epoch and the accuracy. The variants take turns, so that a busy machine slows
all of them; medians are compared, of wall time and, for machines that others use too, of CPU time of the calling thread. The aim is a ratio of
at most 1.5, with the displays off or on.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import nn
from pyburn.train import Learner, ProgressBar, ProgressLines


def parts() -> tuple[Any, Any, Any]:
    """A model, its optimiser and its loss."""
    pyburn.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, pyburn.optim.Adam(model.parameters(), lr=1e-3), nn.CrossEntropyLoss()


def by_hand(batches: list[Any]) -> Callable[[], None]:
    """The loop as a user of PyTorch writes it: values are read once, at the end of the epoch."""
    model, optimizer, criterion = parts()

    def epoch() -> None:
        total, right, count = pyburn.zeros(()), pyburn.zeros((), dtype=pyburn.int64), 0
        for x, y in batches:
            output = model(x)
            loss = criterion(output, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(y)
            right += (output.argmax(1) == y).sum()
            count += len(y)
        total.item() / count, right.item() / count  # noqa: B018  (what a user prints)

    return epoch


def by_learner(batches: list[Any], display: Any) -> Callable[[], None]:
    """One epoch of Learner.fit."""
    model, optimizer, criterion = parts()
    learner = Learner(model, optimizer, loss=criterion, metrics=["accuracy"])
    return lambda: learner.fit(batches, epochs=1, display=display) and None


def main() -> None:
    parser = argparse.ArgumentParser(description="Times a step of Learner.fit against a loop written by hand.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    x, y = pyburn.randn(32, 20), pyburn.randint(0, 10, (32,))
    batches = [(x, y)] * options.steps
    for threads in (1, 2):
        pyburn.set_num_threads(threads)
        variants = {
            "by hand": by_hand(batches),
            "Learner, display off": by_learner(batches, None),
            "Learner, lines": by_learner(batches, ProgressLines(io.StringIO())),
            "Learner, bar": by_learner(batches, ProgressBar(io.StringIO())),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
        for _ in range(options.rounds + 1):
            for name, epoch in variants.items():
                begin = time.perf_counter(), time.thread_time()
                epoch()
                end = time.perf_counter(), time.thread_time()
                times[name].append(tuple((b - a) / options.steps * 1e6 for a, b in zip(begin, end)))  # type: ignore[arg-type]
        for name, found in times.items():
            rows = list(zip(found, times["by hand"]))[1:]  # the first one warms up
            wall, cpu = (statistics.median(mine[i] / hand[i] for mine, hand in rows) for i in (0, 1))
            us = statistics.median(mine[0] for mine, _ in rows)
            print(f"{threads} threads  {name:21} {us:7.1f} us per step  ratio {wall:.2f}, of CPU time {cpu:.2f}")


if __name__ == "__main__":
    main()
