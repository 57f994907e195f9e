"""Transposed convolutions."""

from __future__ import annotations

from typing import Any


def deformed(*args: Any, **options: Any) -> Any:
    """torchvision's layer, which deforms as Burn's does."""
    import torchvision

    return torchvision.ops.DeformConv2d(*args, **options)


# ruff: noqa: E501, a case is a line
TABLE = """
ConvTranspose1d(2, 3, 3) | t(2, 2, 4)
ConvTranspose1d(2, 3, 3, 2, 1, 1) | t(2, 2, 4)
ConvTranspose1d(2, 4, 2, stride=3, padding=1, output_padding=2, groups=2, bias=False, dilation=2) | t(2, 2, 5)
ConvTranspose1d(2, 3, 3, dilation=2, output_padding=0, groups=1) | t(2, 4)
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), [10]
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), output_size=(1, 2, 9)
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), output_size=[12] ! ValueError
ConvTranspose1d(2, 3, 3, stride=2) | t(1, 2, 4), [10, 1] ! ValueError
ConvTranspose2d(2, 3, 2) | t(1, 2, 3, 4)
ConvTranspose2d(2, 3, (3, 2), (2, 1), (1, 0), (1, 0)) | t(1, 2, 3, 4)
ConvTranspose2d(4, 2, 2, 2, groups=2) | t(1, 4, 2, 3)
ConvTranspose2d(2, 3, 3, stride=2, padding=1, bias=False) | t(1, 2, 3, 4), [6, 8]
ConvTranspose2d(2, 3, 3, stride=2, padding=1) | t(2, 3, 4), output_size=None
ConvTranspose3d(2, 1, 2) | t(1, 2, 2, 3, 2)
ConvTranspose3d(2, 2, (1, 2, 3), stride=(1, 2, 2), padding=(0, 0, 1), output_padding=(0, 1, 0)) | t(1, 2, 2, 3, 2)
ConvTranspose3d(2, 2, 2, stride=2) | t(1, 2, 1, 2, 2), [3, 4, 5]
ConvTranspose2d(2, 3, 2, padding_mode='reflect') ! ValueError
ConvTranspose2d(3, 2, 2, groups=2) ! ValueError
ConvTranspose2d(2, 3, 2, groups=0) ! ValueError
ConvTranspose2d(2, 3) ! TypeError
ConvTranspose2d(2, 3, 2) | t(2, 2) ! RuntimeError
DeformConv2d(2, 3, 2) ~ deformed(2, 3, 2) | t(2, 2, 4, 5), t(2, 8, 3, 4)
DeformConv2d(4, 2, (2, 3), 2, (1, 0), (1, 2), groups=2, offset_groups=2) ~ deformed(4, 2, (2, 3), stride=2, padding=(1, 0), dilation=(1, 2), groups=2) | t(1, 4, 5, 7), t(1, 24, 3, 2), positive(1, 12, 3, 2)
DeformConv2d(2, 3, 3, padding=1, bias=False) ~ deformed(2, 3, 3, padding=1, bias=False) | t(1, 2, 1, 3), t(1, 18, 1, 3), t(1, 9, 1, 3)
"""
