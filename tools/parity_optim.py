"""Writes docs/parity/optim.md: which names of PyTorch and Burn for optimisation there are here, and where.

    python tools/parity_optim.py [--check]

Run it where pyburn is installed. PyTorch's names come from the goldens (tools/make_optim_goldens.py), so that torch is not needed. With
--check nothing is written, and the result is compared with the file.
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pyburn

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "parity" / "optim.md"
GOLDEN = ROOT / "tests" / "golden" / "optim.json.gz"

# Why a name of PyTorch's is absent.
ABSENT = {
    "functional": "the steps of the core are operations: `ops/optimise.h`",
    "swap_in_optimizer_params_and_state": "`load_state_dict` and `param_groups` do it",
}
# Burn's name, what it is here, and a word about it.
BURN = [
    ("Sgd, WeightDecay, Momentum", "optim.SGD", "weight_decay, momentum, dampening, nesterov"),
    ("Adam", "optim.Adam", ""),
    ("AdamW, cautious_weight_decay", "optim.AdamW", "`cautious_weight_decay=True`"),
    ("AdaGrad", "optim.Adagrad", ""),
    ("RmsProp", "optim.RMSprop", ""),
    ("Adan", "optim.Adan", ""),
    ("Muon, AdjustLrFn", "optim.Muon", "`adjust_lr_fn`"),
    ("LBFGS, LineSearchFn", "optim.LBFGS", "`line_search_fn`"),
    ("GradientClipping::{Value, Norm}", "optim.GradientClipping", "`grad_clip=` of every optimiser"),
    ("ModuleOptimizer::with_group", "optim.Optimizer.add_param_group", ""),
    ("to_record, load_record", "optim.Optimizer.state_dict", "and load_state_dict"),
    ("GradientsParams, GradientsAccumulator", None, "`.grad` of the parameters, which backward adds to"),
    ("ConstantLr", "lr_scheduler.Schedule.constant", ""),
    ("LinearLrScheduler", "lr_scheduler.Schedule.linear", ""),
    ("CosineAnnealingLrScheduler", "lr_scheduler.Schedule.cosine", ""),
    ("ExponentialLrScheduler", "lr_scheduler.Schedule.exponential", ""),
    ("StepLrScheduler", "lr_scheduler.Schedule.step", ""),
    ("NoamLrScheduler", "lr_scheduler.NoamLR", "and Schedule.noam"),
    ("ComposedLrScheduler, SchedulerReduction::Prod", "lr_scheduler.Schedule.product", "and `a * b`"),
    ("SchedulerReduction::Sum", "lr_scheduler.Schedule.sum", "and `a + b`"),
    ("SchedulerReduction::Avg", "lr_scheduler.Schedule.average", ""),
    ("SequentialLrScheduler", "lr_scheduler.Schedule.sequential", ""),
    ("ModuleLrScheduler", "lr_scheduler.ScheduledLR", "a list has one schedule per group"),
]


def found(path: str) -> Any:
    """The object of that name in pyburn, or None."""
    value: Any = pyburn
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def arguments(value: Any) -> str:
    if not callable(value):  # a module
        return ""
    return ", ".join(name for name in inspect.signature(value).parameters if name not in ("params", "optimizer"))


def table(module: str, names: list[str]) -> list[str]:
    lines = ["| PyTorch | here | arguments |", "|---|---|---|"]
    for name in sorted(names, key=str.lower):
        value = found(f"{module}.{name}")
        if value is None and name not in ABSENT:
            sys.exit(f"{module}.{name} is neither here nor in ABSENT")
        lines.append(
            f"| `{name}` | " + (f"no: {ABSENT[name]} | |" if value is None else f"`pyburn.{module}.{name}` | {arguments(value)} |")
        )
    return lines


def page() -> str:
    names = json.loads(gzip.decompress(GOLDEN.read_bytes()))["names"]
    lines = ["# Optimisation: what PyTorch and Burn have, and where it is here", ""]
    lines += ["Written by `tools/parity_optim.py`. In C++ the optimisers are `pyburn::optim::SGD` and so on (`optim/optimizer.h`,"]
    lines += ["`optim/lbfgs.h`, `optim/sparse_adam.h`), the schedulers rules of `pyburn::optim::LRScheduler` (`optim/lr_scheduler.h`)."]
    for title, module, key in (
        ("Optimisers", "optim", "optim"),
        ("Schedulers", "optim.lr_scheduler", "lr_scheduler"),
        ("Averages", "optim.swa_utils", "swa_utils"),
        ("Mixed precision", "amp", "amp"),
    ):
        lines += ["", f"## {title}", "", *table(module, names[key])]
    mine = {"optim": names["optim"], "optim.lr_scheduler": names["lr_scheduler"]}
    lines += ["", "## Only here", ""]
    for module, theirs in mine.items():
        lines += [f"- `pyburn.{module}.{name}`" for name in found(module).__all__ if name not in theirs]
    lines += ["", "## Burn", "", "| Burn | here | |", "|---|---|---|"]
    for theirs_name, path, word in BURN:
        if path is not None and found(path) is None:
            sys.exit(f"{path} is not here")
        lines.append(f"| {theirs_name} | {f'`pyburn.{path}`' if path else 'no'} | {word} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: run tools/parity_optim.py")
        return
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
