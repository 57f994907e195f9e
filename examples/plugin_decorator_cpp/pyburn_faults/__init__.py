"""The decorator `faults:<operation>=<period>(<backend>)` for pyburn: every n-th call of an operation fails."""

from pathlib import Path

import pyburn


def register() -> None:
    """Called by pyburn when it looks for devices: the entry point in pyproject.toml names this function."""
    pyburn.load_library(Path(__file__).parent / "plugin.so")
