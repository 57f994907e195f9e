"""report.html: a run as a self-contained page."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from .append_file import replace_text
from .reader import RunRecord
from .svg_plots import COLOURS, STYLE, Curve, line_chart, matrix_chart, short

_PAGE_STYLE = """
body { background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1180px; margin: 0 auto; padding: 24px 16px 60px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 36px 0 10px; } p { margin: 4px 0; } .faint { color: var(--faint); }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 360px), 1fr)); gap: 14px; }
.card { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; padding: 10px; overflow: hidden; }
.card svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; font-size: 14px; }
td, th { text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--rule); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } .scroll { overflow-x: auto; }
.good { color: var(--good); } .bad { color: var(--bad); }
.sample img { width: 100%; image-rendering: pixelated; border-radius: 4px; } .sample { font-size: 13px; }
.samples { grid-template-columns: repeat(auto-fill, minmax(110px, 1fr)); }
pre { white-space: pre-wrap; word-break: break-word; font-size: 13px; }
"""
# The page gets shared: whatever the run contains, it must not run scripts or load anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_MOST_SAMPLES = 48
_SPLITS = dict(zip(("train", "valid", "test"), COLOURS))


def _by_split(item: tuple[str, str, str]) -> tuple[int, str, str]:
    """Sort key: training, validation, test, then any other split."""
    kind, split, name = item
    return (list(_SPLITS).index(split) if split in _SPLITS else len(_SPLITS)), split, name


def write_report(folder: str | os.PathLike[str]) -> Path:
    """Writes report.html from the other files of a run folder, and returns its path.

    Args:
        folder: The folder of the run.

    >>> with pyburn.train.Run("runs/third") as run:
    ...     run.log({"loss": 0.5}, step=1)
    >>> pyburn.train.write_report("runs/third").name
    'report.html'
    """
    record = RunRecord(folder)
    path = record.folder / "report.html"
    replace_text(path, report(record))
    return path


def report(record: RunRecord) -> str:
    """Returns the report page as HTML."""
    sections: list[tuple[str, Callable[[RunRecord], str]]] = [
        ("summary", _head),
        ("results", _results),
        ("curves", _curves),
        ("confusion matrices", _matrices),
        ("tables", _tables),
        ("predictions", _samples),
        ("checkpoints", _checkpoints),
        ("configuration", lambda record: _listing("Configuration", record.config)),
        ("environment", lambda record: _listing("Environment", record.environment)),
    ]
    made = [_section(name, make, record) for name, make in sections]
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(record.name)}</title><style>{STYLE}{_PAGE_STYLE}</style></head>\n<body>\n"
        + "\n".join(section for section in made if section)
        + "\n</body></html>\n"
    )
    return page.encode("utf-8", "backslashreplace").decode()  # lone surrogates are valid in JSON but not in UTF-8


def _section(name: str, make: Callable[[RunRecord], str], record: RunRecord) -> str:
    try:
        return make(record)
    except Exception as error:  # a damaged file only affects its own section
        return f'<p class="bad">The {name} cannot be shown: {escape(repr(error))}</p>'


def _head(record: RunRecord) -> str:
    status = record.status
    started = status.get("created") or 0
    created = time.strftime("%Y-%m-%d %H:%M", time.localtime(started))
    took = _duration((status.get("finished") or status.get("updated") or started) - started)
    state = record.state
    colour = "good" if state == "finished" else "bad" if state in ("failed", "lost") else "faint"
    epochs = f"{status.get('epoch') or 0}" + (f" of {status['epochs']}" if status.get("epochs") else "")
    lines = [
        f"<h1>{escape(record.name)}</h1>",
        f'<p><span class="{colour}">{escape(state)}</span> <span class="faint">· started {created} · {took} · '
        f"epoch {epochs} · step {status.get('step') or 0:,}</span></p>",
    ]
    if status.get("message"):
        lines.append(f"<p>{escape(status['message'])}</p>")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    seconds = max(0, int(seconds))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def _results(record: RunRecord) -> str:
    """Table of the last and best values of all per-epoch metrics."""
    rows, metrics = [], record.status.get("metrics") or {}
    for kind, split, name in sorted(record.names(), key=_by_split):
        if kind != "epoch":
            continue
        data = record.series(kind, split, name)
        data = data[data[:, 3] == data[:, 3]]
        if not len(data):
            continue
        higher = metrics.get(name, {}).get("higher_is_better")
        cells = f'<td>{escape(split)}</td><td>{escape(name)}</td><td class="number">{data[-1, 3]:.5g}</td>'
        if higher is None:
            rows.append(f"<tr>{cells}<td></td><td></td></tr>")
        else:
            best = data[data[:, 3].argmax() if higher else data[:, 3].argmin()]
            rows.append(f'<tr>{cells}<td class="number">{best[3]:.5g}</td><td class="number">{int(best[1])}</td></tr>')
    head = '<tr><th>split</th><th>metric</th><th class="number">last</th><th class="number">best</th><th class="number">in epoch</th></tr>'
    return f'<h2>Results</h2>\n<div class="scroll"><table>{head}{"".join(rows)}</table></div>' if rows else ""


def _curves(record: RunRecord) -> str:
    names = sorted(record.names(), key=_by_split)
    metrics = sorted({name for _, split, name in names if split != "system"})
    charts = []
    for metric in metrics:
        curves = []
        for kind, split, name in names:
            # A split that was logged per step needs no second curve per epoch.
            if name == metric and split != "system" and (kind == "step" or ("step", split, name) not in names):
                data = record.series(kind, split, name)
                curves.append(Curve(split, data[:, 0], data[:, 3], _SPLITS.get(split, "")))
        charts.append(line_chart(metric, curves))
    charts += [_single(record, name) for kind, split, name in names if split == "system"]
    cards = "\n".join(f'<div class="card">{chart}</div>' for chart in charts)
    return f'<h2>Curves</h2>\n<div class="grid">\n{cards}\n</div>' if charts else ""


def _single(record: RunRecord, name: str) -> str:
    data = record.series("step", "system", name)
    return line_chart(name, [Curve(name, data[:, 2] / 60, data[:, 3])], x_label="minutes")


def _last_tables(record: RunRecord, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Returns the newest valid table of each name and split, with a title."""
    tables = [table for table in record.latest_tables() if table.get("type") == kind]
    return [(f"{table.get('name')}, {table.get('split')}, epoch {table.get('epoch')}", table) for table in tables]


