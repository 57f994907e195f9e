"""Vocabularies: mappings between tokens and token ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence


class Vocabulary:
    """Maps tokens to ids, which are their positions.

    Args:
        tokens: The tokens in order.
        unknown: The token whose id is used for unknown tokens; None to raise KeyError instead.

    Raises:
        ValueError: A token is repeated, or unknown is not a token.

    >>> words = Vocabulary.from_tokens(["b", "a", "b"], specials=["<pad>", "<unk>"], unknown="<unk>")
    >>> words["b"], words["a"], words["z"]
    (2, 3, 1)
    """

    def __init__(self, tokens: Iterable[str], unknown: str | None = None) -> None:
        self.tokens = list(tokens)
        self._numbers = {token: i for i, token in enumerate(self.tokens)}
        if len(self._numbers) != len(self.tokens):
            raise ValueError("[vocabulary] a token occurs twice")
        if unknown is not None and unknown not in self._numbers:
            raise ValueError(f"[vocabulary] the unknown token {unknown!r} is not among the tokens")
        self.unknown = unknown

    @classmethod
    def from_tokens(
        cls,
        tokens: Iterable[str],
        specials: Sequence[str] = (),
        unknown: str | None = None,
        min_frequency: int = 1,
        max_size: int | None = None,
    ) -> Vocabulary:
        """Builds a vocabulary: the special tokens, then the others by descending frequency, ties in alphabetical order.

        Args:
            tokens: The tokens of a corpus.
            specials: The special tokens.
            unknown: The token for unknown tokens.
            min_frequency: The minimum frequency of a token.
            max_size: The maximum size of the vocabulary.

        Returns:
            The vocabulary.
        """
        counts = Counter(tokens)
        kept = sorted((token for token, n in counts.items() if n >= min_frequency and token not in specials), key=lambda t: (-counts[t], t))
        if max_size is not None:
            kept = kept[: max(0, max_size - len(specials))]
        return cls([*specials, *kept], unknown)

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def __getitem__(self, token: str) -> int:
        number = self._numbers.get(token)
        if number is None:
            if self.unknown is None:
                raise KeyError(
                    f"[vocabulary] {token!r} is not in the vocabulary of {len(self)} tokens, which has no token for unknown words"
                )
            return self._numbers[self.unknown]
        return number

    def token(self, number: int) -> str:
        """Returns the token with an id.

        Args:
            number: The token id.

        Raises:
            IndexError: The id is out of range.
        """
        if not 0 <= number < len(self.tokens):
            raise IndexError(f"[vocabulary] there are {len(self)} tokens: got the number {number}")
        return self.tokens[number]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"
