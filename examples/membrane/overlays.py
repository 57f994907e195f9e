"""Pictures of what a network found in an image, beside what is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOUND, TRUE = np.array([230, 159, 0]), np.array([0, 114, 178])  # colours that nearly everybody sees apart
FALSE_ALARM, MISSED = np.array([213, 94, 0]), np.array([0, 114, 178])


def tinted(grey: np.ndarray, mask: np.ndarray, colour: np.ndarray, strength: float = 0.55) -> np.ndarray:
    """A grey picture (height, width) as colours, with a veil where the mask says so."""
    rgb = np.repeat(grey[..., None], 3, 2).astype(np.float32)
    amount = strength * mask[..., None]
    return (rgb * (1 - amount) + colour * amount).astype(np.uint8)


def difference(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """White where both see nothing, dark grey where both see membrane, a colour for each kind of error."""
    picture = np.full((*true.shape, 3), 255, np.uint8)
    picture[found & true] = 90
    picture[found & ~true] = FALSE_ALARM
    picture[~found & true] = MISSED
    return picture


def draw(image: np.ndarray, mask: np.ndarray, prediction: np.ndarray, path: Path) -> None:
    """Four panels: the image, what was found over it, what is there over it, and where the two differ."""
    from PIL import Image, ImageDraw

    low, high = np.percentile(image, [0.5, 99.5])
    grey = np.clip((image - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    found, true = prediction > 0.5, mask > 0.5
    panels = [
        ("image", np.repeat(grey[..., None], 3, 2)),
        ("prediction (stronger: more certain)", tinted(grey, prediction, FOUND, 0.75)),
        ("truth", tinted(grey, mask, TRUE)),
        (f"difference: {np.mean(found != true):.1%} wrong (orange: too much, blue: missed)", difference(found, true)),
    ]
    height, width = image.shape
    caption, gap = 22, 8
    sheet = Image.new("RGB", (2 * width + 3 * gap, 2 * (height + caption) + gap), "white")
    pen = ImageDraw.Draw(sheet)
    for place, (title, panel) in enumerate(panels):
        left, top = gap + place % 2 * (width + gap), place // 2 * (height + caption)
        pen.text((left, top + 6), title, fill="#1c2024")
        sheet.paste(Image.fromarray(panel), (left, top + caption))
    sheet.save(path)
