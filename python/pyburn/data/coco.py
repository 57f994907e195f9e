"""Object detection annotations in the COCO format: one JSON file for all images."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .._core import FormatError
from .damage import format_errors

Boxes = tuple[list[list[float]], list[int]]


def read_coco(annotations: str | os.PathLike[str], images: str | os.PathLike[str]) -> tuple[list[tuple[str, Boxes]], list[str]]:
    """Reads a COCO annotation file.

    Args:
        annotations: The JSON file.
        images: The folder of the images.

    Returns:
        The image paths, each with its boxes (x, y, width, height) and class indices; and the class names in the order of the category ids.

    Raises:
        FormatError: The file is invalid.
    """
    folder = Path(images)
    with format_errors(f"[coco] {os.fspath(annotations)} is not a file of annotations"):
        content = json.loads(Path(annotations).read_bytes())
        categories = sorted((int(row["id"]), str(row["name"])) for row in content["categories"])
        files = {int(row["id"]): str(row["file_name"]) for row in content["images"]}
        found: dict[int, Boxes] = {number: ([], []) for number in files}
        numbers = {identity: number for number, (identity, _) in enumerate(categories)}
        for row in content["annotations"]:
            boxes, labels = found[int(row["image_id"])]
            boxes.append(_box(row["bbox"]))
            labels.append(numbers[int(row["category_id"])])
    return [(str(_inside(folder, files[number])), found[number]) for number in files], [name for _, name in categories]


def _box(values: Any) -> list[float]:
    box = [float(value) for value in values]
    if len(box) != 4 or not all(abs(value) < 1e9 for value in box):
        raise ValueError(f"expected a box of four numbers, got {values}")
    return box


def _inside(folder: Path, name: str) -> Path:
    """Returns the path of a file in a folder, and rejects names that lead outside of it."""
    if os.path.isabs(name) or ".." in Path(name).parts:
        raise FormatError(f"[coco] expected the name of a file inside {folder}: got {name!r}")
    return folder / name
