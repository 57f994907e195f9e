"""Finds faces in a picture with YuNet, an ONNX file of 75 thousand weights, and draws boxes, eyes, nose and mouth.

python examples/faces/faces.py yunet_n_dynamic.onnx crowd.jpg --output faces.png
python examples/faces/faces.py yunet_n_320_320.onnx

Without a picture it takes the portrait of an astronaut (NASA, public domain) in the package scikit-image (make models).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pyburn
from pyburn import Tensor

STRIDES = (8, 16, 32)  # pixels between the places that the network looks at


class Face(NamedTuple):
    """Box (left, top, right, bottom), five points (eyes, nose, corners of the mouth), and how sure the network is."""

    box: list[float]
    points: list[list[float]]
    score: float


def find(name: str) -> Path:
    """A file by its path, or one of the folder `models` of the environment variable PYBURN_DATA."""
    for place in (Path(name), Path(os.environ.get("PYBURN_DATA", ".")) / "models" / name):
        if place.is_file():
            return place
    sys.exit(f"{name} is neither a file nor in the folder models of PYBURN_DATA")


def portrait() -> Path:
    found = importlib.util.find_spec("skimage")
    picture = Path(found.origin).parent / "data" / "astronaut.png" if found and found.origin else None
    if picture is None or not picture.is_file():
        sys.exit("give a picture, or install the package with one: pip install --no-deps scikit-image==0.25.2")
    return picture


def decode(outputs: dict[str, Tensor], columns: dict[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes (N, 4), points (N, 5, 2) and scores (N) in pixels, from what the network says at every place of three grids."""
    boxes, points, scores = [], [], []
    for stride in STRIDES:
        kind, there, box, marks = (outputs[f"{name}_{stride}"][0] for name in ("cls", "obj", "bbox", "kps"))
        places = pyburn.arange(len(box), device=box.device)
        at = pyburn.stack([places % columns[stride], places // columns[stride]], 1).float()
        middle, size = (at + box[:, :2]) * stride, box[:, 2:].exp() * stride
        boxes.append(pyburn.cat([middle - size / 2, middle + size / 2], 1))
        points.append((at[:, None] + marks.reshape(-1, 5, 2)) * stride)
        scores.append((kind * there).clamp(0, 1).sqrt().flatten())
    return pyburn.cat(boxes), pyburn.cat(points), pyburn.cat(scores)


class Detector:
    """YuNet in either of its forms: for images of 320 x 320 pixels, or of any size."""

    def __init__(self, model: Path, device: str | None = None) -> None:
        self.session = pyburn.onnx.session(model, device)
        self.device = pyburn.Device(device) if device else pyburn.get_default_device()
        height, width = self.session.inputs[0].shape[2:]  # type: ignore[index]
        self.size = (width, height) if isinstance(width, int) and isinstance(height, int) else None

    def __call__(self, picture: Image.Image, least: float = 0.6, overlap: float = 0.3) -> list[Face]:
        width, height = self.size or (picture.width, picture.height)
        scale = min(width / picture.width, height / picture.height)
        shown = picture.convert("RGB").resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BILINEAR)
        # Sizes are multiples of 32: the picture lies in the corner of a black image. The network learnt with blue first, 0 to 255.
        pixels = np.zeros([-(-height // 32) * 32, -(-width // 32) * 32, 3], np.float32)
        pixels[: shown.height, : shown.width] = np.asarray(shown, np.float32)[:, :, ::-1]
        image = pyburn.from_numpy(pixels).to(self.device).permute(2, 0, 1)[None]
        outputs = self.session.run({self.session.inputs[0].name: image})
        boxes, points, scores = decode(outputs, {stride: pixels.shape[1] // stride for stride in STRIDES})
        sure = scores > least
        boxes, points, scores = boxes[sure], points[sure], scores[sure]
        kept = pyburn.nms(boxes, scores, overlap)
        rows = zip((boxes[kept] / scale).tolist(), (points[kept] / scale).tolist(), scores[kept].tolist(), strict=True)
        return [Face(*row) for row in rows]


def drawn(picture: Image.Image, faces: list[Face]) -> Image.Image:
    result = picture.convert("RGB")
    draw = ImageDraw.Draw(result)
    width = max(2, result.width // 200)
    for face in faces:
        draw.rectangle(face.box, outline="#ffd43b", width=width)
        for x, y in face.points:
            draw.ellipse([x - 1.5 * width, y - 1.5 * width, x + 1.5 * width, y + 1.5 * width], fill="#ff6b6b")
        text = f"{100 * face.score:.0f} %"
        draw.text((face.box[0], face.box[1] - 8 * width), text, "#ffd43b", ImageFont.load_default(7 * width))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="yunet_n_dynamic.onnx", help="the ONNX file (yunet_n_dynamic.onnx)")
    parser.add_argument("picture", nargs="?", type=Path, help="a picture; without one, the astronaut")
    parser.add_argument("--output", type=Path, default=Path("faces.png"), help="the picture with boxes (faces.png)")
    parser.add_argument("--score", type=float, default=0.6, help="how sure the network must be (default: 0.6)")
    parser.add_argument("--device", help="the device, such as wgpu")
    options = parser.parse_args()
    picture = Image.open(options.picture or portrait())
    faces = Detector(find(options.model), options.device)(picture, options.score)
    for face in faces:
        left, top, right, bottom = face.box
        print(f"{100 * face.score:5.1f} %  from ({left:.0f}, {top:.0f}) to ({right:.0f}, {bottom:.0f})")
    drawn(picture, faces).save(options.output)
    print(f"{options.output}: {len(faces)} face{'s' * (len(faces) != 1)}")


if __name__ == "__main__":
    main()
