"""Tokenisers: characters, words, byte pairs; vocabularies; batches of sequences."""

from __future__ import annotations

import io
import os
import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn import FormatError
from pyburn.data import text

DATA = os.environ.get("PYBURN_DATA")
STORY = "the cat sat on the mat; the cat's hat, 123 hats!  ÄÖ 日本語\n" * 5


def naive_merges(words: list[bytes], times: list[int], wanted: int) -> list[tuple[int, int]]:
    """Byte-pair training as its definition says it, pair by pair over everything."""
    pieces = [list(word) for word in words]
    merges: list[tuple[int, int]] = []
    while len(merges) < wanted:
        counts: Counter[tuple[int, int]] = Counter()
        for word, n in zip(pieces, times):
            for pair in zip(word, word[1:]):
                counts[pair] += n
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        pieces = [merged(word, best, 255 + len(merges)) for word in pieces]
    return merges


def merged(word: list[int], pair: tuple[int, int], new: int) -> list[int]:
    made: list[int] = []
    for piece in word:
        if made and (made[-1], piece) == pair:
            made[-1] = new
        else:
            made.append(piece)
    return made


def random_words(rng: random.Random) -> str:
    return " ".join("".join(rng.choice("aab") for _ in range(rng.randint(1, 9))) for _ in range(60))


@pytest.mark.parametrize("seed", range(6))
def test_training_is_what_its_definition_says(seed: int) -> None:
    body = random_words(random.Random(seed)) if seed else STORY
    bpe = text.BytePairTokeniser.train(body, 256 + 40)
    counts = Counter(bpe._word.findall(body))
    assert bpe.merges == naive_merges([word.encode() for word in counts], list(counts.values()), 40)


@pytest.mark.parametrize("seed", range(4))
def test_encoding_applies_merges_in_order(seed: int) -> None:
    rng = random.Random(seed)
    bpe = text.BytePairTokeniser.train(random_words(rng), 256 + 30)
    for _ in range(20):
        word = "".join(rng.choice("aab") for _ in range(rng.randint(1, 40)))
        pieces = list(word.encode())
        for i, pair in enumerate(bpe.merges):
            pieces = merged(pieces, pair, 256 + i)
        assert bpe.encode(word) == pieces


def test_any_text_decodes_to_itself() -> None:
    bpe = text.BytePairTokeniser.train(STORY, 300, specials=["<|end|>"])
    rng = random.Random(1)
    for _ in range(50):
        sample = "".join(
            chr(rng.choice([rng.randrange(32, 127), rng.randrange(0xA0, 0xD7FF), 10, 9, rng.randrange(0x10000, 0x10FFFF)]))
            for _ in range(40)
        )
        assert bpe.decode(bpe.encode(sample)) == sample
    assert bpe.decode(bpe.encode("")) == "" and len(bpe.encode("a" * 100_000)) > 0


def test_special_tokens_stay_whole() -> None:
    bpe = text.BytePairTokeniser.train(STORY, 300, specials=["<|end|>", "<|end|>er"])
    numbers = bpe.encode("the cat<|end|>er<|end|>")
    assert numbers[-2:] == [len(bpe) - 1, len(bpe) - 2] and len(bpe) == bpe.vocab_size
    assert bpe.decode(numbers) == "the cat<|end|>er<|end|>"
    assert bpe.decode(bpe.encode("é")[:1]) == "\ufffd" and bpe.decode_bytes(bpe.encode("é")) == "é".encode()


def test_training_stops_when_nothing_repeats() -> None:
    assert len(text.BytePairTokeniser.train("abc", 1000)) == 256
    with pytest.raises(ValueError, match="vocab_size must be at least 257"):
        text.BytePairTokeniser.train("abc", 256, specials=["x"])
    with pytest.raises(IndexError, match="there are 256 pieces: got the number 256"):
        text.BytePairTokeniser([]).decode([256])


def test_long_training_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("PYBURN_DISPLAY", raising=False)
    monkeypatch.setattr("pyburn._progress._PATIENCE", 0.0)
    monkeypatch.setattr("pyburn._progress._REDRAW_SECONDS", 0.0)
    found = []
    for progress in (True, False):
        monkeypatch.setattr(sys, "stderr", Terminal())
        found.append(text.BytePairTokeniser.train(["low lower lowest"] * 3, vocab_size=260, progress=progress).merges)
        shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
        assert ("reading texts" in shown and "3/3" in shown and "merging" in shown and "3/4" in shown) is progress
    assert found[0] == found[1] and len(found[0]) == 4


