"""Trains a network to read handwritten digits, draws what it says, saves it, reloads it and times it.

python examples/demo/demo.py [--epochs 3] [--device cpu] [--output demo-output]

MNIST comes from the folder of the environment variable PYBURN_DATA, from the cache or from the network; where none of these has it, the
smaller digits of scikit-learn serve. Ctrl-C stops and saves; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pyburn
from pyburn import nn, optim
from pyburn.data import DataLoader, TensorDataset
from pyburn.io import safetensors
from pyburn.train import Learner, Samples, read_run
from pyburn.train.metrics import ConfusionMatrix
from pyburn.train.run.svg_plots import STYLE, Curve, line_chart


class Digits(NamedTuple):
    name: str
    training: tuple[np.ndarray, np.ndarray]
    held_out: tuple[np.ndarray, np.ndarray]
    epochs: int  # enough for the accuracy that is expected
    expected: float


def load_digits(which: str) -> Digits:
    """Pictures (n, 1, height, width) between -1 and 1, and their digits."""
    if which == "digits":
        return small_digits()
    try:
        from pyburn.data.sets import MNIST

        sets = [MNIST(train=train) for train in (True, False)]
    except (OSError, pyburn.FormatError) as error:
        if which == "mnist":
            raise
        print(f"MNIST is not at hand ({str(error).splitlines()[0]});\nthe 8 x 8 digits of scikit-learn take its place.\n", file=sys.stderr)
        return small_digits()
    train, test = [((one.data.numpy()[:, None] / np.float32(127.5) - 1).astype(np.float32), one.targets.numpy()) for one in sets]
    return Digits("MNIST", train, test, epochs=3, expected=0.98)


def small_digits() -> Digits:
    from sklearn.datasets import load_digits as of_sklearn

    found: Any = of_sklearn()
    order = np.random.default_rng(1).permutation(len(found.target))
    pictures, labels = (found.images[order][:, None] / 8 - 1).astype(np.float32), found.target[order].astype(np.int64)
    return Digits(
        "the digits of scikit-learn", (pictures[:1437], labels[:1437]), (pictures[1437:], labels[1437:]), epochs=12, expected=0.97
    )


def build(channels: int = 16) -> nn.Sequential:
    """Three convolutions, the last two of which halve the picture, an average over what is left of it, and a linear layer."""
    layers: list[nn.Module] = []
    for width, wide, stride in ((1, channels, 1), (channels, 2 * channels, 2), (2 * channels, 4 * channels, 2)):
        layers += [nn.Conv2d(width, wide, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(wide), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * channels, 10))


def loader(part: tuple[np.ndarray, np.ndarray], size: int, shuffle: bool = False) -> DataLoader:
    return DataLoader(TensorDataset(*map(pyburn.from_numpy, part)), batch_size=size, shuffle=shuffle)


def draw_predictions(pictures: np.ndarray, labels: np.ndarray, predictions: np.ndarray, path: Path) -> None:
    """A sheet of pictures, mistakes first and in red, the predicted digit under each."""
    from PIL import Image, ImageDraw

    columns, rows, cell, caption = 14, 6, 58, 18
    wrong = np.flatnonzero(predictions != labels)[: columns * 2]
    shown = np.concatenate([wrong, np.flatnonzero(predictions == labels)[: columns * rows - len(wrong)]])
    sheet = Image.new("RGB", (columns * cell, rows * (cell + caption)), "white")
    pen = ImageDraw.Draw(sheet)
    for place, index in enumerate(shown):
        left, top = place % columns * cell, place // columns * (cell + caption)
        shade = ((1 - pictures[index, 0]) * 127.5).astype(np.uint8)
        sheet.paste(Image.fromarray(shade).resize((cell - 8, cell - 8)), (left + 4, top + 4))
        missed = predictions[index] != labels[index]
        text = f"{predictions[index]} (is {labels[index]})" if missed else str(predictions[index])
        pen.text((left + 6, top + cell - 2), text, fill="#c0392b" if missed else "#1c2024")
    sheet.save(path)


def draw_curves(run: Path, path: Path) -> None:
    """Loss and accuracy as one picture."""
    record = read_run(run)
    charts = []
    for title, names in (("loss", [("step", "train", "loss"), ("epoch", "valid", "loss")]), ("accuracy", [("epoch", "valid", "accuracy")])):
        curves = [Curve(split, rows[:, 0], rows[:, 3]) for kind, split, name in names if len(rows := record.series(kind, split, name))]
        charts.append(line_chart(title, curves))
    placed = [chart.replace("<svg ", f'<svg y="{index * 320}" height="310" ', 1) for index, chart in enumerate(charts)]
    style = f"<style>{STYLE} svg {{ background: var(--ground) }}</style>"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 640" width="960">{style}{"".join(placed)}</svg>')


def some_predictions(pictures: np.ndarray, labels: np.ndarray, count: int = 24) -> Callable[[nn.Module], list[dict[str, Any]]]:
    """What the dashboard shows of the model while it learns."""
    inputs = pyburn.from_numpy(pictures[:count])

    def make(model: nn.Module) -> list[dict[str, Any]]:
        scores = model(inputs).softmax(1).numpy()
        images = ((pictures[:count, 0] + 1) * 127.5).astype(np.uint8)
        return [
            {"image": image, "target": int(label), "prediction": int(row.argmax()), "scores": {str(k): float(p) for k, p in enumerate(row)}}
            for image, label, row in zip(images, labels, scores)
        ]

    return make


def latency(model: nn.Module, picture: pyburn.Tensor, calls: int = 200) -> float:
    """The median time for one picture, in microseconds."""
    times = []
    with pyburn.inference_mode():
        for _ in range(calls):
            start = time.perf_counter()
            model(picture)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0], epilog=str(__doc__).split("\n\n", 2)[2])
    parser.add_argument("--data", choices=("auto", "mnist", "digits"), default="auto", help="auto: MNIST, or digits where it cannot be had")
    parser.add_argument("--epochs", type=int, help="how often to see every picture (default: as often as needed, 3 for MNIST)")
    parser.add_argument("--device", help="such as cpu or fusion(cpu); the best one by default")
    parser.add_argument(
        "--output", type=Path, default=Path("demo-output"), help="where pictures, weights and the run go (default: demo-output)"
    )
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    arguments = parser.parse_args()
    if arguments.device:
        pyburn.set_default_device(arguments.device)
    output = arguments.output
    output.mkdir(parents=True, exist_ok=True)

    digits = load_digits(arguments.data)
    epochs = arguments.epochs or digits.epochs
    pyburn.manual_seed(0)
    model = build()
    training, held_out = loader(digits.training, 128, shuffle=True), loader(digits.held_out, 500)
    optimizer = optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(training))
    print(f"{model}\n\n{len(digits.training[1])} pictures of {digits.name} to learn from, {len(digits.held_out[1])} to test with\n")

    run = output / "run"
    samples = Samples(some_predictions(*digits.held_out))
    learner = Learner(
        model,
        optimizer,
        schedule,
        nn.CrossEntropyLoss(),
        ["accuracy", ConfusionMatrix(labels=[str(digit) for digit in range(10)])],
        callbacks=[samples],
    )
    started = time.perf_counter()
    config = {"data": digits.name, "epochs": epochs, "lr": 1e-2, "batch_size": 128}
    history = learner.fit(training, held_out, epochs, run=run, config=config, resume=True, display=arguments.display)
    if history.stopped:
        print(f"Stopped and saved; the same command goes on from there. So far: {run}")
        return 130
    seconds = time.perf_counter() - started

    logits = learner.predict(held_out).numpy()
    predictions = logits.argmax(1)
    accuracy = float((predictions == digits.held_out[1]).mean())
    print(f"\naccuracy on {len(predictions)} digits it has not seen: {accuracy:.2%}, after {seconds:.0f} s of training")
    draw_predictions(*digits.held_out, predictions, output / "predictions.png")
    draw_curves(run, output / "curves.svg")

    weights = output / "digits.safetensors"
    safetensors.save_file(model.state_dict(), weights)
    restored = build()
    restored.load_state_dict(safetensors.load_file(weights))
    restored.eval()
    if not np.array_equal(Learner(restored).predict(held_out).numpy(), logits):
        print("the reloaded model differs", file=sys.stderr)
        return 1
    picture = pyburn.from_numpy(digits.held_out[0][:1])
    print(f"saved and reloaded, same predictions: {weights}")
    print(f"one picture takes {latency(restored, picture):.0f} us\n")
    print(f"Look at    {output / 'predictions.png'}, {output / 'curves.svg'}, {run / 'report.html'}")
    print(f"Then try   pyburn dashboard {output}        the run in the browser")
    print("           examples/README.md              EEG, molecules, text, segmentation")
    if accuracy < digits.expected and arguments.epochs is None:
        print(f"the accuracy is below {digits.expected:.0%}, which is a bug", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
