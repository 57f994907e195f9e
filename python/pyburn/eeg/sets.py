"""EEG data sets: PhysioNet motor imagery, and the self-paced key presses of BCI competition II."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.files import FormatError, read_mat
from ..data.sets.place import Files, LabelledSet, Resource, Root, read_checksums
from ..tensor import from_numpy
from .edf import read_edf


class TrialSet(LabelledSet, counted="trials"):
    """Base class of EEG data sets. Samples are (trial, class index).

    Attributes:
        data: The trials, (trials, channels, samples), float32.
        targets: The class indices, (trials,).
        channels: The channel names.
        rate: The sampling rate in Hz.
        classes: The class names.

    >>> issubclass(SelfPaced1s, TrialSet)
    True
    """

    classes: list[str]
    channels: list[str]
    rate: float

    def _sample(self, at: int) -> tuple[Any, Any]:
        return self.data[at], int(self.targets[at])


class PhysioNetMotorImagery(TrialSet):
    """PhysioNet EEG motor movement/imagery: left or right fist, 64 channels, 160 Hz, in microvolts.

    Only subject 1 can be downloaded; files of other subjects are used if present. `run_of` has the run of each trial, to hold out one run
    for testing.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        subject: The subject, 1 to 109.
        runs: The runs: executed (3, 7, 11) or imagined movement (4, 8, 12).
        window: Start and end of a trial in seconds after its cue.
        transform: Applied to the trial.
        target_transform: Applied to the class index.
        download: Whether to download missing files.

    Raises:
        ValueError: subject, runs or window is invalid.
        DataNotFoundError: The files are missing and cannot be downloaded.
        FormatError: A file is damaged or has no cues.

    >>> PhysioNetMotorImagery.classes
    ['left fist', 'right fist']
    """

    classes = ["left fist", "right fist"]

    def __init__(
        self,
        root: Root = None,
        subject: int = 1,
        runs: Sequence[int] = (4, 8, 12),
        window: tuple[float, float] = (0.0, 4.0),
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = True,
    ) -> None:
        if not 1 <= subject <= 109 or not runs or any(run not in (3, 4, 7, 8, 11, 12) for run in runs):
            raise ValueError(f"[PhysioNetMotorImagery] subjects are 1 to 109, runs 3, 4, 7, 8, 11, 12: got {subject} and {list(runs)}")
        if window[1] <= window[0]:
            raise ValueError(f"[PhysioNetMotorImagery] the window {window} is empty")
        self.subject, self.runs, self.window = subject, runs, window
        super().__init__(root, None, transform, target_transform, download)

    def _load(self, root: Root, download: bool) -> None:
        runs, window = self.runs, self.window
        trials, labels, run_of = [], [], []
        for run, path in zip(runs, _physionet_files(self.subject, runs).locate(root, download)):
            recording = read_edf(path)
            self.channels, self.rate = recording.channels, recording.rate()
            values = recording.read()
            first, count = round(window[0] * self.rate), round((window[1] - window[0]) * self.rate)
            for note in recording.annotations:
                start = round(note.onset * self.rate) + first
                if note.text in ("T1", "T2") and start >= 0 and start + count <= values.shape[1]:
                    trials.append(values[:, start : start + count])
                    labels.append(int(note.text == "T2"))
                    run_of.append(run)
        if not trials:
            raise FormatError("[PhysioNetMotorImagery] the files have no cues T1 and T2")
        self.data, self.targets = from_numpy(np.stack(trials)), from_numpy(np.array(labels, np.int64))
        self.run_of = run_of


def _physionet_files(subject: int, runs: Sequence[int]) -> Files:
    names = [f"S{subject:03d}R{run:02d}.edf" for run in runs]
    resources: tuple[Resource, ...] = ()
    if subject == 1:
        # The URL is from mne/datasets/eegbci/eegbci.py.
        home = "https://physionet.org/files/eegmmidb/1.0.0/S001"
        checksums = read_checksums(Path(__file__).with_name("physionet.sums"))
        resources = tuple(Resource(name, (f"{home}/{name}",), checksums[name]) for name in names)
    return Files(
        "PhysioNetMotorImagery",
        tuple((name, f"physionet_{name}") for name in names),
        ("eeg", f"S{subject:03d}", f"eegmmidb/S{subject:03d}", f"MNE-eegbci-data/files/eegmmidb/1.0.0/S{subject:03d}"),
        resources,
        f"Put {', '.join(names)} of https://physionet.org/content/eegmmidb/1.0.0/ into the folder that you pass as root.",
    )


class SelfPaced1s(TrialSet):
    """BCI competition II, data set IV (`sp1s_aa`): EEG of half a second before a key press with the left (0) or right (1) hand.

    28 channels, 100 Hz, in microvolts; 316 training and 100 test trials. The authors provide the file on request and publish no checksum,
    so it is not downloaded.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: Whether to load the training set or the test set.
        transform: Applied to the trial.
        target_transform: Applied to the class index.
        download: Has no effect.

    Raises:
        DataNotFoundError: The file is missing.
        FormatError: The file is invalid.

    >>> SelfPaced1s.classes
    ['left hand', 'right hand']
    """

    classes = ["left hand", "right hand"]
    rate = 100.0

    def _load(self, root: Root, download: bool) -> None:
        manual = "Ask for sp1s_aa.mat at https://www.bbci.de/competition/ii/ (data set IV, 100 Hz) and pass its folder as root."
        files = Files("SelfPaced1s", (("sp1s_aa.mat",),), ("eeg",), manual=manual)
        part = "train" if self.train else "test"
        content = read_mat(files.locate(root, download)[0], ["clab", f"x_{part}", f"y_{part}"])
        x, y = content[f"x_{part}"], content[f"y_{part}"]
        if not isinstance(x, np.ndarray) or x.ndim != 3 or not isinstance(y, np.ndarray) or y.size != x.shape[2]:
            raise FormatError("[SelfPaced1s] the file does not hold trials (samples, channels, trials) and their hands")
        self.channels = [str(name) for name in np.asarray(content["clab"]).reshape(-1)]
        # The unit of the file is 0.1 microvolts.
        self.data = from_numpy(np.ascontiguousarray(x.transpose(2, 1, 0), np.float32) * np.float32(0.1))
        self.targets = from_numpy(y.reshape(-1).astype(np.int64))
