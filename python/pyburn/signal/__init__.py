"""Signals: the windows that spectra are computed through."""

from . import windows

__all__ = ["windows"]
