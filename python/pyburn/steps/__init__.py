"""Compiled steps: a function of tensors, with its backward pass and optimizer, as one prepared program."""

from .function import CompiledFunction, compile

__all__ = ["CompiledFunction", "compile"]
