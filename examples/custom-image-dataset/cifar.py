"""Pictures in folders, one folder a class: a data set of them, and a network like VGG that learns from it.

python examples/custom-image-dataset/cifar.py [--data FOLDER] [--epochs 10] [--output cifar-output]

FOLDER holds train/cat/0001.jpg, test/cat/0001.jpg and so on; by default cifar10_folder of the environment variable PYBURN_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import pyburn
from pyburn import nn, optim
from pyburn.data import DataLoader, ImageFolder
from pyburn.data import transforms as T
from pyburn.io import save_module
from pyburn.train import Learner
from pyburn.train.metrics import ConfusionMatrix

MEAN, DEVIATION = (0.4914, 0.48216, 0.44653), (0.24703, 0.24349, 0.26159)


def build(classes: int, dropout: float = 0.3) -> nn.Sequential:
    """Three blocks of two convolutions, each of which halves the picture, and two linear layers."""
    layers: list[nn.Module] = []
    for width, wide in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(width, wide, 3, padding="same"), nn.ReLU(), nn.Conv2d(wide, wide, 3, padding="same"), nn.ReLU()]
        layers += [nn.MaxPool2d(2), nn.Dropout(dropout)]
    layers += [nn.Flatten(), nn.Linear(128 * 4 * 4, 128), nn.ReLU(), nn.Dropout(dropout), nn.Linear(128, classes)]
    for layer in layers[:-1]:  # He's initialisation: with the usual one, seven layers without norms take many epochs to get going
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def load_pictures(folder: Path, flip: bool = False) -> ImageFolder:
    steps = [T.RandomHorizontalFlip()] if flip else []
    return ImageFolder(folder, transform=T.Compose([*steps, T.ToTensor(), T.Normalize(MEAN, DEVIATION)]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("PYBURN_DATA", ".")) / "cifar10_folder"
    parser.add_argument("--data", type=Path, default=usual, help="folder with train and test (default: cifar10_folder of PYBURN_DATA)")
    parser.add_argument("--epochs", type=int, help="how often to see every picture (default: 10)")
    parser.add_argument("--batch-size", type=int, help="pictures a step (default: 32)")
    parser.add_argument("--burn", action="store_true", help="Burn's settings: batches of 128, 30 epochs, no flips")
    parser.add_argument("--workers", type=int, default=2, help="threads that decode pictures (default: 2)")
    parser.add_argument("--output", type=Path, default=Path("cifar-output"), help="folder of the run and the model (default: cifar-output)")
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"{arguments.data} is no folder: name one with --data, or set PYBURN_DATA")
    epochs = arguments.epochs or (30 if arguments.burn else 10)
    batch_size = arguments.batch_size or (128 if arguments.burn else 32)
    lr = 0.02 * batch_size / 128  # Burn's for its batches, and smaller steps where there are more of them

    pyburn.manual_seed(42)
    training, held_out = load_pictures(arguments.data / "train", flip=not arguments.burn), load_pictures(arguments.data / "test")
    print(f"{len(training)} pictures of {len(training.classes)} classes to learn from, {len(held_out)} to test with")
    batches = DataLoader(training, batch_size, shuffle=True, num_workers=arguments.workers)
    validation = DataLoader(held_out, 250, num_workers=arguments.workers)

    model = build(len(training.classes))
    optimizer = optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    metrics = ["accuracy", ConfusionMatrix(labels=training.classes)]
    learner = Learner(model, optimizer, loss=nn.CrossEntropyLoss(), metrics=metrics)
    started = time.perf_counter()
    config = {"epochs": epochs, "batch_size": batch_size, "lr": lr, "data": str(arguments.data)}
    history = learner.fit(batches, validation, epochs, run=arguments.output, config=config, resume=True, display=arguments.display)
    if history.stopped:
        return 130
    save_module(model, arguments.output / "model.pyburn")
    print(f"training took {time.perf_counter() - started:.0f} s")
    print(f"accuracy on {len(held_out)} pictures it has not seen: {history['valid/accuracy'][-1]:.1%}")
    print(f"saved: {arguments.output / 'model.pyburn'}; the table of confusions is in {arguments.output / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
