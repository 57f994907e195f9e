"""Digital filters in NumPy: Butterworth and notch filters as second-order sections, forward and backward in time.

A recursive filter proceeds sample by sample, which is slow in Python. Here it proceeds block by block: the outputs and the next state are
linear in the inputs of a block and the previous state; the matrices are computed once per filter by filtering unit vectors.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_BLOCK = 128


def butterworth(order: int, cutoff: float | tuple[float, float], kind: str, rate: float) -> Array:
    """Designs a digital Butterworth filter.

    Args:
        order: The order.
        cutoff: The cutoff frequency in Hz, or (low, high) for bandpass and bandstop.
        kind: "lowpass", "highpass", "bandpass" or "bandstop".
        rate: The sampling rate in Hz.

    Returns:
        The second-order sections, (n, 6).

    Raises:
        ValueError: An argument is invalid.

    >>> butterworth(2, 10.0, "lowpass", 100.0).shape
    (1, 6)
    """
    edges = np.atleast_1d(np.asarray(cutoff, np.float64))
    if order < 1:
        raise ValueError(f"expected an order of at least 1: got {order}")
    if kind not in ("lowpass", "highpass", "bandpass", "bandstop"):
        raise ValueError(f"expected lowpass, highpass, bandpass or bandstop: got {kind!r}")
    if len(edges) != (2 if kind.startswith("band") else 1):
        raise ValueError(f"expected {'two frequencies' if kind.startswith('band') else 'one frequency'} for {kind}: got {cutoff}")
    if not all(0 < edge < rate / 2 for edge in edges) or list(edges) != sorted(set(edges)):
        raise ValueError(f"expected rising frequencies between 0 and half the sampling rate {rate}: got {cutoff}")
    poles = -np.exp(1j * np.pi * np.arange(-order + 1, order, 2) / (2 * order))  # analog low-pass prototype with cutoff 1
    warped = 4 * np.tan(np.pi * edges / rate)
    if kind == "lowpass":
        zeros, poles, gain = np.empty(0), poles * warped[0], warped[0] ** order
    elif kind == "highpass":
        zeros, poles, gain = np.zeros(order), warped[0] / poles, 1.0
    else:
        width, middle = warped[1] - warped[0], math.sqrt(warped[0] * warped[1])
        moved = poles * width / 2 if kind == "bandpass" else width / 2 / poles
        spread = np.sqrt(moved.astype(complex) ** 2 - middle**2)
        poles = np.concatenate([moved + spread, moved - spread])
        zeros = np.zeros(order) if kind == "bandpass" else np.repeat([1j * middle, -1j * middle], order)
        gain = width**order if kind == "bandpass" else 1.0
    # Bilinear transform from analog to digital; zeros at infinity map to -1.
    gain = gain * np.real(np.prod(4 - zeros) / np.prod(4 - poles))
    missing = len(poles) - len(zeros)
    zeros = np.concatenate([(4 + zeros) / (4 - zeros), -np.ones(missing)])
    return _sections(zeros, (4 + poles) / (4 - poles), gain)


def _sections(zeros: Array, poles: Array, gain: float) -> Array:
    numerators, denominators = _quadratics(zeros, spread=True), _quadratics(poles)
    sections = np.array([[*b, *a] for b, a in zip(numerators, denominators)])
    sections[0, :3] *= gain
    return sections


def _quadratics(roots: Array, spread: bool = False) -> list[list[float]]:
    """Returns second-order polynomials with the given roots: conjugates together, real roots in pairs, a remaining one alone."""
    upper = sorted((r for r in roots if r.imag > 1e-9), key=abs)
    real = sorted(float(r.real) for r in roots if abs(r.imag) <= 1e-9)
    if spread:  # pairs the largest with the smallest, so that every band-pass section has zeros at both ends
        real = [r for pair in zip(real, reversed(real)) for r in pair][: len(real)]
    made = [[1.0, -2 * float(r.real), float(abs(r) ** 2)] for r in upper]
    for i in range(0, len(real) - 1, 2):
        made.append([1.0, -(real[i] + real[i + 1]), real[i] * real[i + 1]])
    if len(real) % 2:
        made.append([1.0, -real[-1], 0.0])
    return made


def notch(frequency: float, quality: float, rate: float) -> Array:
    """Designs a notch filter, which removes one frequency.

    Args:
        frequency: The frequency in Hz.
        quality: The quality factor: frequency / bandwidth.
        rate: The sampling rate in Hz.

    Returns:
        The second-order section, (1, 6).

    Raises:
        ValueError: The frequency is not between 0 and half the sampling rate.

    >>> notch(50.0, 30.0, 250.0).shape
    (1, 6)
    """
    if not 0 < frequency < rate / 2:
        raise ValueError(f"expected a frequency between 0 and half the sampling rate {rate}: got {frequency}")
    angle = 2 * math.pi * frequency / rate
    gain = 1 / (1 + math.tan(angle / quality / 2))
    middle = -2 * math.cos(angle) * gain
    return np.array([[gain, middle, gain, 1.0, middle, 2 * gain - 1]])


def _step_by_step(sections: Array, x: Array, state: Array) -> tuple[Array, Array]:
    """Filters rows of x (n, time) sample by sample, from states (n, sections, 2); returns the outputs and final states."""
    y, state = x.copy(), state.copy()
    for s, (b0, b1, b2, _, a1, a2) in enumerate(sections):
        first, second = state[:, s, 0], state[:, s, 1]
        for t in range(x.shape[1]):
            given = y[:, t].copy()
            y[:, t] = b0 * given + first
            first = b1 * given - a1 * y[:, t] + second
            second = b2 * given - a2 * y[:, t]
        state[:, s, 0], state[:, s, 1] = first, second
    return y, state


@functools.lru_cache(maxsize=32)
def _block_matrices(content: bytes) -> tuple[Array, Array]:
    """Returns the linear maps from (inputs of a block, previous state) to (outputs, next state)."""
    sections = np.frombuffer(content).reshape(-1, 6)
    states = 2 * len(sections)
    unit = np.eye(_BLOCK + states)
    y, after = _step_by_step(sections, unit[:, :_BLOCK], unit[:, _BLOCK:].reshape(-1, len(sections), 2))
    return y, after.reshape(-1, states)


def sosfilt(sections: Array, x: Array, state: Array | None = None) -> Array:
    """Filters along the last dimension.

    Args:
        sections: The second-order sections of the filter, (n, 6).
        x: The signal, (..., samples).
        state: The initial state, (..., n, 2); zeros by default.

    Returns:
        The filtered signal, with the shape of x.

    >>> sosfilt(np.array([[0.5, 0.0, 0.0, 1.0, 0.0, 0.0]]), np.array([2.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    samples, states = x.shape[-1], 2 * len(sections)
    rows = np.asarray(x, np.float64).reshape(-1, samples)
    blocks = -(-samples // _BLOCK)
    cut = np.zeros((len(rows), blocks * _BLOCK))
    cut[:, :samples] = rows
    cut = cut.reshape(len(rows), blocks, _BLOCK)
    outputs, after = _block_matrices(np.ascontiguousarray(sections, np.float64).tobytes())
    # Only the states are computed sequentially; their effect on the outputs is added for all blocks at once.
    pushed = cut @ after[:_BLOCK]
    before = np.empty((len(rows), blocks, states))
    now = np.zeros((len(rows), states)) if state is None else np.broadcast_to(state.reshape(-1, states), (len(rows), states))
    for block in range(blocks):
        before[:, block] = now
        now = now @ after[_BLOCK:] + pushed[:, block]
    y = cut @ outputs[:_BLOCK]
    y += before @ outputs[_BLOCK:]
    return y.reshape(len(rows), -1)[:, :samples].reshape(x.shape)


def _settled(sections: Array) -> Array:
    """Returns the steady state (sections, 2) for a constant input of 1."""
    states, level = np.zeros((len(sections), 2)), 1.0
    for s, (b0, b1, b2, _, a1, a2) in enumerate(sections):
        out = level * (b0 + b1 + b2) / (1 + a1 + a2)
        states[s] = out - b0 * level, b2 * level - a2 * out
        level = out
    return states


def sosfiltfilt(sections: Array, x: Array) -> Array:
    """Filters forward and backward along the last dimension, for zero phase. The ends are padded by odd reflection.

    Args:
        sections: The second-order sections of the filter, (n, 6).
        x: The signal, (..., samples).

    Returns:
        The filtered signal, with the shape of x.

    Raises:
        ValueError: The signal is too short.

    >>> float(sosfiltfilt(butterworth(2, 10.0, "lowpass", 100.0), np.ones(50)).round(6).min())
    1.0
    """
    taps = 2 * len(sections) + 1 - min(int((sections[:, 2] == 0).sum()), int((sections[:, 5] == 0).sum()))
    border = 3 * taps
    if x.shape[-1] <= border:
        raise ValueError(f"expected a signal of more than {border} samples for this filter: got {x.shape[-1]}")
    x = np.asarray(x, np.float64)
    longer = np.concatenate([2 * x[..., :1] - x[..., border:0:-1], x, 2 * x[..., -1:] - x[..., -2 : -border - 2 : -1]], -1)
    settled = _settled(sections)
    y = longer
    for _ in range(2):
        y = sosfilt(sections, y, settled * y[..., :1, None])[..., ::-1]
    return np.ascontiguousarray(y[..., border:-border])


def resample(x: Array, samples: int) -> Array:
    """Resamples along the last dimension with the Fourier method, which assumes a periodic signal.

    Args:
        x: The signal, (..., samples before).
        samples: The new number of samples.

    Returns:
        The signal, (..., samples).

    Raises:
        ValueError: samples is less than 1.

    >>> resample(np.array([1.0, 1.0, 1.0]), 6).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    before = x.shape[-1]
    if samples < 1:
        raise ValueError(f"expected at least 1 sample: got {samples}")
    spectrum = np.fft.rfft(x)
    kept = min(before, samples)
    made = np.zeros((*x.shape[:-1], samples // 2 + 1), complex)
    made[..., : kept // 2 + 1] = spectrum[..., : kept // 2 + 1]
    if kept % 2 == 0:  # the Nyquist bin represents both the positive and the negative frequency
        if samples < before:
            made[..., kept // 2] *= 2
        elif samples > before:
            made[..., kept // 2] *= 0.5
    return np.fft.irfft(made, samples) * (samples / before)
