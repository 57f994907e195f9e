"""Differences that docs/coming-from/differences.md documents: a program that meets one is compared up to there."""

from __future__ import annotations

import re

# What PyTorch's error says -> the line of docs/coming-from/differences.md.
ERRORS_OF_TORCH = {
    "INTERNAL ASSERT": "a bug of PyTorch",
    "refer to a single memory location|partial overlap": "An input that partly overlaps the tensor it is written to is copied first",
    "modified by an inplace operation": "An operation keeps for the backward pass only what the gradients that are wanted read",
    "output of a function that returns multiple views": "Results of `split`, `chunk` and `unbind` may be written in place with gradients",
    "created in no_grad mode|created without grad mode": "A view made under `no_grad` follows its base when the base is written later",
    "detach views in-place": "A fresh result (indexing, `einsum`, `where`) may be contiguous",  # einsum's is a view in PyTorch
    "backward through the graph a second time": "An operation keeps for the backward pass only what the gradients that are wanted read",
}
ERRORS_OF_PYBURN = {
    "index.*out of.*bounds|out of range": "Indices out of range raise even where the result is empty",
    "detach views in-place": "Methods that change the shape in place make the tensor a view",
    "clone\\(\\) it before writing|share memory": "A view of a tensor whose elements share memory cannot be written with gradients",
    "modified": "`cross_entropy` keeps its logits ... and `reciprocal` and `linalg.inv` their inputs",
}


def explained(torch_error: BaseException | None, pyburn_error: BaseException | None) -> str | None:
    """The documented difference that one error alone falls under."""
    pairs = ((torch_error, ERRORS_OF_TORCH), (pyburn_error, ERRORS_OF_PYBURN))
    for error, table in pairs:
        for pattern, line in table.items():
            if error is not None and re.search(pattern, str(error)):
                return line
    return None
