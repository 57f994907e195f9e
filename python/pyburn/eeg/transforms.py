"""Transforms of signals such as EEG: tensors or arrays (..., channels, time).

Tensors give tensors of the same dtype; filters compute in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import Tensor
from ..data.randomness import numpy_random, python_random
from ..data.transforms import Transform
from ..tensor import from_numpy
from . import filters
from .filters import butterworth, notch, sosfiltfilt


class _OfSignal(Transform):
    """Base class of transforms that are implemented for arrays and also accept tensors."""

    def __call__(self, signal: Any) -> Any:
        if isinstance(signal, Tensor):
            made = np.ascontiguousarray(self._apply(signal.detach().cpu().numpy()))
            return from_numpy(made).to(signal.device, signal.dtype)
        array = np.asarray(signal)
        made = self._apply(array)
        return made.astype(array.dtype, copy=False) if array.dtype.kind == "f" else made

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raise NotImplementedError


class BandPass(_OfSignal):
    """Zero-phase Butterworth band-pass filter (forward and backward).

    Args:
        low: The lower cutoff in Hz; None for a low-pass filter.
        high: The upper cutoff in Hz; None for a high-pass filter.
        sfreq: The sampling rate in Hz.
        order: The order of the filter.

    Raises:
        ValueError: Both cutoffs are None, or a frequency is out of range.

    >>> BandPass(8.0, 30.0, 160.0)(pyburn.randn(3, 400)).shape
    pyburn.Size([3, 400])
    """

    def __init__(self, low: float | None, high: float | None, sfreq: float, order: int = 4) -> None:
        if low is None and high is None:
            raise ValueError("expected a lowest or a highest frequency: got neither")
        self.low = low
        self.high = high
        self.sfreq = sfreq
        self.order = order
        if low is None:
            self._sections = butterworth(order, high or 0.0, "lowpass", sfreq)
        elif high is None:
            self._sections = butterworth(order, low, "highpass", sfreq)
        else:
            self._sections = butterworth(order, (low, high), "bandpass", sfreq)

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return sosfiltfilt(self._sections, x)


class Notch(_OfSignal):
    """Zero-phase notch filter that removes one frequency, such as 50 or 60 Hz power line noise.

    Args:
        freq: The frequency in Hz.
        sfreq: The sampling rate in Hz.
        quality: The frequency divided by the bandwidth.

    >>> Notch(50.0, 250.0)(pyburn.randn(3, 500)).shape
    pyburn.Size([3, 500])
    """

    def __init__(self, freq: float, sfreq: float, quality: float = 30.0) -> None:
        self.freq = freq
        self.sfreq = sfreq
        self.quality = quality
        self._sections = notch(freq, quality, sfreq)

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return sosfiltfilt(self._sections, x)


class Resample(_OfSignal):
    """Changes the sampling rate.

    Args:
        orig_freq: The original sampling rate.
        new_freq: The new sampling rate.

    Raises:
        ValueError: A rate is not positive.

    >>> Resample(250.0, 125.0)(pyburn.randn(3, 500)).shape
    pyburn.Size([3, 250])
    """

    def __init__(self, orig_freq: float, new_freq: float) -> None:
        if orig_freq <= 0 or new_freq <= 0:
            raise ValueError(f"expected positive sampling rates: got {orig_freq} and {new_freq}")
        self.orig_freq = orig_freq
        self.new_freq = new_freq

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return filters.resample(x.astype(np.float64), max(round(x.shape[-1] * self.new_freq / self.orig_freq), 1))


class Standardize(_OfSignal):
    """Standardizes each channel to mean 0 and standard deviation 1.

    Args:
        robust: Whether to use median and interquartile range instead.
        eps: Added to the denominator.

    >>> Standardize()(pyburn.tensor([[1.0, 3.0]]))
    tensor([[-1.,  1.]])
    """

    def __init__(self, robust: bool = False, eps: float = 1e-8) -> None:
        self.robust = robust
        self.eps = eps

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        x = x.astype(np.float64)
        if self.robust:
            low, middle, high = np.quantile(x, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
            return (x - middle) / (high - low + self.eps)
        return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + self.eps)


class ChannelDropout(_OfSignal):
    """Sets each channel to 0 with probability p.

    Args:
        p: The probability.

    >>> ChannelDropout(p=1.0)(pyburn.ones(2, 3)).sum()
    tensor(0.)
    """

    def __init__(self, p: float = 0.2) -> None:
        self.p = _probability(p)

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return x * (numpy_random().random((*x.shape[:-1], 1)) >= self.p).astype(x.dtype)


class TimeReverse(_OfSignal):
    """Reverses time with probability p.

    Args:
        p: The probability.

    >>> TimeReverse(p=1.0)(pyburn.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1.]])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = _probability(p)

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return x[..., ::-1].copy() if python_random().random() < self.p else x


