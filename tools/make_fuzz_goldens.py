"""Records what PyTorch makes of programs of the aliasing fuzzer: tests/golden/fuzz.json.gz.

    python tools/make_fuzz_goldens.py --fuzzer build/release/tests/fuzz/aliasing_fuzzer

Run it with a Python that has torch. The programs and the results are committed; the tests need no torch.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pathlib
import subprocess
import sys

import torch

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/fuzz"))

from interpreter import Run  # type: ignore[import-not-found]  # noqa: E402

# Where pyburn does more than PyTorch (docs/coming-from/differences.md): an input that overlaps the target is copied instead of refused,
# and a view made under no_grad follows a base that is written later.
REFUSED_BY_TORCH_ONLY = (
    "some elements of the input tensor and the written-to tensor refer to a single memory location",
    "created in no_grad mode and its base or another view of its base has been modified",
)


def recorded(program: list[dict]) -> dict | None:
    run = Run(torch).run(program)
    try:
        result = run.result()
    except RuntimeError as error:
        run.messages.append(str(error))
    if any(phrase in message for message in run.messages for phrase in REFUSED_BY_TORCH_ONLY):
        return None
    del result["messages"]
    return {"program": program, "expected": result}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzzer", required=True, help="the aliasing_fuzzer program")
    parser.add_argument("--programs", type=int, default=600, help="how many to try (default: 600)")
    parser.add_argument("--seed", type=int, default=5_000_000, help="the seed of the first (default: 5000000)")
    options = parser.parse_args()
    command = [options.fuzzer, "--dump", "--no-random", "--programs", str(options.programs), "--seed", str(options.seed)]
    programs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    torch.set_num_threads(1)
    cases = [case for case in map(recorded, programs) if case]
    path = ROOT / "tests/golden/fuzz.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"torch": torch.__version__, "cases": cases}).encode(), mtime=0))
    failing = sum("error" in case["expected"]["outcomes"] for case in cases)
    print(f"{path.relative_to(ROOT)}: {len(cases)} programs, {failing} of them with errors, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
