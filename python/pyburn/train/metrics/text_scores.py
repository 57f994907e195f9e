"""BLEU and ROUGE-L, over words or tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .metric import Ratio, check_choice
from .text import TextMetric

SMOOTHINGS = ("none", "add-epsilon", "exponential")


class _Score(TextMetric):
    """Base class of scores over words; higher is better."""

    higher_is_better = True

    def units(self, text: str) -> Sequence[Hashable]:
        return text.split()


class Bleu(_Score):
    """Corpus BLEU: the geometric mean of n-gram precisions, with a brevity penalty.

    Args:
        name: The name of the metric.
        max_n: The largest n-gram length.
        smoothing: For n-gram lengths without matches: "none" (the score is 0), "add-epsilon" (a small number instead of 0) or "exponential"
            (half as much each time).
        pad: The padding token to ignore.

    Raises:
        ValueError: max_n is not positive, or smoothing is unknown.

    >>> bleu = pyburn.train.metrics.Bleu()
    >>> bleu.update(["the cat sat on the mat"], ["the cat sat on the mat"])
    >>> bleu.compute()
    1.0
    """

    def __init__(self, name: str | None = None, *, max_n: int = 4, smoothing: str = "none", pad: int | None = None) -> None:
        if max_n < 1:
            raise ValueError(f"[Bleu] max_n must be positive: got {max_n}")
        check_choice(self, "smoothing", smoothing, SMOOTHINGS)
        self.max_n, self.smoothing = max_n, smoothing
        super().__init__(name, pad=pad)

    def initial(self) -> dict[str, Any]:
        return {"matches": np.zeros(self.max_n, np.int64), "runs": np.zeros(self.max_n, np.int64), "written": 0, "wanted": 0}

    def add(self, found: Sequence[Hashable], truth: Sequence[Hashable]) -> None:
        for n in range(1, self.max_n + 1):
            written, wanted = (Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (found, truth))
            self.state["matches"][n - 1] += sum((written & wanted).values())
            self.state["runs"][n - 1] += sum(written.values())
        self.state["written"] += len(found)
        self.state["wanted"] += len(truth)

    def compute(self) -> float:
        if not self.state["wanted"]:
            return math.nan
        if not self.state["runs"].all():
            return 0.0
        total, halving = 0.0, 1.0
        for matches, runs in zip(self.state["matches"].tolist(), self.state["runs"].tolist()):
            if not matches and self.smoothing == "none":
                return 0.0
            if not matches:
                halving /= 2
            share = matches if matches else halving if self.smoothing == "exponential" else 0.1
            total += math.log(share / runs)
        brevity = min(0.0, 1 - self.state["wanted"] / self.state["written"])
        return math.exp(total / self.max_n + brevity)


class RougeL(Ratio, _Score):
    """ROUGE-L: the F1 score of the longest common subsequence of prediction and target, averaged over the samples.

    >>> rouge = pyburn.train.metrics.RougeL()
    >>> rouge.update(["the cat sat"], ["the cat sat down"])
    >>> round(rouge.compute(), 4)
    0.8571
    """

    def add(self, found: Sequence[Hashable], truth: Sequence[Hashable]) -> None:
        length = len(found) + len(truth)
        self.state["total"] += 2 * common_length(found, truth) / length if length else 1.0
        self.state["count"] += 1


def common_length(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Returns the length of the longest common subsequence.

    >>> pyburn.train.metrics.text_scores.common_length("abcde", "ace")
    3
    """
    row = [0] * (len(b) + 1)
    for item in a:
        diagonal = 0
        for j, other in enumerate(b, 1):
            above = row[j]
            row[j] = diagonal + 1 if item == other else max(above, row[j - 1])
            diagonal = above
    return row[-1]