def _matrices(record: RunRecord) -> str:
    charts = [matrix_chart(title, table["labels"], table["values"]) for title, table in _last_tables(record, "confusion_matrix")]
    cards = "\n".join(f'<div class="card">{chart}</div>' for chart in charts if chart)
    return f'<h2>Confusion</h2>\n<div class="grid">\n{cards}\n</div>' if cards else ""


def _tables(record: RunRecord) -> str:
    """Curves and per-class values."""
    parts = []
    for title, table in _last_tables(record, "curve"):
        label = " over ".join(str(table[key]) for key in ("y_label", "x_label") if table.get(key))
        x, y = ([float(value) for value in table[axis]] for axis in ("x", "y"))
        parts.append(line_chart(title, [Curve(label, x, y)], x_label=label))
    for title, table in _last_tables(record, "per_class"):
        rows = "".join(
            f'<tr><td>{escape(label)}</td><td class="number">{float(value):.5g}</td></tr>'
            for label, value in zip(table["labels"], table["values"])
        )
        parts.append(f'<p><b>{escape(title)}</b></p><div class="scroll"><table>{rows}</table></div>')
    cards = "\n".join(f'<div class="card">{part}</div>' for part in parts)
    return f'<h2>Tables</h2>\n<div class="grid">\n{cards}\n</div>' if cards else ""


def _samples(record: RunRecord) -> str:
    sets = record.samples()
    if not sets:
        return ""
    cards = []
    for sample in sets[-1]["samples"][:_MOST_SAMPLES]:
        picture = ""
        if isinstance(sample.get("image"), str):
            with contextlib.suppress(OSError):
                encoded = base64.b64encode(record.image(sample["image"])).decode()
                picture = f'<img alt="" src="data:image/png;base64,{encoded}">'
        right = sample.get("prediction") == sample.get("target")
        said = f'<span class="{"good" if right else "bad"}">{escape(str(sample.get("prediction", "")))}</span>'
        truth = "" if right or "target" not in sample else f' <span class="faint">is {escape(str(sample["target"]))}</span>'
        text = f"<p>{escape(str(sample['text']))}</p>" if "text" in sample else ""
        cards.append(f'<div class="card sample">{picture}{text}<p>{said}{truth}</p></div>')
    return f'<h2>Predictions</h2>\n<div class="grid samples">\n{"".join(cards)}\n</div>'


def _checkpoints(record: RunRecord) -> str:
    rows = []
    for one in record.checkpoints():
        values = ", ".join(f"{key} {short(float(value))}" for key, value in (one.get("metrics") or {}).items())
        file, epoch = (escape(str(one.get(key, ""))) for key in ("file", "epoch"))
        kept = ", ".join(one.get("kept_by") or [])
        rows.append(f'<tr><td>{file}</td><td class="number">{epoch}</td><td>{escape(kept)}</td><td>{escape(values)}</td></tr>')
    head = '<tr><th>file</th><th class="number">epoch</th><th>kept as</th><th></th></tr>'
    return f'<h2>Checkpoints</h2>\n<div class="scroll"><table>{head}{"".join(rows)}</table></div>' if rows else ""


def _listing(title: str, values: dict[str, Any]) -> str:
    return f'<h2>{title}</h2>\n<pre class="card">{escape(json.dumps(values, indent=2, ensure_ascii=False))}</pre>' if values else ""
