"""BERT's tokeniser (Devlin et al. 2018; Wu et al. 2016): words in lower case without accents, split into the longest known pieces."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path


class WordPieces:
    """Token ids of texts, from the list of pieces of a checkpoint (vocab.txt). Pieces inside of a word begin with ##."""

    def __init__(self, vocabulary: Path, longest_word: int = 100) -> None:
        self.ids = {piece: i for i, piece in enumerate(vocabulary.read_text(encoding="utf-8").splitlines())}
        self.longest_word = longest_word

    def __call__(self, text: str, length: int = 256) -> list[int]:
        """At most `length` ids: [CLS], the pieces, [SEP]."""
        pieces = [piece for word in self.words(text) for piece in self.pieces(word)][: length - 2]
        return [self.ids["[CLS]"], *pieces, self.ids["[SEP]"]]

    def words(self, text: str) -> Iterator[str]:
        """Words and single marks of punctuation. Chinese characters are words of their own."""
        word = ""
        for c in unicodedata.normalize("NFD", text.lower()):
            kind = unicodedata.category(c)
            if kind == "Mn" or (kind.startswith("C") and c not in "\t\n\r"):  # accents, control characters
                continue
            if c.isspace() or is_punctuation(c, kind) or is_chinese(c):
                if word:
                    yield word
                word = ""
                if not c.isspace():
                    yield c
            else:
                word += c
        if word:
            yield word

    def pieces(self, word: str) -> list[int]:
        """The longest known piece at the beginning of the word, then of the rest; [UNK] where none is known."""
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return [self.ids["[UNK]"]]
            found.append(self.ids[piece])
            start = end
        return found if len(word) <= self.longest_word else [self.ids["[UNK]"]]


def is_punctuation(c: str, kind: str) -> bool:
    return kind.startswith("P") or (c.isascii() and not c.isalnum() and not c.isspace())


def is_chinese(c: str) -> bool:
    ranges = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2FA1F), (0xF900, 0xFAFF))
    return any(low <= ord(c) <= high for low, high in ranges)
