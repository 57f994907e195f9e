"""pyburn dashboard FOLDER."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from pathlib import Path

from .main import CommandError


def run(options: argparse.Namespace) -> int:
    if not Path(options.folder).is_dir():
        raise CommandError(f"there is no folder {options.folder!r}: name a run, or the folder that holds runs")
    if importlib.util.find_spec("pyburn.dashboard") is None:
        raise CommandError(
            "the dashboard in the browser is not part of this installation. Each run has a report.html, and TensorBoard reads runs as "
            f"they are: tensorboard --logdir {options.folder}"
        )
    dashboard = importlib.import_module("pyburn.dashboard")
    result = dashboard.serve(options.folder, host=options.host, port=options.port, open_browser=not options.no_browser)
    return int(result or 0)
