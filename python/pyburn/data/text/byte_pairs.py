"""Byte-level byte-pair encoding as in GPT-2: any text can be encoded and decodes to itself."""

from __future__ import annotations

import heapq
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..._core import FormatError
from ..._progress import Progress
from .tokenisers import Tokeniser, special_splitter, split_specials

# Contractions, an optional space with letters, digits or punctuation, and whitespace; \w without digits and _ means letters.
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"


class BytePairTokeniser(Tokeniser):
    """Byte-level BPE tokenizer. The vocabulary is the 256 bytes, then the merged tokens, then the special tokens.

    Training repeatedly merges the most frequent pair of adjacent tokens within words; ties are broken by the smaller ids, so the result is
    deterministic.

    Args:
        merges: The pairs of token ids to merge, in order.
        specials: The special tokens.
        pattern: The regular expression that splits text into words.

    Raises:
        FormatError: A merge is invalid, or a merge or special token is repeated.

    >>> bpe = BytePairTokeniser.train("low lower lowest", vocab_size=260)
    >>> bpe.decode(bpe.encode("lower, ΩΩ"))
    'lower, ΩΩ'
    """

    kind = "byte-pairs"

    def __init__(self, merges: Sequence[tuple[int, int]], specials: Sequence[str] = (), pattern: str = PATTERN) -> None:
        self.merges = [(int(a), int(b)) for a, b in merges]
        self.specials, self.pattern = list(specials), pattern
        self._pieces = [bytes([i]) for i in range(256)]
        for first, second in self.merges:
            if not (0 <= first < len(self._pieces) and 0 <= second < len(self._pieces)):
                raise FormatError(f"[tokeniser] a merge names the pieces {first} and {second} of {len(self._pieces)}")
            piece = self._pieces[first] + self._pieces[second]
            if len(piece) > 1 << 16:
                raise FormatError("[tokeniser] a piece has more than 65536 bytes")
            self._pieces.append(piece)
        self._rank = {pair: i for i, pair in enumerate(self.merges)}
        if len(self._rank) != len(self.merges) or len(set(self.specials)) != len(self.specials):
            raise FormatError("[tokeniser] a merge or special token occurs twice")
        self._special_number = {token: len(self._pieces) + i for i, token in enumerate(self.specials)}
        self._split = special_splitter(self.specials)
        self._word = re.compile(pattern)
        self._known: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        vocab_size: int = 1256,
        specials: Sequence[str] = (),
        min_frequency: int = 2,
        pattern: str = PATTERN,
        progress: bool = True,
    ) -> BytePairTokeniser:
        """Trains a tokenizer on texts.

        Args:
            texts: A text or several.
            vocab_size: The maximum size of the vocabulary, including bytes and special tokens.
            specials: The special tokens.
            min_frequency: The minimum frequency of a pair to be merged.
            pattern: The regular expression that splits text into words.
            progress: Whether to draw a progress bar on a terminal if training takes longer than a moment.

        Returns:
            The tokeniser.

        Raises:
            ValueError: vocab_size is less than 256 plus the number of special tokens.
        """
        wanted = vocab_size - 256 - len(specials)
        if wanted < 0:
            raise ValueError(f"[tokeniser] vocab_size must be at least {256 + len(specials)}: got {vocab_size}")
        splitter, word = special_splitter(specials), re.compile(pattern)
        counts: Counter[str] = Counter()
        read = [texts] if isinstance(texts, str) else texts
        for text in Progress(read, "reading texts") if progress else read:
            for part, special in split_specials(text, splitter):
                if not special:
                    counts.update(word.findall(part))
        merges = _train(counts, max(1, min_frequency))
        found = Progress(merges, "merging", wanted) if progress else merges
        return cls(list(itertools.islice(found, wanted)), specials, pattern)

    def encode(self, text: str) -> list[int]:
        numbers: list[int] = []
        for part, special in split_specials(text, self._split):
            if special:
                numbers.append(self._special_number[part])
                continue
            for word in self._word.findall(part):
                known = self._known.get(word)
                if known is None:
                    known = self._merged(list(word.encode("utf-8", "surrogatepass")))
                    if len(self._known) < 1 << 16:
                        self._known[word] = known
                numbers.extend(known)
        return numbers

    def _merged(self, pieces: list[int]) -> list[int]:
        """Merges the bytes of a word in training order, with a heap so that long words stay fast."""
        if len(pieces) < 2:
            return pieces
        after = [*range(1, len(pieces)), -1]
        before = list(range(-1, len(pieces) - 1))
        alive = [True] * len(pieces)
        rank = self._rank
        heap = [(rank[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in rank]
        heapq.heapify(heap)
        while heap:
            order, at = heapq.heappop(heap)
            right = after[at]
            if not alive[at] or right < 0 or rank.get((pieces[at], pieces[right])) != order:
                continue
            pieces[at], alive[right] = 256 + order, False
            after[at] = after[right]
            if after[right] >= 0:
                before[after[right]] = at
                self._offer(heap, pieces, at, after[at])
            if before[at] >= 0:
                self._offer(heap, pieces, before[at], at)
        return [piece for piece, here in zip(pieces, alive) if here]

    def _offer(self, heap: list[tuple[int, int]], pieces: list[int], left: int, right: int) -> None:
        order = self._rank.get((pieces[left], pieces[right]))
        if order is not None:
            heapq.heappush(heap, (order, left))

    def decode_bytes(self, numbers: Iterable[int]) -> bytes:
        """Returns the bytes of token ids; special tokens as their text.

        Args:
            numbers: The token ids.

        Raises:
            IndexError: An id is out of range.
        """
        parts = []
        for number in map(int, numbers):
            if not 0 <= number < len(self):
                raise IndexError(f"[tokeniser] there are {len(self)} pieces: got the number {number}")
            parts.append(self._pieces[number] if number < len(self._pieces) else self.specials[number - len(self._pieces)].encode())
        return b"".join(parts)

    def decode(self, numbers: Iterable[int]) -> str:
        """Returns the text of token ids; invalid UTF-8, as in a truncated sequence, becomes U+FFFD.

        Args:
            numbers: The token ids.
        """
        return self.decode_bytes(numbers).decode("utf-8", "replace")

    def __len__(self) -> int:
        return len(self._pieces) + len(self.specials)

    def state(self) -> dict[str, Any]:
        return {"merges": self.merges, "specials": self.specials, "pattern": self.pattern}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> BytePairTokeniser:
        return cls([(a, b) for a, b in state["merges"]], state["specials"], state["pattern"])


def _train(counts: Counter[str], min_frequency: int) -> Iterator[tuple[int, int]]:
    """Yields the merges. Pairs are counted once; each merge updates only the words in which it occurs."""
    words = [list(word.encode("utf-8", "surrogatepass")) for word in counts]
    times = list(counts.values())
    pairs: Counter[tuple[int, int]] = Counter()
    where: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for i, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += times[i]
            where[pair].add(i)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    new = 256
    while heap:
        count, pair = heapq.heappop(heap)
        if pairs.get(pair, 0) != -count:  # a stale heap entry
            if pairs.get(pair, 0) > 0 and -count > pairs[pair]:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        if -count < min_frequency:
            break
        changed: set[tuple[int, int]] = set()
        for i in where.pop(pair):
            words[i] = _replaced(words[i], pair, new, i, times[i], pairs, where, changed)
        pairs.pop(pair, None)
        for other in changed:
            if pairs.get(other, 0) > 0:
                heapq.heappush(heap, (-pairs[other], other))
        new += 1
        yield pair


def _replaced(
    word: list[int],
    pair: tuple[int, int],
    new: int,
    number: int,
    times: int,
    pairs: Counter[tuple[int, int]],
    where: defaultdict[tuple[int, int], set[int]],
    changed: set[tuple[int, int]],
) -> list[int]:
    made: list[int] = []
    at = 0
    while at < len(word):
        if at + 1 < len(word) and (word[at], word[at + 1]) == pair:
            made.append(new)
            at += 2
        else:
            made.append(word[at])
            at += 1
    if len(made) == len(word):
        return word
    for gone in zip(word, word[1:]):
        pairs[gone] -= times
    for there in zip(made, made[1:]):
        pairs[there] += times
        where[there].add(number)
        if new in there:
            changed.add(there)
    return made
