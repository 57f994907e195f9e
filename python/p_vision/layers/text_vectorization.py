"""TextVectorization: encodes texts as token ids or as count vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves

from .arguments import one_of
from .declared import DeclaredLayer
from .lookup import MODES, StringLookup, _rows

_PUNCTUATION = re.compile(r'[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\']')
_STANDARDS: dict[Any, Callable[[str], str]] = {
    None: lambda text: text,
    "lower": str.lower,
    "strip_punctuation": lambda text: _PUNCTUATION.sub("", text),
    "lower_and_strip_punctuation": lambda text: _PUNCTUATION.sub("", text.lower()),
}


class TextVectorization(DeclaredLayer):
    """Standardizes texts, splits them into words and maps the words to token ids: 0 is padding, 1 is out of vocabulary.

    Args:
        standardize: "lower_and_strip_punctuation", "lower", "strip_punctuation", None, or a function of a text.
        split: "whitespace", "character", None, or a function of a text that returns a list of words.
        ngrams: The largest length of n-grams, or a list of lengths; None for single words.
        output_mode: "int" (token ids), "multi_hot", "count" or "tf_idf" (a vector per text).
        output_sequence_length: The number of token ids per text, which is padded or truncated; by default that of the longest text.

    Raises:
        ValueError: An argument has an unknown value.

    >>> layer = p_vision.TextVectorization(output_sequence_length=4)
    >>> layer.adapt(["The cat sat.", "the dog!"])
    >>> layer(["the cow sat"]).tolist()
    [[2, 1, 3, 0]]
    """

    max_tokens: int | None = None
    standardize: Any = "lower_and_strip_punctuation"
    split: Any = "whitespace"
    ngrams: Any = None
    output_mode: str = "int"
    output_sequence_length: int | None = None
    pad_to_max_tokens: bool = False
    vocabulary: Any = None
    idf_weights: Any = None
    encoding: str = "utf-8"

    def prepare(self) -> None:
        if not callable(self.standardize):
            one_of("TextVectorization", "standardize", self.standardize, tuple(_STANDARDS))
        if not callable(self.split):
            one_of("TextVectorization", "split", self.split, (None, "whitespace", "character"))
        one_of("TextVectorization", "output_mode", self.output_mode, tuple(mode for mode in MODES if mode != "one_hot"))
        if self.output_sequence_length is not None and self.output_mode != "int":
            raise ValueError("[TextVectorization] output_sequence_length is for output_mode 'int'")
        self._widths = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        shared = ("max_tokens", "vocabulary", "idf_weights", "output_mode", "pad_to_max_tokens", "encoding")
        self.lookup = StringLookup(mask_token="", **{name: getattr(self, name) for name in shared})

    def get_config(self) -> dict[str, Any]:
        self.vocabulary, self.idf_weights = self.lookup.vocabulary, self.lookup.idf_weights
        return super().get_config()

    def words(self, text: Any) -> list[str]:
        """Splits a text into words; with `ngrams`, n-grams are included.

        Args:
            text: The text, as str or bytes.

        Returns:
            The words.
        """
        text = text.decode(self.encoding) if isinstance(text, bytes) else str(text)
        text = self.standardize(text) if callable(self.standardize) else _STANDARDS[self.standardize](text)
        if callable(self.split):
            words = [str(word) for word in self.split(text)]
        else:
            words = [text] if self.split is None else text.split() if self.split == "whitespace" else list(text)
        if self._widths is None:
            return words
        return [" ".join(words[i : i + width]) for width in self._widths for i in range(len(words) - width + 1)]

    def _texts(self, data: Any, steps: int | None = None) -> Iterable[Any]:
        if isinstance(data, (str, bytes)):
            yield data
        elif isinstance(data, (list, tuple)):
            yield from leaves(data)
        else:
            for batch in [data] if hasattr(data, "__array__") else _rows(data, steps):
                yield from (_flat(batch) if hasattr(batch, "__array__") else leaves(batch))

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Builds the vocabulary from texts, by decreasing frequency.

        Args:
            data: The texts: a list, an array, or batches of them.
            batch_size: Accepted for compatibility.
            steps: The number of batches to read.
        """
        self.lookup.adapt_documents(self.words(text) for text in self._texts(data, steps))

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        return self.lookup.get_vocabulary(include_special_tokens)

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        self.lookup.set_vocabulary(vocabulary, idf_weights)

    def vocabulary_size(self) -> int:
        return self.lookup.vocabulary_size()

    def forward(self, inputs: Any) -> Tensor:
        single = isinstance(inputs, (str, bytes)) or (hasattr(inputs, "shape") and not len(inputs.shape))
        rows = [self.lookup.indices(self.words(text)) for text in self._texts(inputs if not single else str(inputs))]
        if self.output_mode == "int":
            longest = max(map(len, rows), default=0) if self.output_sequence_length is None else self.output_sequence_length
            table = pyburn.tensor([(row + [0] * longest)[:longest] for row in rows], dtype=pyburn.int64).reshape(len(rows), longest)
            return table[0] if single else table
        vectors = pyburn.stack([self.lookup.vectors(pyburn.tensor(row, dtype=pyburn.int64).reshape(-1)) for row in rows])
        return vectors[0] if single else vectors


def _flat(array: Any) -> list[Any]:
    import numpy

    return numpy.asarray(array).ravel().tolist()
