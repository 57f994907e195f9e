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
    if not 0 <= options.port <= 65535:
        raise CommandError(f"--port must lie between 0 (any free one) and 65535: got {options.port}")
    dashboard = importlib.import_module("pyburn.dashboard")
    try:
        dashboard.serve(options.folder, host=options.host, port=options.port, open_browser=not options.no_browser)
    except (OSError, UnicodeError) as error:  # the second: a name that cannot be one of a machine
        raise CommandError(f"--host {options.host} cannot be listened on: {getattr(error, 'strerror', None) or error}") from error
    return 0
