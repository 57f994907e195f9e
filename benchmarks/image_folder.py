"""Loading images from folders: pyburn's DataLoader and transforms against PyTorch's DataLoader with torchvision.

    python benchmarks/image_folder.py [--peer-python PYTHON] [--turns N]

Both read the same files with the same transforms and batches, each in a process of its own; they take turns, and the medians of their
turns are compared. A turn is an epoch with workers that are already running, which is the more favourable way for worker processes.
Photographs of 500 x 375 pixels are made by the program; CIFAR-10 in folders comes from PYBURN_DATA, where it is set.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CHILD = """
import json, sys, time
library = sys.argv[1]
if library == "torch":
    import torch
    from torch.utils.data import DataLoader
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
else:
    from pyburn.data import DataLoader, ImageFolder
    from pyburn.data import transforms as T

mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
recipes = {
    "train 32": [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(mean, std)],
    "plain 32": [T.ToTensor(), T.Normalize(mean, std)],
    "train 224": [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(mean, std)],
    "valid 224": [T.Resize(256), T.CenterCrop(224), T.ToTensor(), T.Normalize(mean, std)],
}
loader, now = None, None
for line in sys.stdin:
    recipe, root, workers, batch = json.loads(line)
    if now != line:
        loader, now = None, line  # ends the workers of the one before
        data = ImageFolder(root, transform=T.Compose(recipes[recipe]))
        loader = DataLoader(data, batch_size=batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        for _ in loader: pass
    start = time.perf_counter()
    for images, labels in loader: pass
    print(json.dumps([time.perf_counter() - start, len(loader.dataset)]), flush=True)
"""


class Library:
    """One library in a process of its own."""

    def __init__(self, name: str, python: str) -> None:
        self.process = subprocess.Popen([python, "-c", CHILD, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def epoch(self, case: list[Any]) -> float:
        """Seconds per image."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        seconds, images = json.loads(self.process.stdout.readline())
        return seconds / images


def make_photographs(folder: Path, count: int = 96) -> None:
    """Pictures with smooth and rough parts, of about the size in bytes of real ones."""
    import numpy as np
    from PIL import Image

    draw = np.random.default_rng(0)
    for i in range(count):
        coarse = Image.fromarray(draw.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((500, 375), Image.Resampling.BICUBIC)
        pixels = np.asarray(coarse, dtype=np.int16) + draw.normal(0, 8, (375, 500, 3)).astype(np.int16)
        path = folder / f"class{i % 4}" / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path, quality=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=os.environ.get("PYBURN_PEERS_PYTHON"), help="an interpreter that has torchvision")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    if not options.peer_python:
        parser.error("an interpreter that has torch and torchvision is needed: --peer-python or PYBURN_PEERS_PYTHON")
    libraries = {"torch": Library("torch", options.peer_python), "pyburn": Library("pyburn", sys.executable)}
    with tempfile.TemporaryDirectory() as made:
        make_photographs(Path(made))
        cases = [(recipe, made, 16) for recipe in ("train 224", "valid 224")]
        if "PYBURN_DATA" in os.environ:
            cifar = str(Path(os.environ["PYBURN_DATA"]) / "cifar10_folder" / "train")
            cases += [(recipe, cifar, 64) for recipe in ("train 32", "plain 32")]
        print(f"{'case':12}{'workers':>8}{'torch':>14}{'pyburn':>14}{'ratio':>8}   (microseconds per image; ratio: torch / pyburn)")
        for recipe, root, batch in cases:
            for workers in (0, 2):
                times: dict[str, list[float]] = {name: [] for name in libraries}
                for _ in range(options.turns):
                    for name, library in libraries.items():
                        times[name].append(library.epoch([recipe, root, workers, batch]))
                torch, pyburn = (statistics.median(times[name]) * 1e6 for name in ("torch", "pyburn"))
                print(f"{recipe:12}{workers:8}{torch:14.0f}{pyburn:14.0f}{torch / pyburn:8.2f}", flush=True)
    for library in libraries.values():
        library.process.terminate()
        library.process.wait()


if __name__ == "__main__":
    main()
