"""TextVectorization: encodes texts as token ids or as count vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pyburn
from pyburn import Tensor

from ..layer import Layer
from ..symbolic.structure import leaves
from .lookup import MODES, StringLookup, _rows

_PUNCTUATION = re.compile(r'[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\']')
_STANDARDS: dict[Any, Callable[[str], str]] = {
    None: lambda text: text,
    "lower": str.lower,
    "strip_punctuation": lambda text: _PUNCTUATION.sub("", text),
    "lower_and_strip_punctuation": lambda text: _PUNCTUATION.sub("", text.lower()),
}


class TextVectorization(Layer):
    """Standardizes texts, splits them into words and maps the words to token ids: 0 is padding, 1 is out of vocabulary.

    >>> layer = p_vision.TextVectorization(output_sequence_length=4)
    >>> layer.adapt(["The cat sat.", "the dog!"])
    >>> layer(["the cow sat"]).tolist()
    [[2, 1, 3, 0]]

    Functions of one's own for `standardize` and `split` are called with one text; the latter gives a list of words.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace",
        ngrams: Any = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights: Any = None,
        encoding: str = "utf-8",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not callable(standardize) and standardize not in _STANDARDS:
            known = ", ".join(map(repr, _STANDARDS))
            raise ValueError(f"[TextVectorization] standardize is one of {known} or a function: got {standardize!r}")
        if not callable(split) and split not in (None, "whitespace", "character"):
            raise ValueError(f"[TextVectorization] split is None, 'whitespace', 'character' or a function: got {split!r}")
        if output_mode not in (*MODES,) or output_mode == "one_hot":
            raise ValueError(f"[TextVectorization] output_mode is 'int', 'multi_hot', 'count' or 'tf_idf': got {output_mode!r}")
        if output_sequence_length is not None and output_mode != "int":
            raise ValueError("[TextVectorization] output_sequence_length is for output_mode 'int'")
        self.max_tokens, self.standardize, self.split, self.ngrams = max_tokens, standardize, split, ngrams
        self.output_mode, self.output_sequence_length, self.pad_to_max_tokens = output_mode, output_sequence_length, pad_to_max_tokens
        self.encoding = encoding
        self._widths = range(1, ngrams + 1) if isinstance(ngrams, int) else ngrams
        self.lookup = StringLookup(
            max_tokens,
            mask_token="",
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            output_mode=output_mode,
            pad_to_max_tokens=pad_to_max_tokens,
            encoding=encoding,
        )

    def get_config(self) -> dict[str, Any]:
        self.vocabulary, self.idf_weights = self.lookup.vocabulary, self.lookup.idf_weights
        return super().get_config()

    def words(self, text: Any) -> list[str]:
        """Splits a text into words; with `ngrams`, n-grams are included."""
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
        """Builds the vocabulary from texts, by decreasing frequency."""
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
