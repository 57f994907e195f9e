"""Embedding layers."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core._nn import Embedding, EmbeddingBag
from .parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


def _from_pretrained(cls: Any, embeddings: Tensor, freeze: bool = True, *args: Any, **options: Any) -> Any:
    """Creates a layer from an existing embedding matrix; with `freeze` the weights are not trained.

    >>> import pyburn
    >>> pyburn.nn.Embedding.from_pretrained(pyburn.tensor([[1.0, 2.0], [3.0, 4.0]]))(pyburn.tensor([1]))
    tensor([[3., 4.]])
    """
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, columns = embeddings.shape
    layer = cls(rows, columns, *args, **options)
    layer.weight = Parameter(embeddings, requires_grad=not freeze)
    return layer


for _layer in (Embedding, EmbeddingBag):
    _layer.from_pretrained = classmethod(_from_pretrained)  # type: ignore[attr-defined]