class TimeShift(_OfSignal):
    """Shifts the signal by up to `max_shift` samples in either direction.

    Args:
        max_shift: The maximum shift in samples.
        circular: Whether to wrap around; otherwise the gap is filled with zeros.

    >>> TimeShift(10)(pyburn.randn(3, 100)).shape
    pyburn.Size([3, 100])
    """

    def __init__(self, max_shift: int, circular: bool = True) -> None:
        self.max_shift = max_shift
        self.circular = circular

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        shift = python_random().randint(-self.max_shift, self.max_shift)
        made = np.roll(x, shift, -1)
        if not self.circular and shift > 0:
            made[..., :shift] = 0
        elif not self.circular and shift < 0:
            made[..., shift:] = 0
        return made


class FourierSurrogate(_OfSignal):
    """Randomizes the phases of the spectrum (Fourier transform surrogate) with probability p.

    Args:
        p: The probability.
        magnitude: The fraction of the circle from which phase shifts are drawn.
        independent: Whether channels get different shifts; by default they share them, which preserves the relations between channels.

    Raises:
        ValueError: p or magnitude is not in [0, 1].

    >>> FourierSurrogate(p=1.0)(pyburn.randn(3, 100)).shape
    pyburn.Size([3, 100])
    """

    def __init__(self, p: float = 0.5, magnitude: float = 1.0, independent: bool = False) -> None:
        if not 0 <= magnitude <= 1:
            raise ValueError(f"expected a magnitude between 0 and 1: got {magnitude}")
        self.p = _probability(p)
        self.magnitude = magnitude
        self.independent = independent

    def _apply(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        draw = numpy_random()
        if draw.random() >= self.p:
            return x
        spectrum = np.fft.rfft(x)
        shape = spectrum.shape if self.independent else (*spectrum.shape[:-2], *(1,) * (spectrum.ndim > 1), spectrum.shape[-1])
        phases = draw.random(shape) * (2 * math.pi * self.magnitude)
        phases[..., 0] = 0  # the mean, and the Nyquist frequency for an even number of samples, have no phase
        if x.shape[-1] % 2 == 0:
            phases[..., -1] = 0
        return np.fft.irfft(spectrum * np.exp(1j * phases), x.shape[-1])


def epochs(
    signal: Any,
    onsets: Sequence[int] | Any,
    tmin: float,
    tmax: float,
    sfreq: float,
    baseline: tuple[float | None, float | None] | None = None,
) -> tuple[Any, list[int]]:
    """Cuts a recording (channels, time) into epochs around events.

    Args:
        signal: The recording.
        onsets: The sample indices of the events.
        tmin: The start of an epoch relative to the event, in seconds.
        tmax: The end of an epoch, in seconds, inclusive as in MNE.
        sfreq: The sampling rate in Hz.
        baseline: The interval in seconds whose mean is subtracted from each channel of each epoch; None as a limit means that of the epoch.

    Returns:
        The epochs (events, channels, time), and the indices of the events whose epochs lie within the recording.

    Raises:
        ValueError: signal is not 2-d, tmax is less than tmin, or the baseline is not within the epoch.

    >>> pieces, kept = epochs(np.arange(20.0).reshape(1, 20), [5, 19], -0.2, 0.2, 10.0)
    >>> pieces.tolist(), kept
    ([[[3.0, 4.0, 5.0, 6.0, 7.0]]], [0])
    """
    is_tensor = isinstance(signal, Tensor)
    x = signal.detach().cpu().numpy() if is_tensor else np.asarray(signal)
    if x.ndim != 2:
        raise ValueError(f"expected a recording (channels, time): got shape {x.shape}")
    first, last = round(tmin * sfreq), round(tmax * sfreq)
    if last < first:
        raise ValueError(f"expected tmin below tmax: got {tmin} and {tmax}")
    starts = [int(onset) + first for onset in (onsets.tolist() if isinstance(onsets, Tensor) else onsets)]
    length = last - first + 1
    kept = [i for i, start in enumerate(starts) if start >= 0 and start + length <= x.shape[1]]
    places = np.array([starts[i] for i in kept], np.int64)[:, None] + np.arange(length)
    pieces = np.ascontiguousarray(x[:, places].transpose(1, 0, 2))
    if baseline is not None:
        low = 0 if baseline[0] is None else round(baseline[0] * sfreq) - first
        high = length if baseline[1] is None else round(baseline[1] * sfreq) - first + 1
        if not 0 <= low < high <= length:
            raise ValueError(f"expected a baseline inside {tmin} to {tmax}: got {baseline}")
        pieces = pieces - pieces[..., low:high].mean(-1, keepdims=True, dtype=np.float64).astype(pieces.dtype)
    return (from_numpy(pieces).to(signal.device) if is_tensor else pieces), kept


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"expected a probability between 0 and 1: got {p}")
    return p
