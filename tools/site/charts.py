"""Writes docs/images/benchmarks-*.svg: charts of benchmarks/RESULTS.md, drawn by benchmarks/report.py.

python tools/site/charts.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from report import Line, bar_chart  # noqa: E402

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
CHARTS = {
    "all": (),
    "networks": ("conv2d", "depthwise", "conv1d", "conv3d", "attention", "recurrent"),
    "products": ("matmul", "skinny", "batched"),
    "memory": ("elementwise", "chain", "cast", "random", "reduce", "rows", "sort", "index"),
}


def seconds(cell: str) -> float | None:
    match = re.fullmatch(r"([\d.]+) (s|ms|µs|ns)", cell)
    return float(match[1]) * UNITS[match[2]] if match else None


def lines() -> list[Line]:
    """The rows of the table of all workloads."""
    table = RESULTS.read_text().partition("## Every line")[2]
    found = []
    for row in re.findall(r"^\| (\w+): (.*?) \| (\d+) \| (.*?) \| (.*?) \|", table, re.MULTILINE):
        group, name, threads, ours, theirs = row
        times = {"pyburn": seconds(ours.strip()), "torch": seconds(theirs.strip())}
        found.append(Line(group, name, int(threads), seconds={k: v for k, v in times.items() if v}))
    return found


def charts() -> dict[Path, str]:
    """Path -> SVG."""
    groups: dict[str, list[Line]] = {}
    for line in lines():
        groups.setdefault(line.group, []).append(line)
    return {
        ROOT / f"docs/images/benchmarks-{name}.svg": bar_chart({g: found for g, found in groups.items() if not chosen or g in chosen})
        for name, chosen in CHARTS.items()
    }


def main() -> int:
    stale = [path for path, text in charts().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        print(*(f"not up to date; run python tools/site/charts.py: {path.relative_to(ROOT)}" for path in stale), sep="\n")
        return 1 if stale else 0
    for path, text in charts().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
