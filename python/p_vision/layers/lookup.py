"""Layers that encode categories and numbers as indices or vectors: StringLookup, IntegerLookup, CategoryEncoding, Discretization."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from ..batches import batches
from .arguments import one_of, positive
from .declared import DeclaredLayer

MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


def encoded(indices: Tensor, mode: str, depth: int, weights: Tensor | None = None) -> Tensor:
    """Encodes indices (..., n) as vectors of length `depth`: one per index ("one_hot"), or one per row."""
    if mode == "one_hot" and indices.ndim > 1 and indices.shape[-1] == 1:
        indices = indices.squeeze(-1)
    hits = (indices.unsqueeze(-1) == pyburn.arange(depth, device=indices.device)).to(pyburn.get_default_dtype())
    if mode == "one_hot" or not indices.ndim:
        return hits
    if mode == "multi_hot":
        return hits.amax(-2)
    return (hits if weights is None else hits * weights.unsqueeze(-1)).sum(-2)


def check_mode(layer: Any, modes: Sequence[str]) -> None:
    """Raises ValueError unless the output mode of a layer is one of the modes, and its output is dense."""
    name = type(layer).__name__
    one_of(name, "output_mode", layer.output_mode, modes)
    if getattr(layer, "sparse", False):
        raise ValueError(f"[{name}] there are no sparse tensors: sparse must be False")


class CategoryEncoding(DeclaredLayer):
    """Encodes category indices as vectors: "one_hot" per index, "multi_hot" or "count" per row.

    Args:
        num_tokens: The number of categories; the length of a vector.
        output_mode: "one_hot", "multi_hot" or "count".

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.CategoryEncoding(num_tokens=4)([[0, 1], [2, 2]]).tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    num_tokens: Any = None
    output_mode: str = "multi_hot"
    sparse: bool = False

    def prepare(self) -> None:
        check_mode(self, MODES[1:-1])
        positive("CategoryEncoding", "num_tokens", self.num_tokens)

    def forward(self, inputs: Any, count_weights: Any = None) -> Tensor:
        indices = pyburn.as_tensor(inputs).long()
        if indices.numel() and indices.device.type != "meta" and not 0 <= int(indices.min()) <= int(indices.max()) < self.num_tokens:
            raise ValueError(f"[CategoryEncoding] expected numbers from 0 to {self.num_tokens - 1}: got {indices.min()} to {indices.max()}")
        weights = None if count_weights is None else pyburn.as_tensor(count_weights).float()
        return encoded(indices, self.output_mode, self.num_tokens, weights)


class Discretization(DeclaredLayer):
    """Assigns numbers to bins.

    Args:
        bin_boundaries: The boundaries between the bins.
        num_bins: The number of bins, whose boundaries `adapt` computes as quantiles of the data.
        epsilon: Accepted for compatibility: the quantiles are exact.

    Raises:
        ValueError: Not exactly one of bin_boundaries and num_bins is given, or output_mode is unknown.

    >>> p_vision.Discretization(bin_boundaries=[0.0, 1.0])(pyburn.tensor([-1.5, 0.5, 3.0])).tolist()
    [0, 1, 2]
    """

    bin_boundaries: Sequence[float] | None = None
    num_bins: int | None = None
    epsilon: float = 0.01
    output_mode: str = "int"

    def prepare(self) -> None:
        if (self.bin_boundaries is None) == (self.num_bins is None):
            raise ValueError("[Discretization] give either bin_boundaries or num_bins, and call adapt for the latter")
        check_mode(self, MODES[:-1])
        self.bin_boundaries = None if self.bin_boundaries is None else sorted(float(edge) for edge in self.bin_boundaries)

    def adapt(self, data: Any, steps: int | None = None) -> None:
        import numpy

        parts = [numpy.asarray(x, dtype=numpy.float64).ravel() for x in _rows(data, steps)]
        count = positive("Discretization", "num_bins", self.num_bins)
        shares = numpy.arange(1, count) / count
        self.bin_boundaries = sorted(set(numpy.quantile(numpy.concatenate(parts), shares).tolist()))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return config if self.bin_boundaries is None else {**config, "num_bins": None}

    def forward(self, inputs: Tensor) -> Tensor:
        if self.bin_boundaries is None:
            raise RuntimeError("[Discretization] there are no boundaries yet: call adapt with data")
        edges = pyburn.tensor(self.bin_boundaries, device=inputs.device, dtype=pyburn.float32)
        indices = (inputs.float().unsqueeze(-1) >= edges).long().sum(-1)
        return indices if self.output_mode == "int" else encoded(indices, self.output_mode, len(self.bin_boundaries) + 1)


