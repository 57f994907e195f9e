"""Runs nodes of ONNX's backend suite with hostile attributes and inputs: results or errors of pyburn, never a crash or a hang.

python tests/fuzz/onnx_nodes.py --runs 20000 --seed 1    (needs the onnx package; memory is limited to 2 GB)

The case that runs is written to onnx_nodes_last.onnx and .npz first, so that a crash can be repeated with --repeat.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("PYBURN_MEMORY_LIMIT", "2G")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))
import numpy as np
import onnx
import suite

LAST = Path("onnx_nodes_last")
NUMBERS = [0, 1, -1, 2, -2, 3, 7, 64, 255, 1 << 20, -(1 << 20), (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63)]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, -1e30, float("inf"), float("-inf"), float("nan")]
ERRORS = (RuntimeError, ValueError, TypeError, IndexError, KeyError, MemoryError, OverflowError, ArithmeticError, NotImplementedError)
SECONDS = 20


class Hang(BaseException):
    """A node ran for too long."""


def changed_attribute(rng: random.Random, attribute: Any) -> None:
    kind = onnx.AttributeProto
    if attribute.type == kind.INT:
        attribute.i = rng.choice(NUMBERS)
    elif attribute.type == kind.FLOAT:
        attribute.f = rng.choice(REALS)
    elif attribute.type == kind.STRING:
        attribute.s = rng.choice([b"", b"NONE", b"constant", b"\xff\x00", attribute.s[:-1], attribute.s + b"x"])
    elif attribute.type in (kind.INTS, kind.FLOATS, kind.STRINGS):
        values = {kind.INTS: attribute.ints, kind.FLOATS: attribute.floats, kind.STRINGS: attribute.strings}[attribute.type]
        fresh = {kind.INTS: NUMBERS, kind.FLOATS: REALS, kind.STRINGS: [b"", b"LEAF", b"a"]}[attribute.type]
        place = rng.randrange(len(values) + 1)
        if place == len(values) or rng.random() < 0.2:
            values.append(rng.choice(fresh))
        elif rng.random() < 0.3:
            del values[place]
        else:
            values[place] = rng.choice(fresh)


def changed_input(rng: random.Random, array: Any) -> Any:
    if isinstance(array, list):
        return [changed_input(rng, item) for item in array[: rng.randrange(len(array) + 1)]]
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufb":
        return array
    how = rng.randrange(6)
    if how == 0:
        return array[..., None] if rng.random() < 0.5 else array.reshape(-1)
    if how == 1 and array.ndim:
        return array[: rng.randrange(array.shape[0] + 1)]
    if how == 2 and array.ndim:
        return np.concatenate([array, array], rng.randrange(array.ndim))
    array = array.copy()
    if array.size and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        array.flat[rng.randrange(array.size)] = max(limits.min, min(limits.max, rng.choice(NUMBERS)))
    elif array.size and array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.array(rng.choice(REALS)).astype(array.dtype)
    return array


def hostile(rng: random.Random, model: Any, inputs: list[Any]) -> tuple[Any, list[Any]]:
    """The model and its inputs, changed in one to three places."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    inputs = list(inputs)
    attributes = [a for node in made.graph.node for a in node.attribute]
    for _ in range(rng.randint(1, 3)):
        if attributes and rng.random() < 0.6:
            changed_attribute(rng, rng.choice(attributes))
        elif inputs:
            place = rng.randrange(len(inputs))
            inputs[place] = changed_input(rng, inputs[place])
    return made, inputs


def outcome(model: Any, inputs: list[Any]) -> str:
    """Runs a model with a time limit: "returned", "refused", or what is wrong."""
    from pyburn.onnx import backend

    def too_long(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    try:
        backend.prepare(model).run(inputs)
    except Hang:
        return "hang"
    except ERRORS as error:
        return "refused" if str(error) or isinstance(error, MemoryError) else f"no message: {type(error).__name__}"
    finally:
        signal.alarm(0)
    return "returned"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of cases that contain this text")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="files of the folder, too, with their inputs in .npz files")
    parser.add_argument("--repeat", action="store_true", help="run the last case again")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.repeat:
        arrays = np.load(LAST.with_suffix(".npz"), allow_pickle=True)["inputs"].tolist()
        print(outcome(onnx.load(LAST.with_suffix(".onnx")), arrays))
        return 0
    rng = random.Random(options.seed)
    seeds = []
    for name, case in sorted(suite.cases().items()):
        if options.only in name and case.model_dir is None and len(case.model.SerializeToString()) < 20000:
            for inputs, _ in suite._data_sets(case, case.model):
                seeds.append((name, case.model, inputs))
    for path in sorted(options.models.glob("*.npz")) if options.models else []:
        arrays = np.load(path)
        seeds.append((path.stem, onnx.load(path.with_suffix(".onnx")), [arrays[name] for name in arrays.files]))
    counts: Counter[str] = Counter()
    for _ in range(options.runs):
        name, model, inputs = rng.choice(seeds)
        model, inputs = hostile(rng, model, inputs)
        LAST.with_suffix(".onnx").write_bytes(model.SerializeToString())
        packed = np.empty(len(inputs), object)
        packed[:] = inputs
        np.savez(LAST.with_suffix(".npz"), inputs=packed)
        said = outcome(model, inputs)
        counts[said if said in ("returned", "refused") else "found"] += 1
        if said not in ("returned", "refused"):
            print(f"{name}: {said}", flush=True)
            for suffix in (".onnx", ".npz"):
                LAST.with_suffix(suffix).rename(f"onnx_nodes_found_{counts['found']}{suffix}")
    print(f"onnx_nodes: {options.runs} runs, {counts['returned']} returned, {counts['refused']} refused, {counts['found']} found")
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
