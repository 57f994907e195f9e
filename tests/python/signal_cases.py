"""Cases for filters, as calls that scipy and pyburn both understand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

CASES = [
    "bandpass(4, 8.0, 30.0, x)",
    "bandpass(5, 0.5, 40.0, x)",
    "bandpass(1, 1.0, 70.0, x)",
    "lowpass(4, 20.0, x)",
    "lowpass(3, 12.5, x)",
    "lowpass(1, 30.0, x)",
    "highpass(4, 1.0, x)",
    "highpass(5, 6.0, x)",
    "bandstop(3, 45.0, 55.0, x)",
    "notch(50.0, 30.0, x)",
    "resample(x, 150)",
    "resample(x, 301)",
    "resample(x, 600)",
    "resample(x[:, :-1], 120)",
]
RATE = 160.0


def signal() -> np.ndarray:
    """Two channels of 300 samples."""
    t = np.arange(300) / RATE
    return np.stack([np.sin(2 * np.pi * 10 * t) + 0.3 * np.cos(2 * np.pi * 50 * t) + t, np.cos(70 * t * t) - 0.5 * t])


def run(call: str, functions: SimpleNamespace) -> np.ndarray:
    """What the call gives."""
    return eval(call, {"x": signal(), **vars(functions)})


def by_scipy(call: str) -> np.ndarray:
    """What scipy gives."""
    from scipy import signal as s

    def butter(order: int, cutoff: object, kind: str, x: np.ndarray) -> np.ndarray:
        return s.sosfiltfilt(s.butter(order, cutoff, kind, fs=RATE, output="sos"), x)

    functions = SimpleNamespace(
        bandpass=lambda order, low, high, x: butter(order, (low, high), "bandpass", x),
        lowpass=lambda order, high, x: butter(order, high, "lowpass", x),
        highpass=lambda order, low, x: butter(order, low, "highpass", x),
        bandstop=lambda order, low, high, x: butter(order, (low, high), "bandstop", x),
        notch=lambda frequency, quality, x: s.sosfiltfilt(s.tf2sos(*s.iirnotch(frequency, quality, RATE)), x),
        resample=lambda x, samples: s.resample(x, samples, axis=-1),
    )
    return run(call, functions)


def by_pyburn(call: str) -> np.ndarray:
    """What pyburn gives."""
    from pyburn import eeg

    def butter(order: int, cutoff: object, kind: str, x: np.ndarray) -> np.ndarray:
        return eeg.sosfiltfilt(eeg.butterworth(order, cutoff, kind, RATE), x)  # type: ignore[arg-type]

    functions = SimpleNamespace(
        bandpass=lambda order, low, high, x: butter(order, (low, high), "bandpass", x),
        lowpass=lambda order, high, x: butter(order, high, "lowpass", x),
        highpass=lambda order, low, x: butter(order, low, "highpass", x),
        bandstop=lambda order, low, high, x: butter(order, (low, high), "bandstop", x),
        notch=lambda frequency, quality, x: eeg.sosfiltfilt(eeg.notch(frequency, quality, RATE), x),
        resample=eeg.resample,
    )
    return run(call, functions)
