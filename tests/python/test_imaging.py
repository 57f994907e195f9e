"""pyburn.imaging: the membrane data set, random crops and sliding windows."""

from __future__ import annotations

import os

import numpy as np
import pytest

import pyburn
from pyburn import imaging, nn

needs_data = pytest.mark.skipif("PYBURN_DATA" not in os.environ, reason="PYBURN_DATA does not name a folder with the data")


@needs_data
def test_membranes() -> None:
    pytest.importorskip("PIL", reason="pictures are read with Pillow")
    train, test = imaging.Membrane(), imaging.Membrane(train=False)
    image, mask = train[0]
    assert (len(train), len(test), len(imaging.Membrane(train=None))) == (24, 6, 30)
    assert image.shape == mask.shape == (1, 512, 512) and mask.unique().tolist() == [0, 1]


def test_crops_of_an_image_and_its_mask_match() -> None:
    image = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)
    crops = imaging.RandomCrops([(image, (image > 0).astype(np.float32))], count=20, size=16)
    pyburn.manual_seed(0)
    shown = [crops[index] for index in range(len(crops))]
    for crop, mask in shown:
        assert crop.shape == mask.shape == (1, 16, 16)
        assert crop[mask == 0].max() < crop[mask == 1].min()  # changes of brightness and contrast keep the order of pixels
    assert len({crop.tobytes() for crop, _ in shown}) == 20


def test_sliding_windows_leave_no_seams() -> None:
    image = np.random.default_rng(0).standard_normal((70, 50)).astype(np.float32)
    blended = imaging.sliding_window(nn.Identity(), image, size=32, stride=20)
    np.testing.assert_allclose(blended, 1 / (1 + np.exp(-image)), rtol=1e-4)
