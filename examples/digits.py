"""Trains a small convolutional network on handwritten digits, draws its predictions, saves and reloads it.

python examples/digits.py [--epochs 8] [--device cpu] [--output demo-output]

The digits (1797 pictures of 8 x 8) come with scikit-learn; the picture is drawn with Pillow.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from sklearn.datasets import load_digits

import pyburn
import pyburn.nn.functional as F
from pyburn import nn, optim
from pyburn.io import safetensors


class DigitsNet(nn.Module):
    """Two blocks of convolution, batch norm and relu; the second halves the picture. Then one linear layer."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
        )
        self.classify = nn.Linear(2 * channels * 4 * 4, 10)

    def forward(self, pictures: pyburn.Tensor) -> pyburn.Tensor:
        return self.classify(self.features(pictures).flatten(1))


class Progress:
    """A line that is redrawn while work goes on; where there is no terminal, one line per epoch."""

    def __init__(self, total: int, width: int = 24) -> None:
        self.total, self.width, self.live = total, width, sys.stdout.isatty()
        self.started = time.perf_counter()

    def show(self, done: int, text: str) -> None:
        if not self.live and done < self.total:
            return
        filled = self.width * done // self.total
        seconds = time.perf_counter() - self.started
        line = f"[{'#' * filled}{'.' * (self.width - filled)}] {text}  {seconds:5.1f} s"
        print(f"\r{line}" if self.live else line, end="\n" if done == self.total else "", flush=True)


def batches(pictures: np.ndarray, labels: np.ndarray, size: int, order: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    shuffled = order.permutation(len(pictures))
    for start in range(0, len(pictures), size):
        chosen = shuffled[start : start + size]
        yield pictures[chosen], labels[chosen]


def predict(model: nn.Module, pictures: np.ndarray) -> np.ndarray:
    model.eval()
    with pyburn.no_grad():
        return model(pyburn.from_numpy(pictures)).numpy()


def train(model: nn.Module, pictures: np.ndarray, labels: np.ndarray, epochs: int, size: int = 64) -> None:
    optimiser = optim.Adam(model.parameters(), lr=2e-3)
    order = np.random.default_rng(0)
    model.train()
    for epoch in range(1, epochs + 1):
        progress, seen, right, total_loss = Progress(len(pictures)), 0, 0, 0.0
        for x, y in batches(pictures, labels, size, order):
            logits = model(pyburn.from_numpy(x))
            loss = F.cross_entropy(logits, pyburn.from_numpy(y))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            seen += len(y)
            right += int((logits.detach().numpy().argmax(1) == y).sum())
            total_loss += loss.item() * len(y)
            progress.show(seen, f"epoch {epoch}/{epochs}  loss {total_loss / seen:.4f}  accuracy {right / seen:6.2%}")


def draw(pictures: np.ndarray, labels: np.ndarray, predictions: np.ndarray, path: Path, columns: int = 12, rows: int = 6) -> None:
    """A sheet of pictures with the predicted digit under each; mistakes in red with the right digit behind."""
    cell, caption = 56, 16
    sheet = Image.new("RGB", (columns * cell, rows * (cell + caption)), "white")
    pen = ImageDraw.Draw(sheet)
    for k in range(min(columns * rows, len(pictures))):
        left, top = k % columns * cell, k // columns * (cell + caption)
        shade = (255 - 255 * pictures[k, 0]).astype(np.uint8)
        sheet.paste(Image.fromarray(shade).resize((cell - 8, cell - 8), Image.Resampling.NEAREST), (left + 4, top + 4))
        wrong = predictions[k] != labels[k]
        text = f"{predictions[k]} (is {labels[k]})" if wrong else f"{predictions[k]}"
        pen.text((left + 6, top + cell - 2), text, fill="red" if wrong else "black")
    sheet.save(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--device", default=None, help="such as cpu or fusion(cpu); the best one by default")
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    arguments = parser.parse_args()
    if arguments.device:
        pyburn.set_default_device(arguments.device)
    arguments.output.mkdir(parents=True, exist_ok=True)

    data = load_digits()
    pictures = (data.images[:, None] / 16).astype(np.float32)
    labels = data.target.astype(np.int64)
    shuffled = np.random.default_rng(1).permutation(len(labels))
    pictures, labels = pictures[shuffled], labels[shuffled]
    training, held_out = slice(0, 1437), slice(1437, None)

    pyburn.manual_seed(0)
    model = DigitsNet()
    print(model)
    train(model, pictures[training], labels[training], arguments.epochs)

    logits = predict(model, pictures[held_out])
    predictions = logits.argmax(1)
    accuracy = float((predictions == labels[held_out]).mean())
    print(f"accuracy on {len(predictions)} digits it has not seen: {accuracy:.2%}")

    sheet = arguments.output / "digits.png"
    draw(pictures[held_out], labels[held_out], predictions, sheet)
    print(f"predictions: {sheet}")

    weights = arguments.output / "digits.safetensors"
    safetensors.save_file(model.state_dict(), weights)
    restored = DigitsNet()
    restored.load_state_dict(safetensors.load_file(weights))
    if not np.array_equal(predict(restored, pictures[held_out]), logits):
        print("the reloaded model differs", file=sys.stderr)
        return 1
    print(f"saved and reloaded, same predictions: {weights}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
