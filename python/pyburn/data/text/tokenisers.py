"""Character and word tokenizers. All tokenizers have `encode`, `decode` and `save`; `load_tokeniser` loads them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ...io import atomic_write
from ..damage import format_errors
from .vocabulary import Vocabulary


class Tokeniser:
    """Base class of tokenizers.

    >>> tokeniser = pyburn.data.text.CharTokeniser.train("abc")
    >>> tokeniser.decode(tokeniser.encode("cab"))
    'cab'
    """

    kind: ClassVar[str]

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a text.

        Args:
            text: The text.
        """
        raise NotImplementedError

    def decode(self, numbers: Iterable[int]) -> str:
        """Returns the text of token ids.

        Args:
            numbers: The token ids.
        """
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def vocab_size(self) -> int:
        """The size of the vocabulary."""
        return len(self)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Returns the token ids of several texts.

        Args:
            texts: The texts.
        """
        return [self.encode(text) for text in texts]

    def state(self) -> dict[str, Any]:
        """Returns the JSON-compatible state that is saved to a file."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Tokeniser:
        """Creates a tokenizer from its `state`.

        Args:
            state: A state from `state`.

        Returns:
            The tokeniser.
        """
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the tokenizer as JSON.

        Args:
            path: The file to write.
        """
        text = json.dumps({"kind": self.kind, **self.state()}, ensure_ascii=False, indent=1)
        atomic_write(os.fspath(path), text.encode())


class CharTokeniser(Tokeniser):
    """Character tokenizer: token ids are the special tokens, then the sorted characters of the training text.

    Args:
        vocabulary: The vocabulary.
        specials: The special tokens, which are matched as a whole.

    >>> chars = CharTokeniser.train("hello")
    >>> chars.encode("hole")
    [1, 3, 2, 0]
    """

    kind = "char"

    def __init__(self, vocabulary: Vocabulary, specials: Sequence[str] = ()) -> None:
        self.vocabulary, self.specials = vocabulary, list(specials)
        self._split = special_splitter(self.specials)

    @classmethod
    def train(cls, text: str | Iterable[str], specials: Sequence[str] = (), unknown: str | None = None) -> CharTokeniser:
        """Creates a tokenizer from the characters of texts.

        Args:
            text: A text or several.
            specials: The special tokens.
            unknown: The special token for unknown characters; None to raise KeyError instead.

        Returns:
            The tokeniser.
        """
        seen: set[str] = set()
        for part in [text] if isinstance(text, str) else text:
            seen.update(part)
        return cls(Vocabulary([*specials, *sorted(seen - set(specials))], unknown), specials)

    def encode(self, text: str) -> list[int]:
        numbers = []
        for part, special in split_specials(text, self._split):
            numbers.extend([self.vocabulary[part]] if special else [self.vocabulary[letter] for letter in part])
        return numbers

    def decode(self, numbers: Iterable[int]) -> str:
        return "".join(self.vocabulary.token(int(number)) for number in numbers)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def state(self) -> dict[str, Any]:
        return {"tokens": self.vocabulary.tokens, "specials": self.specials, "unknown": self.vocabulary.unknown}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CharTokeniser:
        return cls(Vocabulary(state["tokens"], state["unknown"]), state["specials"])


class WordTokeniser(Tokeniser):
    """Word tokenizer: tokens are words and punctuation marks, ordered by frequency. Decoding joins them with spaces.

    Args:
        vocabulary: The vocabulary.
        specials: The special tokens, which are matched as a whole.
        lowercase: Whether to convert text to lower case.
        pattern: The regular expression of a token.

    >>> words = WordTokeniser.train(["the cat", "the dog"])
    >>> words.decode(words.encode("The bird, the dog"))
    'the <unk> <unk> the dog'
    """

    kind = "word"

    def __init__(self, vocabulary: Vocabulary, specials: Sequence[str], lowercase: bool, pattern: str) -> None:
        self.vocabulary, self.specials, self.lowercase, self.pattern = vocabulary, list(specials), lowercase, pattern
        self._word = re.compile(pattern)
        self._split = special_splitter(self.specials)

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        specials: Sequence[str] = ("<pad>", "<unk>"),
        unknown: str | None = "<unk>",
        min_frequency: int = 1,
        max_size: int | None = None,
        lowercase: bool = True,
        pattern: str = r"\w+(?:'\w+)?|[^\w\s]",
    ) -> WordTokeniser:
        """Creates a tokenizer from the words of texts.

        Args:
            texts: A text or several.
            specials: The special tokens.
            unknown: The special token for unknown words; None to raise KeyError instead.
            min_frequency: The minimum frequency of a word.
            max_size: The maximum size of the vocabulary.
            lowercase: Whether to convert text to lower case.
            pattern: The regular expression of a token.

        Returns:
            The tokeniser.
        """
        word = re.compile(pattern)
        parts = [texts] if isinstance(texts, str) else texts
        tokens = (found for part in parts for found in word.findall(part.lower() if lowercase else part))
        vocabulary = Vocabulary.from_tokens(tokens, specials, unknown, min_frequency, max_size)
        return cls(vocabulary, specials, lowercase, pattern)

    def words(self, text: str) -> list[str]:
        """Splits a text into tokens, without encoding them.

        Args:
            text: The text.

        Returns:
            The words.
        """
        found: list[str] = []
        for part, special in split_specials(text, self._split):
            found.extend([part] if special else self._word.findall(part.lower() if self.lowercase else part))
        return found

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary[word] for word in self.words(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        return " ".join(self.vocabulary.token(int(number)) for number in numbers)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def state(self) -> dict[str, Any]:
        return {
            "tokens": self.vocabulary.tokens,
            "specials": self.specials,
            "unknown": self.vocabulary.unknown,
            "lowercase": self.lowercase,
            "pattern": self.pattern,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> WordTokeniser:
        return cls(Vocabulary(state["tokens"], state["unknown"]), state["specials"], state["lowercase"], state["pattern"])


def special_splitter(specials: Sequence[str]) -> re.Pattern[str] | None:
    """Returns the pattern that finds special tokens in a text, the longest first."""
    if not specials:
        return None
    return re.compile("(" + "|".join(re.escape(token) for token in sorted(specials, key=lambda token: (-len(token), token))) + ")")


def split_specials(text: str, splitter: re.Pattern[str] | None) -> Iterable[tuple[str, bool]]:
    """Splits a text at special tokens; returns the parts with whether each is a special token."""
    if splitter is None:
        return [(text, False)] if text else []
    return [(part, bool(i % 2)) for i, part in enumerate(splitter.split(text)) if part]


def load_tokeniser(path: str | os.PathLike[str]) -> Tokeniser:
    """Loads a tokenizer from a file.

    Args:
        path: The file.

    Returns:
        The tokeniser.

    Raises:
        FormatError: The file is not a saved tokenizer.

    >>> pyburn.data.text.CharTokeniser.train("abc").save("letters.json")
    >>> pyburn.data.text.load_tokeniser("letters.json").encode("cab")
    [2, 0, 1]
    """
    from .byte_pairs import BytePairTokeniser

    kinds: dict[str, type[Tokeniser]] = {kind.kind: kind for kind in (CharTokeniser, WordTokeniser, BytePairTokeniser)}
    with format_errors(f"[tokeniser] {Path(path).name} holds no tokeniser"):
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        return kinds[state["kind"]].from_state(state)
