"""Measures training steps: pyburn compiled, pyburn as it is, and peers, in one run.

    python benchmarks/training_steps.py                                     all models, 1 and 2 threads
    python benchmarks/training_steps.py --only MLP,LSTM --threads 1 --rounds 9
    python benchmarks/training_steps.py --peers torch,torch.compile,jax     several peers (.venv-peers, or PYBURN_PEERS=folder)

Each side runs in a process of its own, on the same cores, and blocks between its turns; the turns alternate, and medians are compared.
Peak memory is that of the process during the first steps, without what it took before the model was made.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from child import Timed  # noqa: E402
from machine import describe  # noqa: E402
from training_models import TRAININGS, Training  # noqa: E402

BY_NAME = {t.name: t for t in TRAININGS}
OPTIMIZERS = {"Adam": {"lr": 1e-4}, "AdamW": {"lr": 1e-4}, "SGD": {"lr": 1e-3, "momentum": 0.9}}


def resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


class Frame:
    """A framework with PyTorch's names."""

    def __init__(self, side: str) -> None:
        self.compiles = side in ("compiled", "torch.compile")
        if side.startswith("torch"):
            import torch
            import torchvision

            self.torch, self.vision = torch, torchvision.models
        else:
            import p_vision
            import pyburn

            self.torch, self.vision = pyburn, p_vision.models

    def prepare(self, name: str, threads: int) -> Any:
        torch, training = self.torch, BY_NAME[name]
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        gc.collect()
        forget_peak()
        before = resident("VmRSS")
        model = training.make(torch, self.vision).train()
        inputs = training.inputs(torch)
        target = torch.randint(0, training.classes, training.rows)
        optimizer = getattr(torch.optim, training.optimizer)(model.parameters(), **OPTIMIZERS[training.optimizer])
        loss_of = torch.nn.functional.cross_entropy

        def step(*batch: Any) -> Any:
            optimizer.zero_grad()
            output = model(*batch[:-1])
            if output.dim() == 3:
                output = output.transpose(1, 2)
            loss = loss_of(output, batch[-1])
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if self.compiles else step
        losses = [float(run(*inputs, target)) for _ in range(6)]
        if self.compiles and torch.__name__ == "pyburn" and not run.runs:
            raise RuntimeError(run.explain())
        return {"losses": losses, "memory": resident("VmHWM") - before}, lambda: run(*inputs, target)


def serve(side: str) -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not disturb the answers
    frame, timed = Frame(side), None
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer: Any = None
        try:
            if command == "prepare":
                answer, call = frame.prepare(*arguments)
                timed = Timed(call)
            elif command == "turn":
                assert timed is not None
                answer = timed.turn(*arguments)
            else:
                timed = call = None
                gc.collect()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


class Side:
    """A process that measures one framework when asked."""

    def __init__(self, python: str, name: str, cores: int) -> None:
        allowed = sorted(os.sched_getaffinity(0))[-cores:]
        self.process = subprocess.Popen(
            [python, __file__, "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("DEBUG") else subprocess.DEVNULL,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        )

    def ask(self, *command: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process ended"}
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def python_of(side: str) -> str:
    peers = os.environ.get("PYBURN_PEERS", str(HERE.parent / ".venv-peers"))
    return f"{peers}/bin/python" if side.startswith("torch") else sys.executable


def measure(training: Training, sides: dict[str, Side], threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and memory by side; sides that fail are left out, with their reason printed."""
    facts: dict[str, Any] = {}
    for name, side in sides.items():
        try:
            facts[name] = side.ask("prepare", training.name, threads)
        except RuntimeError as error:
            print(f"  {name}: {error}", file=sys.stderr)
    if {"pyburn", "compiled"} <= facts.keys() and facts["pyburn"]["losses"] != facts["compiled"]["losses"]:
        print(f"  {training.name}: the losses differ: {facts['pyburn']['losses']}, {facts['compiled']['losses']}", file=sys.stderr)
    turns: dict[str, list[float]] = {name: [] for name in facts}
    for _ in range(options.rounds):
        for name in facts:
            turns[name].append(sides[name].ask("turn", options.seconds)[0])
    for name in facts:
        facts[name]["seconds"] = statistics.median(turns[name])
        sides[name].ask("forget")
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="models, divided by commas")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default="torch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--serve", default="")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    chosen = [t for t in TRAININGS if not options.only or t.name in options.only.split(",")]
    peers = [p for p in options.peers.split(",") if p]
    print(describe())
    for threads in map(int, options.threads.split(",")):
        compare(chosen, peers, threads, options)


def compare(chosen: list[Training], peers: list[str], threads: int, options: argparse.Namespace) -> None:
    """Prints the table for one number of threads."""
    print(f"\n{threads} thread{'s' * (threads > 1)}; times in ms, ratios of times, memory in MB (compiled/pyburn/peers)")
    print(f"{'model':14}{'compiled':>10}{'pyburn':>10}{''.join(f'{p:>14}' for p in peers)}{'/pyburn':>9}{'/best peer':>11}  memory")
    ratios: dict[str, list[float]] = {"pyburn as it is": [], "the best peer": []}
    for training in chosen:
        sides = {name: Side(python_of(name), name, threads) for name in ("compiled", "pyburn", *peers)}
        facts = measure(training, sides, threads, options)
        for side in sides.values():
            side.close()
        time_of = {name: f["seconds"] * 1e3 for name, f in facts.items()}
        compiled, own = time_of.get("compiled", math.nan), time_of.get("pyburn", math.nan)
        best = min((time_of[p] for p in peers if p in time_of), default=math.nan)
        for values, other in zip(ratios.values(), (own, best)):
            values.append(compiled / other)
        memory = "/".join(f"{facts[n]['memory'] / 2**20:.0f}" if n in facts else "-" for n in sides)
        columns = "".join(f"{time_of.get(p, math.nan):14.3f}" for p in peers)
        print(f"{training.name:14}{compiled:10.3f}{own:10.3f}{columns}{compiled / own:9.2f}{compiled / best:11.2f}  {memory}", flush=True)
    for other, values in ratios.items():
        known = [math.log(r) for r in values if not math.isnan(r)]
        if known:
            print(f"geometric mean: {math.exp(statistics.fmean(known)):.2f} of {other}")


if __name__ == "__main__":
    main()
