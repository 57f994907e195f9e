"""Pictures of brain waves: spectra per class, and what the filters of an EEGNet respond to."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from pyburn.train.run.svg_plots import STYLE, Curve, line_chart

INK, FAINT, BLUE, ORANGE = "#1c2024", "#98a2aa", (0, 114, 178), (213, 94, 0)
# Degrees from the top of the head to the front.
ROWS = {"FP": 72, "AF": 54, "F": 36, "FC": 18, "FT": 18, "C": 0, "T": 0, "CP": -18, "TP": -18, "P": -36, "PO": -54, "O": -72, "I": -90}


def place(electrode: str) -> tuple[float, float]:
    """Where an electrode of the 10-10 system is, seen from above: the head is a circle of radius 1 with its nose at (0, 1)."""
    found = re.fullmatch(r"([A-Z]+)(Z|\d+)", electrode.upper())
    if found is None or found[1] not in ROWS:
        raise ValueError(f"no electrode of the 10-10 system is called {electrode!r}")
    height = ROWS[found[1]] / 90
    if found[2] == "Z":
        return 0.0, height
    number = int(found[2])
    out = 1.0 if found[1] in ("FP", "O") else (number + 1) // 2 / 4  # of the way to the ring around the head
    side = -1 if number % 2 else 1
    angle = math.radians(ROWS[found[1]])
    return side * 0.8 * math.cos(angle) * out, height + (0.8 * math.sin(angle) - height) * out


def spectrum(signals: np.ndarray, rate: float, seconds: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and the mean power density (electrodes, frequencies) over trials, by Welch's method: pieces that overlap by half."""
    length = min(round(seconds * rate), signals.shape[2])
    window = np.hanning(length + 1)[:-1]
    starts = range(0, signals.shape[2] - length + 1, max(length // 2, 1))
    pieces = np.stack([signals[:, :, start : start + length] for start in starts])
    pieces = (pieces - pieces.mean(-1, keepdims=True)) * window
    power = 2 * np.abs(np.fft.rfft(pieces)) ** 2 / (rate * (window**2).sum())
    return np.fft.rfftfreq(length, 1 / rate), power.mean(axis=(0, 1))


def draw_spectra(
    signals: np.ndarray,
    labels: np.ndarray,
    electrodes: Sequence[str],
    classes: Sequence[str],
    rate: float,
    path: Path,
    highest: float = 40.0,
) -> None:
    """Power over frequency in decibels, a curve a class, at C3 and C4, over the parts of the brain that move right and left hand."""
    charts = []
    for electrode in ("C3", "C4"):
        curves = []
        for label, name in enumerate(classes):
            frequencies, power = spectrum(signals[labels == label][:, [list(electrodes).index(electrode)]], rate)
            shown = (frequencies >= 2) & (frequencies <= highest)
            curves.append(Curve(name, frequencies[shown], 10 * np.log10(power[0, shown])))
        charts.append(line_chart(f"{electrode}: power, dB of uV^2/Hz", curves, x_label="Hz"))
    placed = [chart.replace("<svg ", f'<svg x="{k * 470}" width="460" height="260" ', 1) for k, chart in enumerate(charts)]
    style = f"<style>{STYLE} svg {{ background: var(--ground) }}</style>"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 260" width="1116">{style}{"".join(placed)}</svg>')


def head_map(values: np.ndarray, electrodes: Sequence[str], size: int) -> Image.Image:
    """Values of the electrodes on a head from above, between them the mean of the near ones: orange above 0, blue below."""
    points = np.array([place(electrode) for electrode in electrodes])
    axis = np.linspace(-1.15, 1.15, size)
    x, y = np.meshgrid(axis, -axis)
    distance = (x[..., None] - points[:, 0]) ** 2 + (y[..., None] - points[:, 1]) ** 2
    weights = 1 / (distance + 0.01) ** 2
    level = (weights * values).sum(-1) / weights.sum(-1) / max(np.abs(values).max(), 1e-12)
    colour = np.where(level[..., None] > 0, np.array(ORANGE), np.array(BLUE))
    amount = np.abs(level)[..., None] * np.exp(-np.maximum(distance.min(-1) - 0.06, 0) * 25)[..., None]  # pale where nothing is measured
    picture = np.where((x**2 + y**2 <= 1)[..., None], 255 + (colour - 255) * amount, 255).astype(np.uint8)
    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)

    def at(across: float, up: float) -> tuple[float, float]:
        return (across + 1.15) / 2.3 * size, (1.15 - up) / 2.3 * size

    pen.ellipse([*at(-1, 1), *at(1, -1)], outline=FAINT)
    pen.line([at(-0.12, 0.99), at(0, 1.12), at(0.12, 0.99)], fill=FAINT)
    for across, up in points:
        left, top = at(across, up)
        pen.ellipse([left - 1, top - 1, left + 1, top + 1], fill=INK)
    return image


def _curve(pen: ImageDraw.ImageDraw, box: tuple[int, int, int, int], y: np.ndarray, low: float, high: float, colour: str) -> None:
    left, top, width, height = box
    across = left + np.arange(len(y)) / (len(y) - 1) * width
    down = top + (high - y) / (high - low) * height
    pen.line([*zip(across.tolist(), down.tolist())], fill=colour, width=2, joint="curve")


def draw_filters(temporal: np.ndarray, spatial: np.ndarray, electrodes: Sequence[str], rate: float, path: Path) -> None:
    """A row per filter in time (filters, taps): its shape, the frequencies it lets through, and the maps of the filters over electrodes
    (filters * maps, electrodes) that follow it."""
    maps = len(spatial) // len(temporal)
    map_size, wide, high, gap, header = 110, 190, 80, 24, 30
    sheet = Image.new("RGB", (gap * 3 + 2 * wide + maps * (map_size + 8), header + len(temporal) * (map_size + 6) + 24), "white")
    pen = ImageDraw.Draw(sheet)
    right = 2 * gap + wide
    pen.text((gap, 9), f"filter in time, {temporal.shape[1] / rate * 1000:.0f} ms", fill=INK)
    pen.text((right, 9), f"what it lets through, 0 to {rate / 2:g} Hz", fill=INK)
    pen.text((3 * gap + 2 * wide, 9), "filters over the electrodes", fill=INK)
    for row, taps in enumerate(temporal):
        top = header + row * (map_size + 6)
        inner = top + (map_size - high) // 2
        limit = np.abs(taps).max()
        pen.line([gap, inner + high / 2, gap + wide, inner + high / 2], fill="#dde2e6")
        _curve(pen, (gap, inner, wide, high), taps, -limit, limit, "#0072b2")
        response = np.abs(np.fft.rfft(taps, 256))
        pen.line([right, inner + high, right + wide, inner + high], fill="#dde2e6")
        _curve(pen, (right, inner, wide, high), response, 0, response.max(), "#009e73")
        strongest = response.argmax() / 256 * rate
        pen.text((right + wide, inner), f"{strongest:.0f} Hz", fill=FAINT, anchor="ra")
        for k in range(maps):
            sheet.paste(head_map(spatial[row * maps + k], electrodes, map_size), (3 * gap + 2 * wide + k * (map_size + 8), top))
    sheet.save(path)
