"""The named tuples of functions with several results, named after the functions."""

from ._core import _return_types

globals().update(_return_types)
__all__ = sorted(_return_types)
