"""Makes docs/images/dashboard_*.png anew: trains small networks on handwritten digits and photographs the dashboard in headless Chromium.

python tools/dashboard_images.py [--runs FOLDER] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.python.browser import Browser  # noqa: E402

import pyburn  # noqa: E402
from pyburn import nn, optim  # noqa: E402
from pyburn.dashboard import Dashboard  # noqa: E402
from pyburn.dashboard.edits import annotate  # noqa: E402
from pyburn.data import DataLoader, TensorDataset  # noqa: E402
from pyburn.data.sets import MNIST  # noqa: E402
from pyburn.train import Callback, Histograms, Learner, metrics, read_run  # noqa: E402

EPOCHS, IMAGES = 4, 6000


class Pictures(Callback):
    """Logs the filters, the most confident mistakes as text, and a tone whose pitch follows the loss."""

    def on_epoch_end(self, learner: Learner) -> None:
        assert learner.run is not None
        step, filters = learner.state.step, learner.model[1].weight.detach()[:16].reshape(2, 8, 28, 28)
        sheet = filters.permute(0, 2, 1, 3).reshape(2 * 28, 8 * 28)
        learner.run.log_image("first layer", (sheet - sheet.min()) / (sheet.max() - sheet.min()), step=step)
        learner.run.log_text("summary", f"epoch {learner.state.epoch}: {learner.state.values['valid/accuracy']:.2%} correct", step=step)
        pitch = 220 * (1 + learner.state.values["valid/loss"])
        learner.run.log_audio("loss as a tone", (pyburn.arange(8000) * (2 * math.pi * pitch / 8000)).sin() * 0.3, 8000, step=step)


def train(runs: Path) -> None:
    data = {split: MNIST(train=split == "train") for split in ("train", "test")}
    train_set, test_set = (TensorDataset(s.data[:IMAGES].float() / 255, s.targets[:IMAGES]) for s in data.values())
    for hidden, lr, seed in itertools.product((16, 64), (0.003, 0.03), (1, 2)):
        pyburn.manual_seed(seed)
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 10))
        optimizer = optim.Adam(model.parameters(), lr=lr)
        learner = Learner(
            model, optimizer, loss=nn.CrossEntropyLoss(), metrics=["accuracy", metrics.ConfusionMatrix()],
            callbacks=[Histograms(every=20), Pictures()], clip_norm=5.0,
        )  # fmt: skip
        config = {"hidden": hidden, "lr": lr, "seed": seed, "batch_size": 64, "scheduler": None}
        learner.fit(
            DataLoader(train_set, 64, shuffle=True), DataLoader(test_set, 500), EPOCHS,
            run=runs / f"digits-{hidden}-{lr}-{seed}", config=config, log_every=2, display="quiet",
        )  # fmt: skip

    annotate(read_run(runs / "digits-16-0.003-1"), {"tags": ["baseline"]})
    note = "64 hidden units and a learning rate of 0.03: the validation loss rises after two epochs."
    annotate(read_run(runs / "digits-64-0.03-2"), {"tags": ["wide"], "notes": note})


def photograph(runs: Path, output: Path) -> None:
    with Dashboard(runs, port=0) as dashboard, tempfile.TemporaryDirectory() as folder, Browser(Path(folder), 1280, 860) as page:

        def save(name: str, address: str, wait: str, dark: bool = False, prepare: str = "", height: int = 860) -> None:
            page.resize(1280, height)
            page.command(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
            )
            page.run(f"location.hash = '{address}'")
            page.wait(wait)
            page.run(prepare)
            time.sleep(1.5)
            page.screenshot(output / f"dashboard_{name}.png")

        page.open(dashboard.url)
        curves, newest = "document.querySelectorAll('.card canvas').length >= 3", "document.querySelector('#list li a').hash"
        group = """const s = document.querySelector('select[aria-label="Group runs"]');
            s.value = 'option lr'; s.dispatchEvent(new Event('change'))"""
        save("curves", "curves", curves)
        save("groups", "curves", curves, dark=True, prepare=group)
        save("table", "table", "document.querySelector('.parallel polyline')", height=1080)
        page.run(f"location.hash = {newest}")
        here = page.run("return location.hash")[1:]
        save("run", here, "document.querySelector('.media canvas')", height=1500)
        media = "document.querySelector('.media').closest('.grid').previousSibling.scrollIntoView(); scrollBy(0, -60)"
        save("media", here, "document.querySelector('.media canvas')", dark=True, prepare=media, height=1100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="train here, or photograph the runs that are here")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = arguments.runs or Path(folder)
        if not any(runs.glob("*/run.json")):
            train(runs)
        photograph(runs, arguments.output)


if __name__ == "__main__":
    main()
