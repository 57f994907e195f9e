"""A U-Net that finds the membranes of nerve cells in electron-microscopy images, trained on crops of 24 images.

python examples/membrane/membrane.py [--epochs 12] [--width 8] [--output membrane-output]

The images come from the folder of the environment variable PYBURN_DATA, from the cache or from the network. Ctrl-C stops and saves; the
same command goes on from there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from overlays import draw

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.data import DataLoader
from pyburn.imaging import Membrane, RandomCrops, UNet, sliding_window
from pyburn.train import Learner
from pyburn.train.metrics import Dice, IoU

Pair = tuple[np.ndarray, np.ndarray]


def load(train: bool) -> list[Pair]:
    """Images around zero and masks that are 1 on membranes, (512, 512) float32 each."""
    data, pairs = Membrane(train=train), []
    for image, elsewhere in map(data.__getitem__, range(len(data))):
        pairs.append((image.numpy()[0].astype(np.float32) / 64 - 2, 1 - elsewhere.numpy()[0].astype(np.float32)))
    return pairs


def scores(predictions: Sequence[np.ndarray], truths: Sequence[np.ndarray]) -> dict[str, float]:
    """Over all pixels of all images: the share that is wrong, and how far the membranes cover one another."""
    found, true = np.stack(predictions) > 0.5, np.stack(truths) > 0.5
    both, either = (found & true).sum(), (found | true).sum()
    return {"pixel error": float((found != true).mean()), "IoU": float(both / either), "Dice": float(2 * both / (found.sum() + true.sum()))}


def as_batches(pairs: Sequence[Pair]) -> list[list[Tensor]]:
    return [[pyburn.from_numpy(part[None, None]) for part in pair] for pair in pairs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12, help="of 400 crops each (default: 12)")
    parser.add_argument("--crops", type=int, default=400, help="crops per epoch (default: 400)")
    parser.add_argument("--crop", type=int, default=128, help="their size in pixels (default: 128)")
    parser.add_argument("--width", type=int, default=8, help="channels at full size; the paper has 64 (default: 8)")
    parser.add_argument("--held-out", type=int, default=6, help="how many of the 6 images that are held out to look at (default: 6)")
    parser.add_argument("--output", type=Path, default=Path("membrane-output"), help="where the run and the pictures go")
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet (default: what fits the terminal)")
    arguments = parser.parse_args()

    pyburn.manual_seed(0)
    held_out = load(train=False)[: arguments.held_out]
    crops = DataLoader(RandomCrops(load(train=True), arguments.crops, arguments.crop), batch_size=8)
    model = UNet(n_channels=1, n_classes=1, width=arguments.width)
    print(f"{sum(p.numel() for p in model.parameters()):,} weights; 24 images to learn from, {len(held_out)} to test with\n")

    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=arguments.epochs * len(crops))
    metrics = [IoU(task="binary", logits=True), Dice(task="binary", logits=True)]
    learner = Learner(model, optimizer, schedule, nn.BCEWithLogitsLoss(), metrics)
    config = {name: getattr(arguments, name) for name in ("epochs", "crops", "crop", "width")}
    run = arguments.output / "run"
    history = learner.fit(
        crops, as_batches(held_out), arguments.epochs, run=run, config=config, resume=True, display=arguments.display, validate_every=3
    )
    if history.stopped:
        print(f"Stopped and saved; the same command goes on from there. So far: {run}")
        return 130

    model.eval()
    predictions = [sliding_window(model, image) for image, _ in held_out]
    found = scores(predictions, [mask for _, mask in held_out])
    print("\nheld-out images: " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
    for number in range(min(2, len(held_out))):
        path = arguments.output / f"overlay-{number}.png"
        draw(*held_out[number], predictions[number], path)
        print(f"picture: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
