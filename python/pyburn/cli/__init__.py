"""The command `pyburn`, also `python -m pyburn`."""

from .main import main

__all__ = ["main"]
