"""A small GPT learns to write like Shakespeare, one character or one piece of a word after the other.

python examples/text-generation/generate.py train                    shows a sample after each epoch
python examples/text-generation/generate.py sample "ROMEO:"          goes on from a text
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.config import Config
from pyburn.data import DataLoader, SamplerDataset
from pyburn.data.sets import TinyShakespeare
from pyburn.data.text import BytePairTokeniser, CharTokeniser, Tokeniser, load_tokeniser
from pyburn.io import load_into, save_module
from pyburn.optim.lr_scheduler import NoamLR
from pyburn.train import Learner, Step, When


class GptConfig(Config):
    """Sizes of the model, and how it is trained."""

    vocab: int
    width: int = 96
    heads: int = 4
    layers: int = 3
    block: int = 64  # how far the model looks back
    dropout: float = 0.1
    epochs: int = 4
    items: int = 3200  # blocks drawn for an epoch
    batch_size: int = 16
    accumulate: int = 1  # batches a step
    factor: float = 0.3  # the highest rate is factor / sqrt(width * warmup)
    warmup: int = 150
    weight_decay: float = 1e-6
    seed: int = 42


BURN = {"width": 384, "heads": 12, "layers": 6, "block": 512, "epochs": 50, "items": 10_000, "batch_size": 6, "accumulate": 6}
BURN_RATE = {"factor": 0.01 / 6, "warmup": 6000}


class Gpt(nn.Module):
    """A transformer in which every place sees itself and what comes before it."""

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        self.block = config.block
        self.tokens = nn.Embedding(config.vocab, config.width)
        self.places = nn.Embedding(config.block, config.width)
        for embedding in (self.tokens, self.places):  # small, so that what the layers add to them counts from the start
            nn.init.normal_(embedding.weight, std=0.05)
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, 4 * config.width, config.dropout, "gelu", batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, config.layers, nn.LayerNorm(config.width))
        self.output = nn.Linear(config.width, config.vocab)

    def forward(self, numbers: Tensor) -> Tensor:
        """Numbers (batch, length) to scores of what follows each (batch, length, vocab)."""
        length = numbers.shape[1]
        x = (self.tokens(numbers) + self.places(pyburn.arange(length))) / 2
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.output(self.transformer(x, mask=mask, is_causal=True))

    def generate(self, numbers: list[int], count: int, temperature: float = 0.8, top_k: int = 20) -> list[int]:
        """`count` more numbers, each drawn from the `top_k` likeliest."""
        was_training = self.training
        self.eval()
        numbers = list(numbers)
        with pyburn.no_grad():
            for _ in range(count):
                scores = self(pyburn.tensor([numbers[-self.block :]]))[0, -1] / temperature
                values, places = scores.topk(min(top_k, len(scores)))
                numbers.append(int(places[pyburn.multinomial(values.softmax(0), 1)]))
        self.train(was_training)
        return numbers


def next_token(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Step:
    """The loss over all places of all texts of a batch."""
    numbers, following = batch
    scores, targets = model(numbers).flatten(0, 1), following.flatten()
    return Step(nn.functional.cross_entropy(scores, targets), scores, targets, count=len(targets))


def make_tokeniser(pieces: int) -> Tokeniser:
    text = TinyShakespeare(train=None, block=64).text
    return BytePairTokeniser.train(text, vocab_size=pieces) if pieces else CharTokeniser.train(text)


def train(config: GptConfig, tokeniser: Tokeniser, output: Path, display: str) -> int:
    pyburn.manual_seed(config.seed)
    training = TinyShakespeare(train=True, block=config.block, step=config.block // 4, tokeniser=tokeniser)
    held_out = TinyShakespeare(train=False, block=config.block, tokeniser=tokeniser)
    batches = DataLoader(SamplerDataset(training, config.items), config.batch_size)
    validation = DataLoader(SamplerDataset(held_out, min(len(held_out), config.items // 10), replacement=False, seed=1), config.batch_size)

    model = Gpt(config)
    print(f"{sum(p.numel() for p in model.parameters()):,} weights, {config.vocab} tokens, {len(training.text):,} characters to learn from")
    optimizer = optim.Adam(model.parameters(), weight_decay=config.weight_decay)
    schedule = NoamLR(optimizer, config.width, config.warmup, config.factor)

    def show(learner: Learner) -> None:
        text = tokeniser.decode(model.generate(tokeniser.encode("\n"), 100))
        learner.tell("    " + text.strip().replace("\n", "\n    "))

    learner = Learner(
        model,
        optimizer,
        schedule,
        step=next_token,
        metrics=["perplexity", "accuracy"],
        accumulate=config.accumulate,
        clip_norm=1.0,
        callbacks=[When(on_epoch_end=show)],
    )
    history = learner.fit(batches, validation, config.epochs, run=output, config=config, resume=True, display=display)
    if history.stopped:
        return 130
    tokeniser.save(output / "tokeniser.json")
    save_module(model, output / "model.pyburn", config=config)
    print(f"perplexity on text it has not seen: {history['valid/perplexity'][-1]:.2f} a token\nsaved: {output / 'model.pyburn'}")
    return 0


def sample(output: Path, text: str, count: int, temperature: float, top_k: int, seed: int) -> int:
    model = Gpt(GptConfig.load(output / "model.pyburn"))
    load_into(model, output / "model.pyburn")
    tokeniser = load_tokeniser(output / "tokeniser.json")
    pyburn.manual_seed(seed)
    print(tokeniser.decode(model.generate(tokeniser.encode(text), count, temperature, top_k)))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train and save")
    training.add_argument("--epochs", type=int, help="how many times 3200 blocks of text (default: 4)")
    training.add_argument("--items", type=int, help="blocks an epoch (default: 3200)")
    training.add_argument("--width", type=int, help="numbers that stand for a token inside the model (default: 96)")
    training.add_argument("--pieces", type=int, default=0, help="so many byte pairs as tokens, at least 256 (default: characters)")
    training.add_argument("--burn", action="store_true", help="Burn's sizes and settings: 11 million weights, a day and more on two cores")
    training.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    writing = commands.add_parser("sample", help="write text with the saved model")
    writing.add_argument("text", nargs="?", default="ROMEO:", help="what to go on from (default: ROMEO:)")
    writing.add_argument("--count", type=int, default=300, help="tokens to write (default: 300)")
    writing.add_argument("--temperature", type=float, default=0.8, help="lower is more careful (default: 0.8)")
    writing.add_argument("--top-k", type=int, default=20, help="choose among the likeliest so many (default: 20)")
    writing.add_argument("--seed", type=int, default=0, help="other seeds give other texts")
    for command in (training, writing):
        command.add_argument("--output", type=Path, default=Path("gpt-output"), help="folder of run and model (default: gpt-output)")
    arguments = parser.parse_args()
    if arguments.command == "sample":
        return sample(arguments.output, arguments.text, arguments.count, arguments.temperature, arguments.top_k, arguments.seed)
    tokeniser = make_tokeniser(arguments.pieces)
    config = GptConfig(len(tokeniser), **(BURN | BURN_RATE if arguments.burn else {}))
    changes = {name: value for name in ("epochs", "items", "width") if (value := getattr(arguments, name))}
    return train(config.replace(**changes), tokeniser, arguments.output, arguments.display)


if __name__ == "__main__":
    sys.exit(main())
