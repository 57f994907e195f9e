"""Large images in parts: random crops for training, overlapping windows for prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import nn
from ..autograd import inference_mode
from ..data import Dataset, numpy_random
from ..tensor import from_numpy

Pair = tuple[np.ndarray, np.ndarray]


class RandomCrops(Dataset[Pair]):
    """Random square crops of images and their masks, rotated by multiples of 90 degrees, flipped, with changed brightness and contrast.

    Samples are (image, mask), both (1, size, size) float32.

    Args:
        pairs: Images and masks, (height, width) each.
        count: The number of crops per epoch.
        size: The size of a crop in pixels.

    >>> image, mask = np.zeros((64, 64), np.float32), np.ones((64, 64), np.float32)
    >>> crops = RandomCrops([(image, mask)], count=10, size=32)
    >>> len(crops), crops[0][0].shape
    (10, (1, 32, 32))
    """

    def __init__(self, pairs: Sequence[Pair], count: int, size: int) -> None:
        self.pairs, self.count, self.size = pairs, count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Pair:
        random = numpy_random()
        image, mask = self.pairs[int(random.integers(len(self.pairs)))]
        top, left = (int(random.integers(extent - self.size + 1)) for extent in image.shape)
        turns, mirrored = int(random.integers(4)), random.random() < 0.5
        pieces = []
        for whole in (image, mask):
            piece = np.rot90(whole[top : top + self.size, left : left + self.size], turns)
            pieces.append(piece[:, ::-1] if mirrored else piece)
        changed = pieces[0] * random.uniform(0.85, 1.15) + random.uniform(-0.2, 0.2)
        return changed[None].astype(np.float32), np.ascontiguousarray(pieces[1])[None]


def sliding_window(model: nn.Module, image: np.ndarray, size: int = 256, stride: int = 128) -> np.ndarray:
    """Predicts a probability for each pixel of a large image from overlapping windows.

    The centre of a window has the highest weight and its border, where the network sees only one side, the lowest, so that there are no
    seams.

    Args:
        model: Maps images (N, 1, size, size) to logits of the same shape.
        image: The image, (height, width).
        size: The size of a window in pixels.
        stride: The distance between windows.

    Returns:
        The probabilities, (height, width).

    >>> sliding_window(nn.Identity(), np.zeros((100, 80), np.float32), size=32, stride=16).shape
    (100, 80)
    """
    height, width = image.shape
    size = min(size, height, width)
    ramp = np.minimum(np.arange(size) + 1, np.arange(size, 0, -1)).astype(np.float32)
    weight = np.outer(ramp, ramp)
    total, weights = np.zeros_like(image), np.zeros_like(image)
    for top in (*range(0, height - size, stride), height - size):
        row = [np.s_[top : top + size, left : left + size] for left in (*range(0, width - size, stride), width - size)]
        with inference_mode():
            found = model(from_numpy(np.stack([image[at] for at in row])[:, None])).sigmoid().numpy()[:, 0]
        for at, piece in zip(row, found):
            total[at] += piece * weight
            weights[at] += weight
    return total / weights
