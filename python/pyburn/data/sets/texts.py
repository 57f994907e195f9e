"""Text data sets: tiny Shakespeare, AG News, movie reviews."""

from __future__ import annotations

from typing import Any

from ..._core import Tensor
from ..files import FormatError, read_csv, read_lines
from ..files.source import read_text
from ..text import BlockDataset, CharTokeniser, Tokeniser
from .place import Files, LabelledSet, NamedSet, Resource, Root, raw_github


class TinyShakespeare(NamedSet[tuple[Tensor, Tensor]], counted="sequences"):
    """A million characters of Shakespeare, for language models. Samples are (token ids, the same shifted by one).

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: True for the first 90 % of the text, False for the rest, None for all.
        block: The number of tokens per sample.
        step: The distance between the starts of samples; None for no overlap.
        tokeniser: The tokenizer; by default one over the characters of the whole text.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The file is missing and is not downloaded.

    >>> pyburn.data.sets.TinyShakespeare().text[:13]  # doctest: +SKIP
    'First Citizen'
    """

    def __init__(
        self,
        root: Root = None,
        train: bool | None = True,
        block: int = 128,
        step: int | None = None,
        tokeniser: Tokeniser | None = None,
        download: bool = True,
    ) -> None:
        # From karpathy/char-rnn at the commit below, data/tinyshakespeare/input.txt; the git blob hash is 7dcb3a2.
        urls = raw_github("karpathy/char-rnn", "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e", "data/tinyshakespeare/input.txt")
        checksum = "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
        files = Files("TinyShakespeare", (("input.txt",),), ("shakespeare", "tinyshakespeare"), (Resource("input.txt", urls, checksum),))
        whole = read_text(files.locate(root, download)[0], "tinyshakespeare")
        cut = len(whole) * 9 // 10
        self.text = whole if train is None else whole[:cut] if train else whole[cut:]
        self.tokeniser = CharTokeniser.train(whole) if tokeniser is None else tokeniser
        self._blocks = BlockDataset(self.tokeniser.encode(self.text), block, step)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self._blocks[index]


class TextSet(LabelledSet, counted="texts"):
    """Base class of text classification data sets: `texts`, `targets`, `classes`. Samples are (text, class index).

    >>> text, label = pyburn.data.sets.AGNews(train=False)[0]  # doctest: +SKIP
    """

    classes: list[str]
    texts: list[str]
    targets: list[int]

    def __len__(self) -> int:
        return len(self.texts)

    def _sample(self, at: int) -> tuple[Any, Any]:
        return self.texts[at], self.targets[at]


class AGNews(TextSet):
    """News articles in four classes: 120,000 for training, 7,600 for testing. A text is the title, a space and the description.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: Whether to load the training set or the test set.
        transform: Applied to the text.
        target_transform: Applied to the class index.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.
        FormatError: A file is damaged.

    >>> len(pyburn.data.sets.AGNews(train=True))  # doctest: +SKIP
    120000
    """

    classes = ["World", "Sports", "Business", "Sci/Tech"]

    def _load(self, root: Root, download: bool) -> None:
        name = "train.csv" if self.train else "test.csv"
        # From mhjabreel/CharCnn_Keras at the commit below; the checksums are from torchtext/datasets/ag_news.py.
        urls = raw_github("mhjabreel/CharCnn_Keras", "555590db4219b1243abb1918effd6a7425a2d75f", f"data/ag_news_csv/{name}")
        checksum = "md5:b1a00f826fdfbd249f79597b59e1dc12" if self.train else "md5:d52ea96a97a2d943681189a97654912d"
        files = Files("AGNews", ((name,),), ("ag_news", "ag_news_csv", "AG_NEWS"), (Resource(name, urls, checksum),))
        table = read_csv(files.locate(root, download)[0], header=False, names=["class", "title", "description"], missing=())
        labels = table["class"].tolist()
        if not all(isinstance(label, int) and 1 <= label <= 4 for label in labels):
            raise FormatError("[AGNews] a row has a class that is not 1 to 4")
        self.texts = [f"{title} {description}" for title, description in zip(table["title"], table["description"])]
        self.targets = [label - 1 for label in labels]


class MovieReviews(TextSet):
    """Sentences of movie reviews, 5,331 positive and 5,331 negative (Pang and Lee 2005).

    There is no standard split: every tenth sentence is for testing.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: True for the training sentences, False for the test sentences, None for all.
        transform: Applied to the text.
        target_transform: Applied to the class index.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.

    >>> len(pyburn.data.sets.MovieReviews(train=None))  # doctest: +SKIP
    10662
    """

    classes = ["negative", "positive"]

    def _load(self, root: Root, download: bool) -> None:
        # From dennybritz/cnn-text-classification-tf at the commit below; the git blob hashes are c3a8694 and 16fe138.
        repository, commit = "dennybritz/cnn-text-classification-tf", "18762b459e21d9c70e5c242f8d43fc4e6db37a0d"
        checksums = {
            "rt-polarity.neg": "sha256:2d11cfbc790f1cd96d78339f41ce53ced1efa83cd22d37d6788fa3fe3d17e2fd",
            "rt-polarity.pos": "sha256:4134882974a28d0c7b5151256f0e33a6169984ee7372c279e673f1114f475d58",
        }
        resources = tuple(
            Resource(name, raw_github(repository, commit, f"data/rt-polaritydata/{name}"), checksum) for name, checksum in checksums.items()
        )
        files = Files("MovieReviews", tuple((name,) for name in checksums), ("rt_polarity", "rt-polaritydata"), resources)
        self.texts, self.targets = [], []
        for label, path in enumerate(files.locate(root, download)):
            for i, line in enumerate(read_lines(path, "latin-1")):
                if self.train is None or (i % 10 != 9) == self.train:
                    self.texts.append(line.strip())
                    self.targets.append(label)
