"""Makes tests/golden/module/cases.json: what PyTorch answers to the cases of tests/python/module_*cases.py.

    python tools/make_module_goldens.py [--torch PYTHON]

PYTHON is an interpreter that has torch, if this one has not; the tests need none.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "module" / "cases.json"
sys.path.insert(0, str(ROOT / "tests" / "python"))


def make() -> None:
    import module_edge_cases  # type: ignore[import-not-found]  # noqa: F401  # adds its cases
    import module_part_cases  # type: ignore[import-not-found]  # noqa: F401
    import torch
    import torch.nn.utils.prune  # type: ignore[import-not-found]  # not there by itself
    from module_cases import CASES, outcome  # type: ignore[import-not-found]

    found = {name: outcome(function, torch) for name, function in CASES.items()}
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in sorted(found.items()))
    GOLDEN.write_text("{\n" + lines + "\n}\n")
    print(f"{GOLDEN.relative_to(ROOT)}: {len(found)} cases of PyTorch {torch.__version__}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable)
    options = parser.parse_args()
    if options.torch == sys.executable:
        make()
    else:
        raise SystemExit(subprocess.run([options.torch, __file__]).returncode)


if __name__ == "__main__":
    main()
