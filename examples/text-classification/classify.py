"""A transformer learns to tell what news are about: the world, sports, business, science.

python examples/text-classification/classify.py train
python examples/text-classification/classify.py infer "The central bank raised its rates again"
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.config import Config
from pyburn.data import DataLoader, InMemDataset, SamplerDataset
from pyburn.data.sets import AGNews
from pyburn.data.text import WordTokeniser, load_tokeniser, pad_batch
from pyburn.io import load_into, save_module
from pyburn.optim.lr_scheduler import NoamLR
from pyburn.train import Learner
from pyburn.train.metrics import ConfusionMatrix

SPECIALS = ("<pad>", "<unk>", "<class>")  # the class is read off at a token of its own, in front of the text
EXAMPLES = (
    "Jays power up to take finale. Contrary to popular belief, the power never really snapped back at the stadium on Sunday",
    "Yemen sentences 15 militants on terror charges. A court in the capital has sentenced one of them to death",
    "IBM puts grids to work. The company will announce a new family of servers and software for scientific computing",
    "Oil prices climb again as stocks fall; analysts expect the central bank to raise rates",
)
Item = tuple[list[int], int]


class NewsConfig(Config):
    """Sizes of the model, and how it is trained."""

    vocab: int
    classes: int = 4
    width: int = 64
    hidden: int = 256
    heads: int = 4
    layers: int = 2
    length: int = 64  # longer texts are cut
    dropout: float = 0.1
    epochs: int = 2
    items: int = 6840  # texts drawn for an epoch
    batch_size: int = 32
    factor: float = 0.1  # the highest rate is factor / sqrt(width * warmup)
    warmup: int = 100
    weight_decay: float = 5e-5
    seed: int = 42


BURN = {"width": 128, "hidden": 512, "layers": 4, "length": 256, "epochs": 5, "items": 25_000, "factor": 1e-2, "warmup": 1000}


class NewsClassifier(nn.Module):
    """Embeddings of words and places, a transformer, and a linear layer on what it makes of the first place."""

    def __init__(self, config: NewsConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab, config.width)
        self.places = nn.Embedding(config.length, config.width)
        for embedding in (
            self.words,
            self.places,
        ):  # small, so that words that are seen a few times only move most of their way by learning
            nn.init.normal_(embedding.weight, std=0.05)
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, config.hidden, config.dropout, "gelu", batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, config.layers, nn.LayerNorm(config.width), enable_nested_tensor=False)
        self.output = nn.Linear(config.width, config.classes)

    def forward(self, numbers: Tensor, padding: Tensor) -> Tensor:
        """Numbers (batch, length) and which of them are padding, to scores (batch, classes)."""
        x = (self.words(numbers) + self.places(pyburn.arange(numbers.shape[1]))) / 2
        return self.output(self.transformer(x, src_key_padding_mask=padding)[:, 0])


def encode(tokeniser: WordTokeniser, text: str, length: int) -> list[int]:
    return tokeniser.encode("<class>")[:1] + tokeniser.encode(text)[: length - 1]


def collate(items: list[Item]) -> tuple[Tensor, Tensor, Tensor]:
    """A batch is as long as its longest text."""
    numbers, padding = pad_batch([numbers for numbers, _ in items])
    return numbers, padding, pyburn.tensor([label for _, label in items])


def load_news(whole: bool, limit: int | None) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Texts to learn from and to validate with.

    `whole` takes the 120,000 of the training file and the 7,600 of the test file; else the test file alone is split: every tenth validates.
    """
    small = list(zip((news := AGNews(train=False)).texts, news.targets))[:limit]
    if not whole:
        return [pair for i, pair in enumerate(small) if i % 10 != 9], small[9::10]
    return list(zip((news := AGNews(train=True)).texts, news.targets))[:limit], small


def train(changes: dict[str, float], whole: bool, limit: int | None, output: Path, display: str) -> int:
    texts, held_out = load_news(whole, limit)
    tokeniser = WordTokeniser.train((text for text, _ in texts), specials=SPECIALS, max_size=30_000 if whole else 10_000, min_frequency=2)
    config = NewsConfig(vocab=len(tokeniser), **changes)
    pyburn.manual_seed(config.seed)

    def as_numbers(pairs: list[tuple[str, int]]) -> InMemDataset[Item]:
        return InMemDataset((encode(tokeniser, text, config.length), label) for text, label in pairs)

    training = SamplerDataset(as_numbers(texts), min(config.items, len(texts)), replacement=False)
    batches = DataLoader(training, config.batch_size, shuffle=True, collate_fn=collate)
    validation = DataLoader(as_numbers(held_out), 4 * config.batch_size, collate_fn=collate)
    model = NewsClassifier(config)
    print(f"{sum(p.numel() for p in model.parameters()):,} weights, {config.vocab:,} words")
    print(f"{len(texts):,} texts to learn from, {len(held_out):,} to validate with")
    optimizer = optim.Adam(model.parameters(), weight_decay=config.weight_decay)
    schedule = NoamLR(optimizer, config.width, config.warmup, config.factor)
    learner = Learner(model, optimizer, schedule, nn.CrossEntropyLoss(), ["accuracy", ConfusionMatrix(labels=AGNews.classes)])
    history = learner.fit(batches, validation, config.epochs, run=output, config=config, resume=True, display=display)
    if history.stopped:
        return 130
    print(f"accuracy on texts it has not seen: {history['valid/accuracy'][-1]:.2%}")
    tokeniser.save(output / "tokeniser.json")
    save_module(model, output / "model.pyburn", config=config)
    return infer(output, EXAMPLES)


def infer(output: Path, texts: tuple[str, ...]) -> int:
    """Classifies texts with what was saved."""
    config = NewsConfig.load(output / "model.pyburn")
    model = NewsClassifier(config)
    load_into(model, output / "model.pyburn")
    model.eval()
    tokeniser = load_tokeniser(output / "tokeniser.json")
    assert isinstance(tokeniser, WordTokeniser)
    numbers, padding = pad_batch([encode(tokeniser, text, config.length) for text in texts])
    with pyburn.inference_mode():
        chances = model(numbers, padding).softmax(1)
    for text, row in zip(texts, chances):
        print(f"{AGNews.classes[int(row.argmax())]:>8} {float(row.max()):4.0%}  {text}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train, save and classify some texts")
    training.add_argument("--epochs", type=int, help="how often to see every text (default: 2)")
    training.add_argument("--limit", type=int, help="the first so many texts only")
    training.add_argument("--whole", action="store_true", help="learn from the training file of 120,000 texts, which may be downloaded")
    training.add_argument("--burn", action="store_true", help="Burn's sizes and settings, with the whole set: hours on two cores")
    training.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    using = commands.add_parser("infer", help="classify with the saved model")
    using.add_argument("texts", nargs="*", default=EXAMPLES, help="texts to classify (default: some examples)")
    for command in (training, using):
        command.add_argument("--output", type=Path, default=Path("news-output"), help="folder of run and model (default: news-output)")
    arguments = parser.parse_args()
    if arguments.command == "infer":
        return infer(arguments.output, tuple(arguments.texts))
    changes = dict(BURN) if arguments.burn else {}
    if arguments.epochs:
        changes["epochs"] = arguments.epochs
    return train(changes, arguments.whole or arguments.burn, arguments.limit, arguments.output, arguments.display)


if __name__ == "__main__":
    sys.exit(main())
