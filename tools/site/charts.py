"""Charts of benchmarks/RESULTS.md, drawn by benchmarks/report.py."""

from __future__ import annotations

import re
from pathlib import Path

from report import Line, bar_chart

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "RESULTS.md"
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


def charts() -> dict[str, str]:
    """Path of the site -> SVG."""
    groups: dict[str, list[Line]] = {}
    for line in lines():
        groups.setdefault(line.group, []).append(line)
    return {
        f"images/benchmarks-{name}.svg": bar_chart({g: found for g, found in groups.items() if not chosen or g in chosen})
        for name, chosen in CHARTS.items()
    }
