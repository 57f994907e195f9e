"""EEGNet tells from brain waves which hand somebody thinks of moving, or is about to move.

python examples/eeg/eeg.py imagery          left or right fist, imagined: PhysioNet, subject 1
python examples/eeg/eeg.py presses          the half second before a key is pressed: BCI competition II, set IV

The recordings come from the folder of the environment variable PYBURN_DATA; those of PhysioNet otherwise from the cache or the network.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pictures import draw_filters, draw_spectra

import pyburn
from pyburn import nn, optim
from pyburn.data import DataLoader, Dataset
from pyburn.eeg import BandPass, EEGNet, PhysioNetMotorImagery, SelfPaced1s, TimeShift
from pyburn.train import Callback, Learner, Progress, When


@dataclass(frozen=True)
class Trials:
    """Signals (trials, electrodes, samples) with `rate` samples per second, and the class of each trial."""

    signals: np.ndarray
    labels: np.ndarray
    electrodes: list[str]
    classes: list[str]
    rate: float

    def at(self, chosen: Any) -> Trials:
        return replace(self, signals=self.signals[chosen], labels=self.labels[chosen])


def imagery() -> Trials:
    """0.5 to 3.5 s after the cue, at the electrodes over the motor cortex: the mu rhythm, 8 to 15 Hz, in 40 samples per second. The filter
    sees half a second more at both ends, where it is not right."""
    found = wide_imagery()
    return replace(found, signals=BandPass(8.0, 15.0, found.rate)(found.signals)[:, :, 80:560:4], rate=found.rate / 4)


def wide_imagery() -> Trials:
    """0 to 4 s after the cue, all frequencies."""
    found = PhysioNetMotorImagery(window=(0.0, 4.0))
    motor = slice(0, 21)  # the rows FC, C and CP
    electrodes = [name.rstrip(".").upper().replace("Z", "z") for name in found.channels[motor]]
    return Trials(found.data.numpy()[:, motor], found.targets.numpy(), electrodes, found.classes, found.rate)


def presses(train: bool) -> Trials:
    """Below 20 Hz, from where each electrode starts, in 50 samples per second: a slow wave, the readiness potential, and rhythms."""
    found = wide_presses(train)
    low = BandPass(None, 20.0, found.rate)(found.signals)
    return replace(found, signals=(low - low[:, :, :5].mean(2, keepdims=True))[:, :, ::2], rate=found.rate / 2)


def wide_presses(train: bool) -> Trials:
    """The half second as recorded, in microvolts."""
    found = SelfPaced1s(train=train)
    return Trials(found.data.numpy(), found.targets.numpy(), found.channels, found.classes, found.rate)


class Samples(Dataset[tuple[np.ndarray, int]]):
    """Trials for a loader, every electrode in units of its standard deviation over the trials that the model learns from."""

    def __init__(self, trials: Trials, scale: np.ndarray, transform: Callable[[np.ndarray], np.ndarray] | None = None) -> None:
        self.trials, self.scale, self.transform = trials, scale, transform

    def __len__(self) -> int:
        return len(self.trials.labels)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        signal = (self.trials.signals[index] / self.scale).astype(np.float32)
        return signal if self.transform is None else self.transform(signal), int(self.trials.labels[index])


@dataclass(frozen=True)
class Settings:
    epochs: int
    kernel_length: int  # of the filters in time, in samples
    dropout: float
    lr: float
    shift: int  # trials are moved in time by up to so many samples
    depthwise: int = 16
    pools: tuple[int, int] = (4, 8)
    weight_decay: float = 1e-2


IMAGERY = Settings(epochs=60, kernel_length=16, depthwise=8, dropout=0.5, lr=1e-2, shift=4)
PRESSES = Settings(epochs=30, kernel_length=12, depthwise=8, pools=(2, 6), dropout=0.5, lr=1e-2, shift=0)


class Decoder:
    """A network with the units that its signals are measured in: from trials to the logits of their classes."""

    def __init__(self, model: EEGNet, scale: np.ndarray) -> None:
        self.model, self.scale = model, scale

    def __call__(self, trials: Trials) -> np.ndarray:
        return Learner(self.model).predict(DataLoader(Samples(trials, self.scale), batch_size=100)).numpy()


def train(trials: Trials, seed: int, settings: Settings, callbacks: Sequence[Callback] = (), **fit: Any) -> Decoder:
    """An EEGNet that has learnt from the trials; further arguments are those of Learner.fit."""
    pyburn.manual_seed(seed)
    count, electrodes, samples = trials.signals.shape
    model = EEGNet(
        electrodes,
        len(trials.classes),
        samples,
        kernel_length=settings.kernel_length,
        depthwise_kernel_length=settings.depthwise,
        pool1_kernel_size=settings.pools[0],
        pool2_kernel_size=settings.pools[1],
        drop_prob=settings.dropout,
    )
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 0.1  # a few hundred steps have to do for its statistics
    scale = trials.signals.std(axis=(0, 2), keepdims=True)[0]
    data = Samples(trials, scale, TimeShift(settings.shift, circular=False) if settings.shift else None)
    loader = DataLoader(data, batch_size=16 if count < 100 else 32, shuffle=True)
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr / 10, weight_decay=settings.weight_decay)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=settings.lr, total_steps=settings.epochs * len(loader))
    learner = Learner(model, optimizer, schedule, nn.CrossEntropyLoss(), ["accuracy"], callbacks=callbacks)
    learner.fit(loader, None, settings.epochs, **{"display": "quiet", **fit})
    return Decoder(model, scale)


def folds_of(labels: np.ndarray, count: int, seed: int = 0) -> list[np.ndarray]:
    """Parts of equal size with the same share of every class."""
    random = np.random.default_rng(seed)
    shuffled = np.concatenate([random.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)])
    return [np.sort(shuffled[start::count]) for start in range(count)]


def cross_validate(trials: Trials, seeds: Sequence[int], settings: Settings, folds: int = 5) -> np.ndarray:
    """The logits of each trial by networks that have not seen it: the mean over networks that differ in their seed."""
    logits = np.zeros((len(trials.labels), len(trials.classes)))
    bar = Progress(list(itertools.product(folds_of(trials.labels, folds), seeds)), "cross-validation")
    shown = When(on_epoch_end=lambda learner: bar.show(epoch=learner.state.epoch, loss=learner.state.values["train/loss"]))
    for part, seed in bar:
        others = np.setdiff1d(np.arange(len(trials.labels)), part)
        logits[part] += train(trials.at(others), seed, settings, [shown])(trials.at(part)) / len(seeds)
    return logits


def accuracy(logits: np.ndarray, trials: Trials) -> float:
    return float((logits.argmax(1) == trials.labels).mean())


def draw(model: Any, wide: Trials, rate: float, output: Path) -> None:
    draw_spectra(wide.signals, wide.labels, wide.electrodes, wide.classes, wide.rate, output / "spectra.svg")
    temporal, spatial = (layer.weight.detach().numpy() for layer in (model.conv_temporal, model.conv_spatial))
    draw_filters(temporal[:, 0, 0], spatial[:, 0, :, 0], wide.electrodes, rate, output / "filters.png")
    print(f"pictures: {output / 'spectra.svg'}, {output / 'filters.png'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=("imagery", "presses"), help="which recordings")
    parser.add_argument("--epochs", type=int, help=f"passes over the trials (default: {IMAGERY.epochs} and {PRESSES.epochs})")
    parser.add_argument("--seeds", type=int, default=3, help="networks whose answers are averaged (default: 3)")
    parser.add_argument("--folds", type=int, default=5, help="parts of the cross-validation (default: 5)")
    parser.add_argument("--output", type=Path, default=Path("eeg-output"), help="where runs and pictures go (default: eeg-output)")
    parser.add_argument("--display", default="auto", help="dashboard, bar, lines or quiet, of the last training (default: what fits)")
    arguments = parser.parse_args()
    output = arguments.output / arguments.data
    output.mkdir(parents=True, exist_ok=True)
    chosen = IMAGERY if arguments.data == "imagery" else PRESSES
    settings = replace(chosen, epochs=arguments.epochs or chosen.epochs)
    fit = {"run": output / "run", "config": {"data": arguments.data, **vars(settings)}, "display": arguments.display}
    print("reading the recordings", flush=True)
    trials, wide = (imagery(), wide_imagery()) if arguments.data == "imagery" else (presses(train=True), wide_presses(train=True))
    found = accuracy(cross_validate(trials, range(arguments.seeds), settings, arguments.folds), trials)
    print(f"right on {found:.1%} of {len(trials.labels)} trials, each decided by networks that have not seen it", flush=True)
    last = train(trials, 0, settings, **fit)  # on all trials
    if arguments.data == "presses":
        test = presses(train=False)
        print(f"right on {accuracy(last(test), test):.1%} of the {len(test.labels)} test trials")
    draw(last.model, wide, trials.rate, output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
