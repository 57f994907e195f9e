"""Makes tests/golden/layers: what PyTorch's layers print, keep and compute for the cases of tests/layers, and their signatures.

    python tools/make_layer_goldens.py [--torch PYTHON] [family ...]

PYTHON is an interpreter that has torch, if this one has not; the tests need neither. Without names all families are done.
"""

from __future__ import annotations

import argparse
import inspect
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "layers"))

from layer_cases import GOLDEN, Case, Maker, cases_of, described, families, made, run, trajectory


def record(case: Case) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a case prints and keeps, and its arrays."""
    import torch

    maker = Maker(torch, case.line)
    try:
        layer = made(case, torch, maker)
        about = {} if case.torch else described(layer)
        arrays = run(case, torch, layer, maker) if case.inputs else {}
        if case.inputs and not case.error and len(steps := trajectory(case, torch, layer, maker)):
            arrays["steps"] = steps
    except Exception as error:
        if not case.error:
            raise SystemExit(f"PyTorch refuses {case.line}: {error}") from error
        return {"error": type(error).__name__, "message": str(error)}, {}
    if case.error:
        raise SystemExit(f"PyTorch does not refuse {case.line}")
    return about, arrays


def default_text(value: Any) -> str:
    return "" if value is inspect.Parameter.empty else getattr(value, "__name__", repr(value))


def signature(cls: type) -> list[list[str]] | None:
    """Names, kinds and defaults of a constructor; None where it takes anything."""
    parameters = inspect.signature(cls).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return [[p.name, p.kind.name, default_text(p.default)] for p in parameters]


def make(chosen: list[str]) -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    GOLDEN.mkdir(parents=True, exist_ok=True)
    classes = {n: c for n, c in vars(torch.nn).items() if isinstance(c, type) and issubclass(c, torch.nn.Module)}
    text = json.dumps({name: signature(c) for name, c in sorted(classes.items())}, indent=0)
    (GOLDEN / "signatures.json").write_text(text + "\n")
    for family in chosen:
        about: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for i, case in enumerate(cases_of(family)):
            about[case.line], found = record(case)
            arrays |= {f"{i} {key}": value for key, value in found.items()}
        np.savez_compressed(GOLDEN / f"{family}.npz", about=np.array(json.dumps(about)), **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--torch", metavar="PYTHON")
    options = parser.parse_args()
    if options.torch:
        raise SystemExit(subprocess.run([options.torch, __file__, *options.families]).returncode)
    make(options.families or families())


if __name__ == "__main__":
    main()
