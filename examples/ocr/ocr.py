"""Reads the text in a picture with three ONNX models: one finds lines, one says which are upside down, one reads them.

python examples/ocr/ocr.py                       a sign that the example draws
python examples/ocr/ocr.py receipt.png --output read.png

The models are PaddleOCR's, in the package rapidocr-onnxruntime (make models); pyburn takes the place of ONNX Runtime.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pyburn
import pyburn.nn.functional as F
from pyburn import Tensor

HEIGHT = 48  # of the lines that the models take
INK, PAPER, BLUE = (33, 37, 41), (248, 246, 240), (28, 78, 156)


class Line(NamedTuple):
    """A line of text: the middle, half the size along and across, and the angle of its rectangle."""

    x: float
    y: float
    half_width: float
    half_height: float
    angle: float

    def corners(self) -> list[tuple[float, float]]:
        c, s = math.cos(self.angle), math.sin(self.angle)
        sides = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        return [
            (self.x + c * a * self.half_width - s * b * self.half_height, self.y + s * a * self.half_width + c * b * self.half_height)
            for a, b in sides
        ]


def model_folder() -> Path:
    """The folder `models` of the package, which is found and not imported: it would want ONNX Runtime and OpenCV."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if found is None or found.origin is None:
        sys.exit("the models are in the package rapidocr-onnxruntime: pip install --no-deps rapidocr-onnxruntime==1.4.4")
    return Path(found.origin).parent / "models"


def components(mask: Tensor) -> Tensor:
    """Numbers the connected parts of a mask (H, W): every pixel takes the largest number around it until nothing changes."""
    numbers = pyburn.arange(1, mask.numel() + 1, dtype=pyburn.float32).reshape(1, 1, *mask.shape) * mask
    while True:
        spread = F.max_pool2d(numbers, 3, 1, 1) * mask
        for _ in range(15):
            spread = F.max_pool2d(spread, 3, 1, 1) * mask
        if pyburn.equal(spread, numbers):
            return spread[0, 0].long()
        numbers = spread


