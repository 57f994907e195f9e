"""Makes tests/golden/saved.json.gz: which inputs and results PyTorch refuses to see written before the backward pass.

    python tools/make_saved_goldens.py --torch PYTHON

Run it where pyburn is installed. PYTHON is an interpreter that has torch, if this one has not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "saved.json.gz"
sys.path.insert(0, str(ROOT / "tests" / "python"))

from make_goldens import torch_ctc_loss, torch_grid_sample_grid, torch_grid_sample_input, torch_pair  # noqa: E402
from saved_cases import cases_of, has_gradient, refused_writes, subsets_of  # noqa: E402


def make(rows: list[dict[str, Any]]) -> None:
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = {"torch": torch} | {f.__name__: f for f in (torch_pair, torch_ctc_loss, torch_grid_sample_input, torch_grid_sample_grid)}
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for row in rows:
        function = eval(row["torch"] or f"torch.{row['name'].split('.')[0]}", names)
        for sample in cases_of(row):
            for wanting in subsets_of(sample):
                try:
                    if has_gradient(torch, function, sample, wanting):
                        refused = refused_writes(torch, function, sample, wanting)
                        found.setdefault(row["name"], {}).setdefault(sample.line, {})[",".join(map(str, wanting))] = refused
                except RuntimeError:  # has no gradient for these
                    continue
    GOLDEN.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--from-stdin", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.from_stdin:
        return make(json.load(sys.stdin))
    from pyburn._core import _op_table

    rows = [{key: row[key] for key in ("name", "samples", "torch")} for row in _op_table() if row["samples"] and row["name"][0] != "_"]
    raise SystemExit(subprocess.run([options.torch, __file__, "--from-stdin"], input=json.dumps(rows), text=True).returncode)


if __name__ == "__main__":
    main()
