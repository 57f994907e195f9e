"""Measures pyburn's sessions against ONNX Runtime on PyTorch's export of the same models with the same weights.

    python benchmarks/models/run.py                      all models, batch 1 and 8, 1 and 2 threads
    python benchmarks/models/run.py --only ResNet-18 --batch 1 --threads 2 --rounds 5

Both sides run in processes of their own and take turns; medians are compared. Results must agree before anything is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from machine import describe  # noqa: E402

from models.zoo import MODELS, OTHERS, Model  # noqa: E402


class Side:
    def __init__(self, python: str, name: str, threads: int = 0) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.process = subprocess.Popen(
            [python, str(HERE / "child.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("DEBUG") else subprocess.DEVNULL,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores[-threads:] if threads else cores),
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


def largest_difference(folder: Path) -> float:
    import numpy

    a, b = (numpy.load(folder / f"output_{side}.npy") for side in ("pyburn", "onnxruntime"))
    return float(numpy.abs(a - b).max() / max(1e-6, numpy.abs(b).max()))


def measure(model: Model, batch: int, threads: int, folder: Path, pythons: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    sides = {name: Side(python, name, threads) for name, python in pythons.items()}
    try:
        prepared = {name: side.ask("prepare", model.name, batch, str(folder), threads) for name, side in sides.items()}
        turns: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name, side in sides.items():
                turns[name].append(side.ask("turn", "", options.seconds)[0])
    finally:
        for side in sides.values():
            side.close()
    result = {name: {"run": statistics.median(turns[name])} | prepared[name] for name in sides}
    return result | {"difference": largest_difference(folder)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="a model; may be given several times")
    parser.add_argument("--others", action="store_true", help="models of the same kind that the aims do not name")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="of a turn")
    parser.add_argument("--peer-python", default=str(HERE.parent.parent / ".venv-peers/bin/python"))
    parser.add_argument("--json", type=Path, help="write all figures there")
    options = parser.parse_args()
    pythons = {"pyburn": sys.executable, "onnxruntime": options.peer_python}
    print(", ".join(f"{k} {v}" for k, v in describe().items()))
    print("model                batch threads  pyburn ms    ORT ms  ratio   load  first  load+first  memory  difference")
    lines, ratios = [], []
    for model in OTHERS if options.others else MODELS:
        if options.only and model.name not in options.only:
            continue
        for batch in options.batch:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                for side in ("onnxruntime", "pyburn"):  # PyTorch makes the weights
                    exporter = Side(pythons[side], side)
                    exporter.ask("export", model.name, batch, name)
                    exporter.close()
                for threads in options.threads:
                    figures = measure(model, batch, threads, folder, pythons, options)
                    ours, theirs = figures["pyburn"], figures["onnxruntime"]
                    for side in (ours, theirs):  # what a user waits for: where work is moved between the two does not matter
                        side["ready"] = side["load"] + side["first"]
                    ratio = {key: ours[key] / max(theirs[key], 1e-9) for key in ("run", "load", "first", "ready", "memory")}
                    ratios.append(ratio["run"])
                    lines.append({"model": model.name, "batch": batch, "threads": threads} | figures)
                    print(
                        f"{model.name:20} {batch:5} {threads:7} {ours['run'] * 1e3:10.3f} {theirs['run'] * 1e3:9.3f} {ratio['run']:6.2f}"
                        f" {ratio['load']:6.2f} {ratio['first']:6.2f} {ratio['ready']:11.2f} {ratio['memory']:7.2f}"
                        f" {figures['difference']:11.1e}",
                        flush=True,
                    )
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"geometric mean of {len(ratios)}: {mean:.2f}, worst {max(ratios):.2f}")
    if options.json:
        options.json.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