def _rows(data: Any, steps: int | None) -> Iterable[Any]:
    for done, (x, _, _) in enumerate(batches(data, batch_size=1024)):
        if steps is not None and done >= steps:
            return
        yield x


class Lookup(DeclaredLayer):
    """Base class of StringLookup and IntegerLookup: special tokens (mask, out-of-vocabulary) followed by the vocabulary."""

    max_tokens: int | None = None
    num_oov_indices: int = 1
    mask_token: Any = None
    oov_token: Any = None
    vocabulary: Any = None
    idf_weights: Any = None
    invert: bool = False
    output_mode: str = "int"
    pad_to_max_tokens: bool = False

    def prepare(self) -> None:
        check_mode(self, MODES)
        if self.invert and self.output_mode != "int":
            raise ValueError(f"[{type(self).__name__}] invert gives tokens for indices: output_mode must be 'int'")
        if self.vocabulary is not None:
            self.set_vocabulary(self.vocabulary, self.idf_weights)

    def token(self, value: Any) -> Any:
        """Converts a value to a token of the vocabulary."""
        raise NotImplementedError

    def _before(self) -> int:
        """Returns the number of special indices before the vocabulary."""
        return self.num_oov_indices + (1 if self.mask_token is not None and self.output_mode == "int" else 0)

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Sets the vocabulary from a list, an array or the path of a text file with one token per line; leading special tokens are
        optional.
        """
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding="utf-8") as file:
                vocabulary = [line.rstrip("\n") for line in file]
        tokens = [self.token(value) for value in vocabulary]
        special = {self.mask_token, self.oov_token} - {None}
        skip = 0
        while skip < min(len(tokens), self._before()) and tokens[skip] in special:
            skip += 1
        weights = None if idf_weights is None else [float(w) for w in idf_weights]
        self._take(tokens[skip:], None if weights is None else weights[len(weights) - (len(tokens) - skip) :])

    def _take(self, tokens: list[Any], weights: list[float] | None) -> None:
        if len(set(tokens)) != len(tokens):
            twice = next(token for token, count in collections.Counter(tokens).items() if count > 1)
            raise ValueError(f"[{type(self).__name__}] {twice!r} is twice in the vocabulary")
        if self.output_mode == "tf_idf" and weights is None:
            raise ValueError(f"[{type(self).__name__}] output_mode 'tf_idf' needs idf_weights with a vocabulary, or adapt")
        self.vocabulary, self.idf_weights = tokens, weights
        self._index = {token: self._before() + i for i, token in enumerate(tokens)}

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Builds the vocabulary from data, by decreasing frequency."""
        self.adapt_documents(self._documents(data, steps))

    def adapt_documents(self, documents_of_data: Iterable[list[Any]]) -> None:
        """Builds the vocabulary from lists of tokens."""
        counts: collections.Counter[Any] = collections.Counter()
        documents: collections.Counter[Any] = collections.Counter()
        rows = 0
        for row in documents_of_data:
            tokens = [self.token(value) for value in row]
            counts.update(tokens)
            documents.update(set(tokens))
            rows += 1
        for special in (self.mask_token, self.oov_token):
            counts.pop(special, None)
        order = sorted(counts, key=lambda token: (counts[token], token), reverse=True)
        if self.max_tokens is not None:
            order = order[: max(self.max_tokens - self._before(), 0)]
        self._take(order, [math.log(1 + rows / (1 + documents[token])) for token in order])

    def _documents(self, data: Any, steps: int | None) -> Iterable[list[Any]]:
        import numpy

        for batch in _rows(_as_array(data), steps):
            array = numpy.asarray(batch)
            yield from (row.reshape(-1).tolist() for row in (array if array.ndim > 1 else array.reshape(-1, 1)))

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Returns the tokens in index order, by default including the special tokens."""
        masks = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        before = [*masks, *[self.oov_token] * self.num_oov_indices]
        return [*(before if include_special_tokens else []), *(self.vocabulary or [])]

    def vocabulary_size(self) -> int:
        """Returns the number of indices, including the special tokens."""
        return self._before() + len(self.vocabulary or [])

    def indices(self, tokens: Iterable[Any]) -> list[int]:
        """Returns the index of each token.

        Raises:
            RuntimeError: There is no vocabulary yet.
        """
        if self.vocabulary is None:
            raise RuntimeError(f"[{type(self).__name__}] there is no vocabulary yet: give one, or call adapt with data")
        found = []
        for value in tokens:
            token = self.token(value)
            place = 0 if self.mask_token is not None and token == self.mask_token and self.output_mode == "int" else self._index.get(token)
            if place is None:
                if not self.num_oov_indices:
                    raise ValueError(f"[{type(self).__name__}] {value!r} is not in the vocabulary, and num_oov_indices is 0")
                place = self._before() - self.num_oov_indices
                if self.num_oov_indices > 1:
                    place += sum(str(token).encode()) % self.num_oov_indices
            found.append(place)
        return found

    def depth(self) -> int:
        """Returns the length of the vectors in the modes other than "int"."""
        return self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()

    def vectors(self, indices: Tensor) -> Tensor:
        """Encodes indices (..., n) according to the output mode."""
        if self.output_mode == "int":
            return indices
        made = encoded(indices, "count" if self.output_mode == "tf_idf" else self.output_mode, self.depth())
        if self.output_mode == "tf_idf":
            known = self.idf_weights or []
            average = sum(known) / max(len(known), 1)
            weights = [average] * self._before() + known
            made = made * pyburn.tensor([*weights, *[0.0] * (self.depth() - len(weights))], device=made.device)
        return made

    def forward(self, inputs: Any) -> Any:
        import numpy

        if self.invert:
            names = numpy.asarray(self.get_vocabulary())
            places = inputs.detach().to("cpu").numpy() if isinstance(inputs, Tensor) else numpy.asarray(inputs)
            return names[places]
        array = inputs.detach().to("cpu").numpy() if isinstance(inputs, Tensor) and inputs.device.type != "meta" else inputs
        if isinstance(array, Tensor):  # only shapes are computed
            return self.vectors(pyburn.zeros(array.shape, dtype=pyburn.int64, device=array.device))
        array = numpy.asarray(array)
        found = pyburn.tensor(self.indices(array.ravel().tolist()), dtype=pyburn.int64).reshape(list(array.shape))
        return self.vectors(found)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "vocabulary": self.vocabulary, "idf_weights": self.idf_weights}


def _as_array(data: Any) -> Any:
    import numpy

    return numpy.asarray(data) if isinstance(data, (list, tuple)) and not any(hasattr(item, "__array__") for item in data) else data


class StringLookup(Lookup):
    """Maps strings to indices by a vocabulary that is given or built by `adapt`.

    Raises:
        ValueError: An argument has an unknown value, or a token is twice in the vocabulary.

    >>> layer = p_vision.StringLookup(vocabulary=["cat", "dog"])
    >>> layer(["dog", "cow", "cat"]).tolist()
    [2, 0, 1]
    """

    oov_token: Any = "[UNK]"
    encoding: str = "utf-8"

    def token(self, value: Any) -> str:
        return value.decode(self.encoding) if isinstance(value, bytes) else str(value)


class IntegerLookup(Lookup):
    """Maps integer categories to indices by a vocabulary that is given or built by `adapt`.

    Raises:
        ValueError: An argument has an unknown value, or a token is twice in the vocabulary.

    >>> p_vision.IntegerLookup(vocabulary=[12, 36])([36, 5, 12]).tolist()
    [2, 0, 1]
    """

    oov_token: Any = -1

    def token(self, value: Any) -> int:
        return int(value)
