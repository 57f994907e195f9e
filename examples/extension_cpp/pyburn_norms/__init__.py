"""Functions in C++ that take and return tensors and modules of pyburn."""

import pyburn  # first: it loads the library that the extension module is linked to

from ._native import parameter_norm, perceptron, unit_vectors

__all__ = ["parameter_norm", "perceptron", "unit_vectors"]
