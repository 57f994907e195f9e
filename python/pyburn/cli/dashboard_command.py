"""pyburn dashboard FOLDER."""

from __future__ import annotations

import argparse
from pathlib import Path

from .main import CommandError


def run(options: argparse.Namespace) -> int:
    if not Path(options.folder).is_dir():
        raise CommandError(f"no such folder: {options.folder!r}; expected a run, or a folder of runs")
    if not 0 <= options.port <= 65535:
        raise CommandError(f"--port must be between 0 (any free port) and 65535: got {options.port}")
    from pyburn.dashboard import serve

    try:
        serve(options.folder, host=options.host, port=options.port, open_browser=not options.no_browser)
    except ImportError as error:
        raise CommandError(
            f"{error}. Each run has a report.html as well, and TensorBoard reads runs: tensorboard --logdir {options.folder}"
        ) from error
    except (OSError, UnicodeError) as error:  # UnicodeError: the text is not a valid host name
        raise CommandError(f"cannot listen on --host {options.host}: {getattr(error, 'strerror', None) or error}") from error
    return 0
