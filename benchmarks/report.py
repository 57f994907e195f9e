"""The results as a page: a summary per group, a bar chart, every line."""

from __future__ import annotations

import html
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORE_TAKEN_AIM = 2.2
RESTLESS = 0.1


@dataclass
class Line:
    group: str
    name: str
    threads: int
    limit: float = 0.0  # seconds that the machine needs at least
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    disturbed: bool = False
    unrest: float = 0.0  # how far the middle of the turns of pyburn or PyTorch lies above the best, as a share
    core_taken: float | None = None  # time with one core taken by another process / clean time

    @property
    def ratio(self) -> float | None:
        if "pyburn" not in self.seconds or "torch" not in self.seconds:
            return None
        return self.seconds["pyburn"] / self.seconds["torch"]

    @property
    def restless(self) -> bool:
        """Did neighbours on the host disturb it, whom nobody sees? Both sides count alike."""
        return self.disturbed or self.unrest > RESTLESS

    @property
    def of_limit(self) -> float | None:
        return self.limit / self.seconds["pyburn"] if self.limit and "pyburn" in self.seconds else None

    def text(self) -> str:
        times = ", ".join(f"{name} {duration(s)}" for name, s in self.seconds.items())
        parts = [f"{self.group}: {self.name}, {self.threads} thread{'s' if self.threads > 1 else ''}: {times}"]
        if self.ratio:
            parts.append(f"ratio {self.ratio:.2f}")
        if self.of_limit:
            parts.append(f"{100 * self.of_limit:.0f} % of the limit")
        if self.core_taken:
            parts.append(f"{self.core_taken:.2f} times with one core taken")
        parts += [f"{name}: {error}" for name, error in self.errors.items()]
        if self.disturbed:
            parts.append("(disturbed)")
        elif self.restless:
            parts.append(f"(restless: {100 * self.unrest:.0f} %)")
        return "; ".join(parts)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def geometric_mean(lines: list[Line]) -> float | None:
    ratios = [line.ratio for line in lines if line.ratio]
    return statistics.geometric_mean(ratios) if ratios else None


def bar_chart(groups: dict[str, list[Line]]) -> str:
    """Geometric mean of pyburn / torch per group, for each number of threads; the line at 1 is PyTorch."""
    threads = sorted({line.threads for lines in groups.values() for line in lines})
    colours = ("#3b6ea5", "#d9822b", "#5c9e5c", "#8e6bbf")
    bars = [(g, t, geometric_mean([line for line in lines if line.threads == t])) for g, lines in groups.items() for t in threads]
    bars = [(g, t, v) for g, t, v in bars if v]
    left, width, height, step = 110, 640, 14, 17
    scale = (width - left - 60) / max(1.3, *(v for _, _, v in bars)) if bars else 1
    rows, y, previous = [], 34, ""
    for group, t, value in bars:
        if group != previous:
            y += 7
            rows.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{html.escape(group)}</text>')
            previous = group
        rows.append(f'<rect x="{left}" y="{y}" width="{value * scale:.1f}" height="{height}" fill="{colours[threads.index(t) % 4]}"/>')
        rows.append(f'<text x="{left + value * scale + 5:.1f}" y="{y + 11}">{value:.2f}</text>')
        y += step
    one = left + scale
    legend = "".join(
        f'<rect x="{left + 130 * i}" y="6" width="12" height="12" fill="{colours[i % 4]}"/><text x="{left + 18 + 130 * i}" y="17">{t} '
        f"thread{'s' if t > 1 else ''}</text>"
        for i, t in enumerate(threads)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 26}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{legend}{"".join(rows)}'
        f'<line x1="{one:.1f}" y1="28" x2="{one:.1f}" y2="{y + 4}" stroke="#a33" stroke-dasharray="4 3"/>'
        f'<text x="{one:.1f}" y="{y + 18}" text-anchor="middle" fill="#a33">PyTorch = 1; shorter is faster</text></svg>\n'
    )


def core_taken_section(lines: list[Line]) -> list[str]:
    """How pyburn bears that another process takes one core."""
    measured = sorted((line for line in lines if line.core_taken), key=lambda line: -(line.core_taken or 0))
    if not measured:
        return []
    slowdowns = [line.core_taken or 0 for line in measured]
    above = [line for line in measured if (line.core_taken or 0) > CORE_TAKEN_AIM]
    out = ["", "## With one core taken", ""]
    out.append(
        f"Time of pyburn with {measured[0].threads} threads while another process keeps one core busy / its clean time, over "
        f"{len(measured)} workloads: {statistics.median(slowdowns):.2f} in the middle, {slowdowns[0]:.2f} at worst; "
        f"{len(above)} above the aim of {CORE_TAKEN_AIM}."
    )
    shown = above or measured[:5]
    return [*out, "", "| workload | times |", "|---|---|", *(f"| {line.group}: {line.name} | {line.core_taken:.2f} |" for line in shown)]


def write_results(path: Path, lines: list[Line], machine: dict[str, str], limits: dict[str, Any]) -> None:
    kept = [line for line in lines if not line.disturbed]
    groups: dict[str, list[Line]] = {}
    for line in kept:
        groups.setdefault(line.group, []).append(line)
    chart = path.with_suffix(".svg")
    chart.write_text(bar_chart(groups))
    out = [
        "# Results",
        "",
        "Written by `benchmarks/run.py`. Ratios are time of pyburn / time of PyTorch in the same run: below 1 pyburn is faster.",
        "",
    ]
    out += [", ".join(f"{name} {value}" for name, value in machine.items()) + "."]
    if limits:
        fma = " / ".join(f"{v / 1e9:.0f}" for v in limits["fma"])
        mixes = {"1 0": "read", "0 1": "write", "1 1": "copy", "2 1": "two in, one out"}
        bandwidth = ", ".join(f"{mixes[k]} {' / '.join(f'{b / 1e9:.0f}' for b in v)}" for k, v in limits["bandwidth"].items())
        out += ["", f"Limits measured (1 / 2 threads): {fma} GFLOP/s; GB/s from memory: {bandwidth}."]
    out += ["", f"![Ratios by group]({chart.name})", "", "| group | lines | mean ratio | best | worst |", "|---|---|---|---|---|"]
    for group, members in groups.items():
        ratios = [line.ratio for line in members if line.ratio]
        if ratios:
            out.append(f"| {group} | {len(ratios)} | {statistics.geometric_mean(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} |")
    mean = geometric_mean(kept)
    if mean:
        out += ["", f"All lines together: {mean:.2f} (geometric mean)."]
    restless = sum(line.restless for line in kept)
    if restless:
        out += ["", f"{restless} lines are restless: the middle of their turns lay more than a tenth above the best, every time."]
    left_out = len(lines) - len(kept)
    if left_out:
        out += ["", f"{left_out} lines were left out, because other processes used the machine while they were measured."]
    out += core_taken_section(kept)
    names = list(dict.fromkeys(name for line in kept for name in line.seconds))
    out += [
        "",
        "## Every line",
        "",
        f"| workload | threads | {' | '.join(names)} | ratio | of the limit |",
        "|---" * (len(names) + 4) + "|",
    ]
    for line in kept:
        times = [duration(line.seconds[n]) if n in line.seconds else line.errors.get(n, "") for n in names]
        ratio = f"{line.ratio:.2f}" if line.ratio else ""
        share = f"{100 * line.of_limit:.0f} %" if line.of_limit else ""
        out.append(f"| {line.group}: {line.name} | {line.threads} | {' | '.join(times)} | {ratio} | {share} |")
    path.write_text("\n".join(out) + "\n")
