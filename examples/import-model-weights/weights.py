"""Weights that PyTorch trained and saved, used in pyburn: read, converted to pyburn's own file, and put to the test.

python examples/import-model-weights/weights.py predict mnist.pt                    one digit, and how many of the test set are right
python examples/import-model-weights/weights.py predict mnist.safetensors --index 7
python examples/import-model-weights/weights.py convert mnist.pt model.pyburn       also .safetensors, .pt, .npz
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

import pyburn
from pyburn import Tensor, nn
from pyburn.data.sets import MNIST
from pyburn.io import load_into, save_module


class Net(nn.Module):
    """The network as its PyTorch source has it: same names, so that the weights find their places by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.conv3 = nn.Conv2d(16, 24, 3)
        self.norm1 = nn.BatchNorm2d(24)
        self.fc1 = nn.Linear(24 * 22 * 22, 32)
        self.fc2 = nn.Linear(32, 10)
        self.norm2 = nn.BatchNorm1d(10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.conv1(images).relu()
        x = self.conv2(x).relu()
        x = self.norm1(self.conv3(x).relu())
        x = self.fc1(x.flatten(1)).relu()
        return self.norm2(self.fc2(x)).log_softmax(1)


def find(name: str) -> Path:
    """A file by its path, or one of the folder `models` of the environment variable PYBURN_DATA."""
    places = [Path(name), Path(os.environ.get("PYBURN_DATA", ".")) / "models" / name]
    for place in places:
        if place.is_file():
            return place
    sys.exit(f"{name} is neither a file nor in the folder models of PYBURN_DATA")


def read_model(path: Path) -> Net:
    """The format is found from the content of the file. What is missing, left over or of another shape is an error that says so."""
    model = Net()
    report = load_into(model, path)
    print(f"{path.name}: {len(report.applied)} tensors read")
    return model.eval()


def convert(source: Path, target: Path) -> None:
    """Writes the weights in the format that the name of the target says, and makes sure that they are the same."""
    model = read_model(source)
    save_module(model, target)
    restored = read_model(target).state_dict()
    for name, tensor in model.state_dict().items():
        if not pyburn.equal(tensor, restored[name]):
            sys.exit(f"{name} differs in {target}")
    print(f"written, read again, and the same: {target}")


def predict(model: Net, index: int, items: int | None, sheet: Path | None) -> None:
    digits = MNIST(train=False)
    images = ((digits.data.unsqueeze(1).float() / 255) - 0.1307) / 0.3081
    with pyburn.inference_mode():
        chances = model(images[index : index + 1]).exp()[0]
        print(f"picture {index}: predicted {int(chances.argmax())} ({float(chances.max()):.1%}), expected {int(digits.targets[index])}")
        guesses = pyburn.cat([model(batch).argmax(1) for batch in images[:items].split(500)])
    right = guesses == digits.targets[:items]
    print(f"{int(right.sum())} of {len(right)} test pictures are right: {float(right.float().mean()):.2%}")
    if sheet is not None:
        draw(digits.data.numpy()[: len(right)], digits.targets.numpy(), guesses.numpy(), sheet)
        print(f"look at {sheet}")


def draw(pictures: np.ndarray, labels: np.ndarray, guesses: np.ndarray, path: Path) -> None:
    """A sheet of pictures with what the model says under each, mistakes first and in red."""
    from PIL import Image, ImageDraw

    columns, rows, cell = 12, 5, 64
    order = np.argsort(guesses == labels[: len(guesses)], kind="stable")[: columns * rows]
    sheet = Image.new("RGB", (columns * cell, rows * (cell + 16)), "white")
    pen = ImageDraw.Draw(sheet)
    for place, index in enumerate(order):
        left, top = place % columns * cell, place // columns * (cell + 16)
        sheet.paste(Image.fromarray(255 - pictures[index]).resize((cell - 8, cell - 8)), (left + 4, top + 4))
        missed = guesses[index] != labels[index]
        text = f"{guesses[index]} (is {labels[index]})" if missed else str(guesses[index])
        pen.text((left + 6, top + cell - 2), text, fill="#c0392b" if missed else "#1c2024")
    sheet.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    reading = commands.add_parser("predict", help="read digits with the weights of a file")
    reading.add_argument("file", help="mnist.pt, mnist.safetensors or a converted file")
    reading.add_argument("--index", type=int, default=42, help="which test picture to look at (default: 42)")
    reading.add_argument("--items", type=int, help="count on the first so many test pictures only")
    reading.add_argument("--sheet", type=Path, help="draw predictions to this PNG file (needs Pillow)")
    converting = commands.add_parser("convert", help="write the weights of a file in another format")
    converting.add_argument("file", help="mnist.pt or mnist.safetensors")
    converting.add_argument("target", type=Path, help="such as model.pyburn")
    arguments = parser.parse_args()
    if arguments.command == "convert":
        convert(find(arguments.file), arguments.target)
    else:
        predict(read_model(find(arguments.file)), arguments.index, arguments.items, arguments.sheet)


if __name__ == "__main__":
    main()
