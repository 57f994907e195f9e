"""Transforms of EEG: scipy's filters, pieces around events, augmentation."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn.data import DataLoader
from pyburn.data.transforms import eeg

HERE = Path(__file__).parent
GOLDEN = json.loads(gzip.decompress((HERE.parent / "golden" / "transforms.json.gz").read_bytes()))["signals"]
_spec = importlib.util.spec_from_file_location("signal_cases", HERE / "signal_cases.py")
assert _spec is not None
cases = importlib.util.module_from_spec(_spec)
assert _spec.loader is not None
_spec.loader.exec_module(cases)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["call"])
def test_scipy_says_the_same(row) -> None:
    made = cases.by_pyburn(row["call"])
    expected = np.array(row["values"]).reshape(row["shape"])
    assert made.shape == expected.shape
    assert np.abs(made - expected).max() < 1e-6


def test_filters_keep_what_they_should() -> None:
    t = np.arange(1600) / 160
    slow, fast = np.sin(2 * np.pi * 10 * t), np.sin(2 * np.pi * 50 * t)
    x = pyburn.from_numpy(np.stack([slow + fast + 3, fast])).float()
    kept = eeg.BandPass(6, 14, 160)(x)
    assert kept.dtype == pyburn.float32
    assert np.abs(kept.numpy()[0, 200:-200] - slow[200:-200]).max() < 0.01
    assert np.abs(kept.numpy()[1, 200:-200]).max() < 0.01
    without = eeg.Notch(50, 160)(np.stack([slow + fast]))
    assert np.abs(without[0, 400:-400] - slow[400:-400]).max() < 0.01
    assert np.abs(eeg.BandPass(None, 20, 160)(x).numpy()[0].mean() - 3) < 0.01
    assert np.abs(eeg.BandPass(1, None, 160)(x).numpy()[0, 300:-300].mean()) < 0.01
    assert eeg.Resample(160, 80)(x).shape == (2, 800)
    assert eeg.BandPass(6, 14, 160)(x.reshape(1, 2, 1600)).shape == (1, 2, 1600)


def test_blocks_are_the_filter_step_by_step() -> None:
    from pyburn.data.transforms.filters import _step_by_step, sosfilt

    sections = eeg.butterworth(5, (1.0, 60.0), "bandpass", 160)
    x = np.random.default_rng(0).normal(size=(3, 333))
    expected, _ = _step_by_step(sections, x, np.zeros((3, len(sections), 2)))
    assert np.abs(sosfilt(sections, x) - expected).max() < 1e-9


def test_filters_that_cannot_be() -> None:
    for wrong in (
        lambda: eeg.BandPass(None, None, 160),
        lambda: eeg.BandPass(30, 8, 160),
        lambda: eeg.BandPass(8, 90, 160),
        lambda: eeg.Notch(80, 160),
        lambda: eeg.butterworth(0, 1.0, "lowpass", 10),
        lambda: eeg.butterworth(2, 1.0, "bandpass", 10),
        lambda: eeg.BandPass(8, 30, 160)(np.zeros((1, 20))),
        lambda: eeg.ChannelDropout(2),
    ):
        with pytest.raises(ValueError, match="expected"):
            wrong()


def test_pieces_around_events() -> None:
    x = pyburn.arange(200).float().reshape(2, 100)
    pieces, kept = eeg.epochs(x, [10, 50, 99, 0], -0.2, 0.3, 10)
    assert kept == [0, 1]
    assert pieces.shape == (2, 2, 6)
    assert pieces[0, 0].tolist() == [8, 9, 10, 11, 12, 13]
    based, _ = eeg.epochs(x, [10], -0.2, 0.3, 10, baseline=(None, 0))
    assert based[0, 1].tolist() == [-1, 0, 1, 2, 3, 4]
    assert eeg.epochs(x, [99], 0, 1, 10)[0].shape == (0, 2, 11)
    with pytest.raises(ValueError, match="baseline"):
        eeg.epochs(x, [10], -0.2, 0.3, 10, baseline=(-1, 0))


def test_augmentation() -> None:
    pyburn.manual_seed(0)
    x = pyburn.randn(50, 64)
    standard = eeg.Standardize()(x * 7 + 3).numpy()
    assert np.allclose(standard.mean(-1), 0, atol=1e-5)
    assert np.allclose(standard.std(-1), 1, atol=1e-4)
    assert np.allclose(np.median(eeg.Standardize(robust=True)(x).numpy(), -1), 0, atol=1e-5)
    dropped = eeg.ChannelDropout(0.4)(x).numpy()
    silent = (dropped == 0).all(-1)
    assert 8 < silent.sum() < 32
    assert np.array_equal(dropped[~silent], x.numpy()[~silent])
    assert np.array_equal(eeg.TimeReverse(1.0)(x).numpy(), x.numpy()[:, ::-1])
    moved = eeg.TimeShift(5)(x).numpy()
    assert any(np.array_equal(moved, np.roll(x.numpy(), shift, -1)) for shift in range(-5, 6))
    surrogate = eeg.FourierSurrogate(1.0)(x).numpy()
    assert not np.allclose(surrogate, x.numpy(), atol=0.1)
    spectrum, other = (np.abs(np.fft.rfft(v)) for v in (x.numpy(), surrogate))
    assert np.allclose(spectrum, other, atol=1e-4)
    # All channels turned alike: what is between them stays.
    assert np.allclose(np.corrcoef(surrogate[:2]), np.corrcoef(x.numpy()[:2]), atol=1e-4)


def test_augmentation_follows_the_sample() -> None:
    class Trials:
        def __len__(self) -> int:
            return 9

        def __getitem__(self, index: int):
            chain = [eeg.ChannelDropout(0.3), eeg.TimeReverse(), eeg.TimeShift(4), eeg.FourierSurrogate()]
            x = np.sin(np.arange(60.0).reshape(3, 20) * index)
            for transform in chain:
                x = transform(x)
            return x

    def epoch(**how):
        pyburn.manual_seed(1)
        return [batch.tolist() for batch in DataLoader(Trials(), batch_size=2, **how)]

    assert epoch() == epoch(num_workers=3)
