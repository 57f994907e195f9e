"""Functions in C++ that take and return tensors and modules of pyburn."""

from ._native import parameter_norm, perceptron, unit_vectors

__all__ = ["parameter_norm", "perceptron", "unit_vectors"]
