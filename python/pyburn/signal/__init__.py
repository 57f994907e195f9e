"""Signal processing: window functions for filter design and spectral analysis."""

from . import windows

__all__ = ["windows"]