class Reader:
    """Finds lines, turns them, reads them."""

    def __init__(self, models: Path, device: str | None = None) -> None:
        self.device = pyburn.Device(device) if device else pyburn.get_default_device()
        self.detector, self.director, self.recogniser = (
            pyburn.onnx.session(models / f"ch_{name}_infer.onnx", device)
            for name in ("PP-OCRv4_det", "ppocr_mobile_v2.0_cls", "PP-OCRv4_rec")
        )
        characters = pyburn.onnx.info(models / "ch_PP-OCRv4_rec_infer.onnx").metadata["character"]
        self.characters = ["", *characters.splitlines(), " "]  # the first is the blank of CTC

    def __call__(self, picture: Image.Image) -> list[tuple[Line, str, float]]:
        """The lines of a picture with their texts and how sure the model is, from top to bottom."""
        pixels = np.asarray(picture.convert("RGB"))[:, :, ::-1].copy()  # the models learnt with blue first
        image = pyburn.from_numpy(pixels).to(self.device).permute(2, 0, 1)[None].float() / 127.5 - 1
        lines = sorted(self.find(image), key=lambda line: (line.y, line.x))
        return [(line, *self.read(self.upright(self.cut(image, line)))) for line in lines]

    def find(self, image: Tensor) -> list[Line]:
        """Lines of text: connected parts of the map of probabilities, as rectangles along their main axis."""
        height, width = image.shape[2:]
        size = [max(32, round(n / 32) * 32) for n in (height, width)]  # the network halves five times
        text = self.detector(F.interpolate(image, size=size, mode="bilinear"))[0, 0].cpu()
        numbers = components((text > 0.3).float())
        lines = []
        for number in numbers.unique().tolist()[1:]:
            y, x = (numbers == number).nonzero(as_tuple=True)
            if len(x) < 16 or text[y, x].mean() < 0.5:
                continue
            points = pyburn.stack([(x + 0.5) * (width / size[1]), (y + 0.5) * (height / size[0])]).float()
            middle = points.mean(1, keepdim=True)
            (a, b), (_, d) = ((points - middle) @ (points - middle).T).tolist()
            angle = 0.5 * math.atan2(2 * b, a - d)  # of the axis of the largest spread
            c, s = math.cos(angle), math.sin(angle)
            along = pyburn.tensor([[c, s], [-s, c]]) @ points
            low, high = along.amin(1), along.amax(1)
            w, h = ((high - low) / 2).tolist()
            u, v = ((high + low) / 2).tolist()
            border = 2 * w * h / (w + h)  # the network marks the middle of the letters only
            lines.append(Line(c * u - s * v, s * u + c * v, w + border, h + border, angle))
        return lines

    def cut(self, image: Tensor, line: Line) -> Tensor:
        """The rectangle of a line as an image (1, 3, 48, W)."""
        height, width = image.shape[2:]
        columns = max(16, round(HEIGHT * line.half_width / line.half_height))
        c, s = math.cos(line.angle), math.sin(line.angle)
        theta = [
            [c * line.half_width * 2 / width, -s * line.half_height * 2 / width, 2 * line.x / width - 1],
            [s * line.half_width * 2 / height, c * line.half_height * 2 / height, 2 * line.y / height - 1],
        ]
        grid = F.affine_grid(pyburn.tensor([theta], device=self.device), [1, 3, HEIGHT, columns], align_corners=False)
        return F.grid_sample(image, grid, padding_mode="border", align_corners=False)

    def upright(self, line: Tensor) -> Tensor:
        """The line, turned by half a turn if the model is sure that it is upside down."""
        shown = F.interpolate(line, size=[HEIGHT, min(192, line.shape[3])], mode="bilinear")
        turned = self.director(F.pad(shown, [0, 192 - shown.shape[3]]))[0, 1].item()
        return line.flip(2, 3) if turned > 0.9 else line

    def read(self, line: Tensor) -> tuple[str, float]:
        """The text of a line: the likeliest character of each column, without repeats and blanks (CTC), and its mean probability."""
        columns = -(-line.shape[3] // 32) * 32  # few different widths, so that few programs are prepared
        best = self.recogniser(F.pad(line, [0, columns - line.shape[3]]))[0].max(1)
        found = [
            (i, p) for i, p, before in zip(best.indices.tolist(), best.values.tolist(), [0, *best.indices.tolist()]) if i and i != before
        ]
        return "".join(self.characters[i] for i, _ in found), sum(p for _, p in found) / max(1, len(found))


def sign() -> Image.Image:
    """A picture with text: large and small, light on dark, slanted, and upside down."""
    picture = Image.new("RGB", (720, 480), PAPER)
    draw = ImageDraw.Draw(picture)
    draw.rectangle([0, 0, 720, 92], fill=BLUE)
    draw.text((28, 18), "Harbour Library", PAPER, ImageFont.load_default(50))
    for row, (text, size) in enumerate([("Opening hours", 34), ("Monday to Friday 9:00 - 18:30", 27), ("Saturday 10:00 - 16:00", 27)]):
        draw.text((30, 122 + 54 * row), text, INK, ImageFont.load_default(size))
    draw.text((30, 428), "Please return books within 28 days.", (96, 96, 96), ImageFont.load_default(20))
    for text, where, angle, color in [("Free Wi-Fi", (440, 290), 18, (176, 32, 40)), ("Turn me around", (60, 322), 180, BLUE)]:
        label = Image.new("RGB", (260, 64), PAPER)
        ImageDraw.Draw(label).text((12, 10), text, color, ImageFont.load_default(32))
        picture.paste(label.rotate(angle, expand=True, resample=Image.Resampling.BICUBIC, fillcolor=PAPER), where)
    return picture


def drawn(picture: Image.Image, lines: list[tuple[Line, str, float]]) -> Image.Image:
    """The picture with the rectangles of the lines, and beside it what was read."""
    result = Image.new("RGB", (picture.width * 2, picture.height), "white")
    result.paste(picture.convert("RGB"), (0, 0))
    draw = ImageDraw.Draw(result)
    for line, text, probability in lines:
        corners = line.corners()
        draw.line([*corners, corners[0]], (220, 20, 60), 2)
        where = (picture.width + min(x for x, _ in corners), min(y for _, y in corners))
        draw.text(where, text, INK, ImageFont.load_default(max(14, min(40, 1.1 * line.half_height))))
        draw.text((where[0], where[1] - 12), f"{100 * probability:.0f} %", (130, 130, 130), ImageFont.load_default(12))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", type=Path, help="a picture; without one, the example draws a sign")
    parser.add_argument("--output", type=Path, default=Path("read.png"), help="the picture with the lines that were found (read.png)")
    parser.add_argument("--models", type=Path, help="the folder of the three models; without it, that of rapidocr-onnxruntime")
    parser.add_argument("--device", help="the device, such as wgpu")
    options = parser.parse_args()
    picture = Image.open(options.picture) if options.picture else sign()
    lines = Reader(options.models or model_folder(), options.device)(picture)
    for line, text, probability in lines:
        print(f"{100 * probability:5.1f} %  {text:36} at ({line.x:.0f}, {line.y:.0f}), {math.degrees(line.angle):+.0f} degrees")
    drawn(picture, lines).save(options.output)
    print(f"{options.output}: {len(lines)} lines")


if __name__ == "__main__":
    main()
