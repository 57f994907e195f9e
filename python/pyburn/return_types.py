"""The named tuples that functions with several results return, under the names of the functions."""

from ._core import _return_types

globals().update(_return_types)
__all__ = sorted(_return_types)