def test_characters_and_words() -> None:
    chars = text.CharTokeniser.train(["hello", "world"], specials=["<s>"], unknown="<s>")
    assert chars.decode(chars.encode("<s>hold")) == "<s>hold" and chars.encode("q") == [0]
    with pytest.raises(KeyError, match="'z.?' is not in the vocabulary of 4 tokens"):
        text.CharTokeniser.train("hello").encode("z")
    words = text.WordTokeniser.train(STORY, max_size=6)
    assert words.vocabulary.tokens == ["<pad>", "<unk>", "the", "!", ",", "123"]
    assert words.words("It's <pad>, ok") == ["it's", "<pad>", ",", "ok"]
    assert words.decode(words.encode("THE zebra")) == "the <unk>"


@pytest.mark.parametrize("kind", ["char", "word", "byte-pairs"])
def test_tokenisers_are_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    made: dict[str, text.Tokeniser] = {
        "char": text.CharTokeniser.train(STORY, ["<s>"]),
        "word": text.WordTokeniser.train(STORY),
        "byte-pairs": text.BytePairTokeniser.train(STORY, 300, ["<s>"]),
    }
    made[kind].save(tmp_path / "t.json")
    loaded = text.load_tokeniser(tmp_path / "t.json")
    assert type(loaded) is type(made[kind]) and loaded.encode(STORY) == made[kind].encode(STORY)
    loaded.save(tmp_path / "u.json")
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "u.json").read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"kind": "other"}',
        '{"kind": "byte-pairs", "merges": [[1, 999]], "specials": [], "pattern": "."}',
        '{"kind": "char"}',
        "[1]",
    ]
    + [
        '{"kind": "byte-pairs", "merges": [[256, 256]], "specials": [], "pattern": "."}',
        '{"kind": "word", "tokens": [], "specials": [], "unknown": null}',
    ],
)
def test_files_that_are_no_tokeniser(content: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(FormatError):
        text.load_tokeniser(tmp_path / "t.json")


def test_a_file_cannot_make_pieces_without_end(tmp_path: Path) -> None:
    doubling = [[97, 97]] + [[256 + i, 256 + i] for i in range(60)]
    with pytest.raises(FormatError, match="more than 65536 bytes"):
        text.BytePairTokeniser([(a, b) for a, b in doubling])


def test_vocabularies() -> None:
    words = text.Vocabulary.from_tokens(["b", "a", "c", "b", "a", "b"], specials=["<unk>"], unknown="<unk>", min_frequency=2)
    assert list(words) == ["<unk>", "b", "a"] and words["c"] == 0 and words.token(1) == "b" and "a" in words
    with pytest.raises(IndexError):
        words.token(3)
    with pytest.raises(ValueError, match="occurs twice"):
        text.Vocabulary(["a", "a"])


def test_sequences_are_padded_and_batched() -> None:
    numbers, mask = text.pad_batch([[1, 2, 3], [4]], padding=9)
    assert numbers.tolist() == [[1, 2, 3], [4, 9, 9]] and mask.tolist() == [[False] * 3, [False, True, True]]
    left, _ = text.pad_batch([[1, 2, 3], [4]], max_length=2, left=True)
    assert left.tolist() == [[2, 3], [0, 4]] and text.pad_batch([])[0].shape == (0, 0)
    lengths = [5, 1, 5, 2, 1, 9]
    batches = list(text.length_batches(lengths, 2, seed=3))
    assert sorted(i for batch in batches for i in batch) == list(range(6)) and batches == list(text.length_batches(lengths, 2, seed=3))
    assert all(abs(lengths[batch[0]] - lengths[batch[-1]]) <= 4 for batch in batches)
    blocks = text.BlockDataset(np.arange(10), 4)
    assert len(blocks) == 2 and blocks[1][0].tolist() == [4, 5, 6, 7] and blocks[1][1].tolist() == [5, 6, 7, 8]
    assert len(text.BlockDataset(pyburn.arange(10), 4, step=1)) == 6 and len(text.BlockDataset([1, 2], 4)) == 0


@pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")
def test_shakespeare_is_encoded_and_decoded() -> None:
    body = (Path(str(DATA)) / "shakespeare" / "input.txt").read_text()
    bpe = text.BytePairTokeniser.train(body, 1256)
    numbers = bpe.encode(body)
    assert len(bpe) == 1256 and bpe.decode(numbers) == body and len(body) / len(numbers) > 2.5
