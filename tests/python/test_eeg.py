"""pyburn.eeg: EDF and BDF recordings, filters compared with SciPy, epochs, augmentation, data sets."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn import FormatError, eeg
from pyburn.data import DataLoader

sys.path.insert(0, str(Path(__file__).parent))

from edf_files import edf_bytes

HERE = Path(__file__).parent
DATA = os.environ.get("PYBURN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")
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
    from pyburn.eeg.filters import _step_by_step, sosfilt

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


# --- EDF and BDF ---


@pytest.mark.parametrize("bdf", [False, True])
def test_recordings_are_calibrated_and_annotated(bdf: bool) -> None:
    fast, slow = np.arange(-30, 30) * 500, np.arange(12) - 6
    notes = [
        b"+0\x14\x14\x00+0.5\x150.25\x14eyes open\x14\x00",
        b"+1\x14\x14\x00",
        "+2\x14\x14\x00+2\x14Größe\x14und mehr\x14\x00".encode(),
    ]
    data = edf_bytes([("fast", fast, 20), ("slow", slow, 4)], 3, annotations=notes, bdf=bdf, kind="BDF+C" if bdf else "EDF+C")
    recording = eeg.read_edf(data)
    assert recording.channels == ["fast", "slow"] and recording.header.kind == ("BDF+C" if bdf else "EDF+C")
    assert (recording.rate("fast"), recording.rate("slow"), recording.duration) == (20, 4, 3)
    assert recording.start == datetime(2021, 3, 2, 4, 5, 6)
    assert recording.annotations == [(0.5, 0.25, "eyes open"), (2.0, 0.0, "Größe"), (2.0, 0.0, "und mehr")]
    steps = 2**24 - 1 if bdf else 2**16 - 1
    low = -(2**23) if bdf else -(2**15)
    assert np.allclose(recording.signal("fast"), (fast - low) * 200 / steps - 100, rtol=0, atol=1e-9)
    assert (recording.signal("slow", digital=True) == slow).all()
    assert recording.read(["slow"]).shape == (1, 12)
    with pytest.raises(ValueError, match="different rates: fast 20, slow 4"):
        recording.read()
    with pytest.raises(KeyError, match="no channel 'C3': the file has fast, slow"):
        recording.signal("C3")


def test_gaps_raise_an_error_and_segments_are_read() -> None:
    values = np.arange(40)
    notes = [b"+%d\x14\x14\x00" % at for at in (0, 1, 5, 6)]
    recording = eeg.read_edf(edf_bytes([("a", values, 10)], 4, annotations=notes, kind="EDF+D"))
    assert not recording.is_continuous and recording.segments == [(0.0, 0, 2), (5.0, 2, 2)]
    with pytest.raises(ValueError, match="has gaps: 2 segments, which begin at 0 s, 5 s"):
        recording.read()
    assert (recording.signal("a", segment=1, digital=True) == values[20:]).all()
    assert recording.read(segment=0).shape == (1, 20)


def test_recordings_that_are_cut_short_are_refused_or_read(tmp_path: Path) -> None:
    whole = edf_bytes([("a", np.arange(40), 10)], 4)
    (tmp_path / "cut.edf").write_bytes(whole[:-25])
    with pytest.raises(FormatError, match="claims 4 records of 20 bytes, the file holds 2"):
        eeg.read_edf(tmp_path / "cut.edf")
    assert eeg.read_edf(tmp_path / "cut.edf", allow_truncated=True).read(digital=True).tolist() == [list(range(20))]
    unknown = edf_bytes([("a", np.arange(40), 10)], 4).replace(b"4       1       1   ", b"-1      1       1   ")
    assert eeg.read_edf(unknown).header.records == 4
    with pytest.raises(FormatError, match="not an EDF or BDF file"):
        eeg.read_edf(b"x" * 300)
    with pytest.raises(FormatError, match="expected a number"):
        eeg.read_edf(whole[:236] + b"many    " + whole[244:])


@needs_data
@pytest.mark.parametrize("name", ["physionet_S001R03.edf", "physionet_S001R04.edf", "test.edf", "test.bdf"])
def test_recordings_are_as_mne_reads_them(name: str) -> None:
    golden = json.loads((HERE.parent / "golden" / "data.json").read_text())["recordings"][name]
    recording = eeg.read_edf(Path(str(DATA)) / "eeg" / name)
    assert recording.channels == golden["channels"] and recording.rate() == golden["rate"]
    for channel, expected in golden["values"].items():
        values = recording.signal(channel)
        unit = recording.signals[recording.channels.index(channel)].unit
        scale = 1 if golden["microvolts"] or unit.lower() not in ("uv", "µv") else 1e-6
        assert len(values) == golden["samples"]
        assert np.allclose(values[[0, 1, 1000, -1]] * scale, expected, rtol=1e-6, atol=1e-12)
        assert np.isclose(values.std() * scale, golden["deviation"][channel], rtol=1e-6)
    if golden["microvolts"]:
        assert [list(note) for note in recording.annotations] == golden["annotations"]


# --- data sets ---


@needs_data
def test_trials_of_physionet_are_where_the_cues_are() -> None:
    trials = eeg.PhysioNetMotorImagery(runs=[3], window=(0.5, 2.5))
    recording = eeg.read_edf(Path(str(DATA)) / "eeg" / "physionet_S001R03.edf")
    cues = [note for note in recording.annotations if note.text in ("T1", "T2")]
    start = round(cues[0].onset * 160) + 80
    assert trials.rate == 160 and trials.run_of == [3] * len(trials) and len(trials) == len(cues) == 15
    assert np.array_equal(trials[0][0].numpy(), recording.read()[:, start : start + 320]) and trials[0][1] == int(cues[0].text == "T2")
