"""Digits that are shifted, sheared, scaled and turned: the flagship training, with everything that a real one has.

python examples/mnist/mnist.py [--quick | --burn] [--output FOLDER]

Batch norm, AdamW, a learning rate made of three schedules, early stopping, checkpoints, and an evaluation on each of the 16 ways to combine
four kinds of distortion. Ctrl-C stops and saves; the same command goes on.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.config import Config
from pyburn.data import ComposedDataset, DataLoader, Dataset, numpy_random
from pyburn.data.sets import MNIST
from pyburn.io import save_module
from pyburn.optim.lr_scheduler import Schedule, ScheduledLR
from pyburn.train import Best, EarlyStopping, Last, Learner


class MnistConfig(Config):
    """How it is trained. The default takes some minutes on two cores."""

    epochs: int = 3
    batch_size: int = 256
    drawn: int = 1_000  # pictures an epoch, times the number of distortions, for each of the 16 combinations
    validated: int = 250  # pictures of each combination
    tested: int = 1_000
    cycles: float = 3.0  # of the cosine in the schedule; training ends at the bottom of the last one
    patience: int = 5
    weight_decay: float = 5e-5
    seed: int = 42


QUICK = MnistConfig(epochs=2, drawn=250, validated=50, tested=250)
BURN = MnistConfig(epochs=5, drawn=10_000, validated=5_000, tested=10_000, cycles=3.125)


# --- distortions: each is a map of the plane as a matrix, and any of them compose by multiplication -----------------------


def translate(random: np.random.Generator) -> np.ndarray:
    x, y = random.uniform(-0.2, 0.2, 2)
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]])


def shear(random: np.random.Generator) -> np.ndarray:
    x, y = random.uniform(-0.6, 0.6, 2)
    return np.array([[1, x, 0], [y, 1, 0], [0, 0, 1]])


def scale(random: np.random.Generator) -> np.ndarray:
    x, y = random.uniform(0.6, 1.5, 2)
    return np.diag([x, y, 1.0])


def rotate(random: np.random.Generator) -> np.ndarray:
    angle = random.uniform(-np.pi / 4, np.pi / 4)
    sine, cosine = np.sin(angle), np.cos(angle)
    return np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])


KINDS = {"Tr": translate, "Sr": shear, "Sc": scale, "Ro": rotate}
COMBINATIONS = [kinds for count in range(5) for kinds in itertools.combinations(KINDS, count)]


def title(kinds: Sequence[str]) -> str:
    return "Plain" if not kinds else "All" if len(kinds) == len(KINDS) else " ".join(kinds)


class DistortedDigits(Dataset[tuple[Tensor, Tensor, int]]):
    """`count` pictures, each with a random map of the given kinds.

    With a seed they are the first ones, always with the same maps; without one they are drawn anew each time.
    """

    def __init__(self, images: Tensor, labels: Tensor, kinds: Sequence[str], count: int, seed: int | None = None) -> None:
        self.images, self.labels, self.kinds, self.count, self.seed = images, labels.tolist(), kinds, count, seed

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, int]:
        random = numpy_random() if self.seed is None else np.random.default_rng((self.seed, index))
        chosen = index % len(self.images) if self.seed is not None else int(random.integers(len(self.images)))
        matrix = np.eye(3)
        for kind in self.kinds:
            matrix = matrix @ KINDS[kind](random)
        return self.images[chosen], pyburn.from_numpy(matrix[:2].astype(np.float32)), self.labels[chosen]


def collate(items: list[tuple[Tensor, Tensor, int]]) -> tuple[Tensor, Tensor]:
    """Warps the pictures of a batch, all at once."""
    images, matrices, labels = zip(*items)
    batch = pyburn.stack(list(images)).unsqueeze(1)
    grid = nn.functional.affine_grid(pyburn.stack(list(matrices)), list(batch.shape), align_corners=False)
    warped = nn.functional.grid_sample(batch, grid, align_corners=False)
    return (warped - 0.1307) / 0.3081, pyburn.tensor(labels)


def make_loaders(config: MnistConfig) -> tuple[DataLoader, DataLoader, dict[str, DataLoader]]:
    """Batches to learn from, to validate with, and a test of each combination by its name."""
    known, test = MNIST(train=True), MNIST(train=False)
    images, labels = known.data.float() / 255, known.targets
    test_images = test.data.float() / 255
    learnt = [DistortedDigits(images[:55_000], labels[:55_000], kinds, config.drawn * len(kinds)) for kinds in COMBINATIONS if kinds]
    held = [DistortedDigits(images[55_000:], labels[55_000:], kinds, config.validated, seed=1) for kinds in COMBINATIONS]
    options: dict[str, Any] = {"collate_fn": collate, "num_workers": 2}
    tests = {title(kinds): DistortedDigits(test_images, test.targets, kinds, config.tested, seed=2) for kinds in COMBINATIONS}
    return (
        DataLoader(ComposedDataset(learnt), config.batch_size, shuffle=True, **options),
        DataLoader(ComposedDataset(held), config.batch_size, **options),
        {name: DataLoader(data, config.batch_size, **options) for name, data in tests.items()},
    )


# --- model and training --------------------------------------------------------------------------------------------------


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


def build() -> nn.Sequential:
    """Two convolutions and three linear layers: 260,554 weights."""
    return nn.Sequential(
        *(block(1, 64), block(64, 64), nn.Flatten()),
        *(nn.Linear(1600, 128), nn.GELU(), nn.Dropout(0.25)),
        *(nn.Linear(128, 128), nn.GELU(), nn.Dropout(0.25)),
        nn.Linear(128, 10),
    )


def learning_rate(steps: int, cycles: float) -> Schedule:
    """Waves, a rise at the beginning and a long fall, multiplied. With Burn's 6,250 steps: waves and rise of 2,000, a fall over 10,000."""
    wave = max(round(steps / cycles), 1)
    waves, rise = Schedule.cosine_restarts(1.0, 0.0, wave), Schedule.linear(1e-8, 1.0, steps=wave)
    return waves * rise * Schedule.linear(1e-2, 1e-6, steps=round(1.6 * steps))


