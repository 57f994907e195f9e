"""Run folders: writing and reading the files described in docs/guides/runs.md."""

from .environment import environment
from .events import EventWriter
from .folder import Run
from .plain_values import plain
from .reader import RunRecord, list_runs, read_run
from .report import write_report
from .samples import png

__all__ = ["EventWriter", "Run", "RunRecord", "environment", "list_runs", "plain", "png", "read_run", "write_report"]
