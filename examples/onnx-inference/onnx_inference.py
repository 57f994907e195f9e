"""A digit classifier that another framework exported to ONNX: run, fine-tuned on tilted digits, and exported again.

python examples/onnx-inference/onnx_inference.py predict mnist.onnx --index 7       one digit of the test set
python examples/onnx-inference/onnx_inference.py tune mnist.onnx --output tuned.onnx
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

import pyburn
import pyburn.nn.functional as F
from pyburn import Tensor
from pyburn.data.sets import MNIST


def find(name: str) -> Path:
    """A file by its path, or one of the folder `models` of the environment variable PYBURN_DATA."""
    for place in (Path(name), Path(os.environ.get("PYBURN_DATA", ".")) / "models" / name):
        if place.is_file():
            return place
    sys.exit(f"{name} is neither a file nor in the folder models of PYBURN_DATA")


def digits(train: bool, count: int) -> tuple[Tensor, Tensor]:
    """The first digits of MNIST, normalized as the model was trained."""
    data = MNIST(train=train)
    images = pyburn.from_numpy(np.stack([np.asarray(data[i][0], np.float32) for i in range(count)]))
    images = images.reshape(count, 1, 28, 28)
    images = images / 255 if images.max() > 1 else images
    return (images - 0.1307) / 0.3081, pyburn.tensor([int(data[i][1]) for i in range(count)])


def tilted(images: Tensor) -> Tensor:
    """The images, sheared: lines of the upper half move to the right, those of the lower half to the left."""
    theta = pyburn.tensor([[[1.0, 0.5, 0.0], [0.0, 1.0, 0.0]]]).expand(len(images), 2, 3)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def accuracy(model: pyburn.nn.Module, images: Tensor, labels: Tensor) -> float:
    session = pyburn.inference.compile(model, images[:100])
    right = sum((session(images[i : i + 100]).argmax(1) == labels[i : i + 100]).sum().item() for i in range(0, len(images), 100))
    return 100 * right / len(images)


def predict(options: argparse.Namespace) -> None:
    images, labels = digits(train=False, count=options.index + 1)
    session = pyburn.onnx.session(find(options.model))
    probabilities = session(images[-1:]).softmax(1)[0]
    for row in images[-1, 0, ::2]:
        print("".join(" .:-=+*#%@"[min(9, int((pixel * 0.3081 + 0.1307) * 10))] for pixel in row.tolist()))
    best = int(probabilities.argmax())
    print(f"predicted {best} with {100 * probabilities[best].item():.1f} %, actual {labels[-1].item()}")


def tune(options: argparse.Namespace) -> None:
    pyburn.manual_seed(0)
    model = pyburn.onnx.load(find(options.model))
    images, labels = digits(train=False, count=1000)
    slanted = tilted(images)
    print(f"before: {accuracy(model, images, labels):.1f} % of straight and {accuracy(model, slanted, labels):.1f} % of tilted digits")

    seen, classes = digits(train=True, count=2000)
    seen, classes = pyburn.cat([seen, tilted(seen)]), pyburn.cat([classes, classes])
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=2e-4)
    for epoch in range(options.epochs):
        for batch in pyburn.randperm(len(seen)).split(64):
            loss = F.cross_entropy(model(seen[batch]), classes[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    print(f"after: {accuracy(model, images, labels):.1f} % of straight and {accuracy(model, slanted, labels):.1f} % of tilted digits")

    pyburn.onnx.export(
        model, images[:1], options.output, input_names=["image"], output_names=["scores"], dynamic_axes={"image": {0: "batch"}}
    )
    again = pyburn.onnx.session(options.output)
    same = pyburn.allclose(again(images[:10]), model(images[:10]).detach(), atol=1e-4)
    print(f"{options.output}: exported, {'same predictions' if same else 'OTHER predictions'} when it is loaded again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("predict", help="classify a digit of the test set")
    one.add_argument("model", nargs="?", default="mnist.onnx")
    one.add_argument("--index", type=int, default=0, help="the number of the digit")
    more = commands.add_parser("tune", help="fine-tune on tilted digits and export the result")
    more.add_argument("model", nargs="?", default="mnist.onnx")
    more.add_argument("--output", default="tuned.onnx")
    more.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    {"predict": predict, "tune": tune}[options.command](options)


if __name__ == "__main__":
    main()
