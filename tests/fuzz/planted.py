"""Plants every bug of a kind that was mended, and runs the fuzzer of calls until it finds it.

    python tests/fuzz/planted.py                        all of them, each within 100,000 calls
    python tests/fuzz/planted.py --bug bincount         one
    python tests/fuzz/planted.py --sanitizer            also those that only UBSan sees (run by ASAN_PYTHON of the Makefile)

Exits with 1 if one is not found.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pyburn

CALLS = Path(__file__).with_name("calls")


class Bug(NamedTuple):
    fault: str  # of src/pyburn/support/fault.h
    call: str  # what the call that finds it contains
    sanitizer: bool = False  # the release build goes on with a number that happens to be right, or with an error


BUGS = {
    "as_strided": Bug("unchecked_view_bounds", r"as_strided"),
    "bincount": Bug("unchecked_sizes", r"bincount"),
    "repeat_interleave": Bug("unchecked_sizes", r"repeat_interleave"),
    "pad": Bug("unchecked_sizes", r"pad"),
    "histc": Bug("unchecked_sizes", r"histc"),
    "split": Bug("unchecked_sizes", r"split"),
    "tile": Bug("unchecked_sizes", r"tile|repeat\("),
    "combinations": Bug("unchecked_sizes", r"combinations"),
    "resize_axis_input": Bug("unchecked_sizes", r"resize_axis_input"),
    "rnn": Bug("unchecked_sizes", r"rnn|lstm|gru", sanitizer=True),
    "slice": Bug("rounded_up_slices", r"slice|\["),
    "matrix_power": Bug("negated_exponent", r"matrix_power", sanitizer=True),
    "narrow": Bug("unchecked_positions", r"narrow"),
    "triu": Bug("unchecked_positions", r"tri[ul]"),
    "index": Bug("unchecked_positions", r"_index(_put)?\("),
    "randint": Bug("rounded_bounds", r"randint"),
    "session": Bug("unchecked_casts", r"s\.run"),
}


def call_fuzzer():
    sys.path.insert(0, str(CALLS))
    spec = importlib.util.spec_from_file_location("calls_main", CALLS / "__main__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find(fuzzer, bugs: dict[str, Bug], options: argparse.Namespace) -> list[str]:
    """Runs calls until each of these bugs, which are planted, is found. The names of those that are not."""
    children, at, missing = fuzzer.Children(options), 0, dict(bugs)
    while missing and at < options.runs:
        with contextlib.redirect_stdout(io.StringIO()):
            at = children.run(at, min(at + options.batch, options.runs))
        for finding in children.findings:
            head, _, text = finding.partition("\n")
            for name in [name for name, bug in missing.items() if re.search(bug.call, text)]:
                print(f"{name}: found by call {int(head.split()[2]) + 1}\n    " + finding.replace("\n", "\n    "), flush=True)
                del missing[name]
        children.findings.clear()
    return list(missing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bug", choices=BUGS, action="append")
    parser.add_argument("--runs", type=int, default=100_000, help="the most calls for one bug")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitizer", action="store_true", help="this is the sanitizer build")
    parser.set_defaults(batch=500, seconds=3.0, patience=3.0, megabytes=4096, no_memory_limit=False)
    options = parser.parse_args()
    options.no_memory_limit = options.sanitizer
    fuzzer, missed = call_fuzzer(), []
    fuzzer.make_tables(options.seed)
    chosen = {name: bug for name, bug in BUGS.items() if not options.bug or name in options.bug}
    for name in [name for name, bug in chosen.items() if bug.sanitizer and not options.sanitizer]:
        print(f"{name}: left out, only the sanitizer build shows it")
        del chosen[name]
    for fault in dict.fromkeys(bug.fault for bug in chosen.values()):
        pyburn._core._plant_fault(fault)  # type: ignore[attr-defined]
        missed += find(fuzzer, {name: bug for name, bug in chosen.items() if bug.fault == fault}, options)
        pyburn._core._plant_fault("none")  # type: ignore[attr-defined]
    for name in missed:
        print(f"{name}: not found in {options.runs} calls")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