def draw(images: Tensor, labels: Tensor, predictions: Tensor, path: Path) -> None:
    """Distorted digits with what the model says, mistakes in red."""
    from PIL import Image, ImageDraw

    columns, rows, cell = 16, 6, 48
    sheet = Image.new("RGB", (columns * cell, rows * (cell + 14)), "white")
    pen = ImageDraw.Draw(sheet)
    pictures = ((images[:, 0] * 0.3081 + 0.1307).clamp(0, 1) * 255).to(pyburn.uint8).numpy()
    for place, (picture, label, guess) in enumerate(zip(pictures[: columns * rows], labels.tolist(), predictions.tolist())):
        left, top = place % columns * cell, place // columns * (cell + 14)
        sheet.paste(Image.fromarray(255 - picture).resize((cell - 6, cell - 6)), (left + 3, top + 3))
        text, colour = (str(guess), "#1c2024") if guess == label else (f"{guess} not {label}", "#c0392b")
        pen.text((left + 4, top + cell - 3), text, fill=colour)
    sheet.save(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a quarter of the pictures and two epochs: well under a minute on two cores")
    size.add_argument("--burn", action="store_true", help="Burn's settings: 320,000 pictures an epoch, 5 epochs")
    parser.add_argument("--epochs", type=int, help="epochs (default: 3)")
    parser.add_argument("--drawn", type=int, help="a 32nd of the pictures of an epoch (default: 1000)")
    parser.add_argument("--tested", type=int, help="test pictures for each combination (default: 1000)")
    parser.add_argument(
        "--output", type=Path, help="folder of the run and the model (default: mnist-output, mnist-quick-output or mnist-burn-output)"
    )
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    arguments = parser.parse_args()
    config = QUICK if arguments.quick else BURN if arguments.burn else MnistConfig()
    config = config.replace(**{name: value for name in ("epochs", "drawn", "tested") if (value := getattr(arguments, name))})

    pyburn.manual_seed(config.seed)
    training, validation, tests = make_loaders(config)
    model = build()
    optimizer = optim.AdamW(model.parameters(), weight_decay=config.weight_decay, cautious_weight_decay=True)
    schedule = ScheduledLR(optimizer, learning_rate(config.epochs * len(training), config.cycles))
    learner = Learner(
        model,
        optimizer,
        schedule,
        nn.CrossEntropyLoss(),
        ["accuracy"],
        schedule="step",
        callbacks=[EarlyStopping("valid/loss", patience=config.patience)],
    )
    rules = [Last(2), Best("valid/loss")]
    # Each size has a folder of its own: one run does not go on from another's checkpoint.
    run = arguments.output or Path("mnist-quick-output" if arguments.quick else "mnist-burn-output" if arguments.burn else "mnist-output")
    options = {"run": run, "config": config, "checkpoints": rules, "resume": True, "display": arguments.display}
    history = learner.fit(training, validation, config.epochs, **options)
    if history.stopped.startswith("Ctrl-C"):
        return 130
    learner.load_best("valid/loss")
    save_module(model, run / "model.pyburn", config=config)

    print("\naccuracy on test pictures, by distortion (Tr: shifted, Sr: sheared, Sc: scaled, Ro: turned)")
    results = {name: learner.evaluate(batches, name)["accuracy"] for name, batches in tests.items()}
    for name, accuracy in results.items():
        print(f"  {name:12} {accuracy:7.2%}  {'#' * round(40 * accuracy)}")
    print(f"  {'mean':12} {np.mean(list(results.values())):7.2%}")
    images, labels = next(iter(tests["All"]))
    draw(images, labels, learner.predict(images).argmax(1), run / "predictions.png")
    print(f"saved: {run / 'model.pyburn'}; look at {run / 'predictions.png'} and {run / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
