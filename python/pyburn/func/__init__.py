"""Functions of functions: modules called with other parameters than their own."""

from ..nn.utils.stateless import functional_call

__all__ = ["functional_call"]
