"""U-Net (Ronneberger et al. 2015) with batch norms and padding, and the parameter names of its most used PyTorch checkpoints."""

from __future__ import annotations

import pyburn
from pyburn import Tensor, nn


class DoubleConv(nn.Module):
    """Two times convolution, batch norm and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, mid_channels: int | None = None) -> None:
        super().__init__()
        mid_channels = mid_channels or out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Down(nn.Module):
    """Downsampling by 2, then two convolutions."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x: Tensor) -> Tensor:
        return self.maxpool_conv(x)


class Up(nn.Module):
    """Upsampling by 2, concatenation with the skip connection, then two convolutions."""

    def __init__(self, in_channels: int, out_channels: int, bilinear: bool = False) -> None:
        super().__init__()
        self.up: nn.Module
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x: Tensor, skipped: Tensor) -> Tensor:
        x = self.up(x)
        rows, columns = skipped.shape[2] - x.shape[2], skipped.shape[3] - x.shape[3]
        if rows or columns:  # the size was odd before downsampling
            x = nn.functional.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.conv(pyburn.cat([skipped, x], dim=1))


class OutConv(nn.Module):
    """Maps the channels of each pixel to class scores."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class UNet(nn.Module):
    """U-Net with four downsampling and four upsampling steps, for images of size 16 and larger.

    Args:
        n_channels: Channels of the image.
        n_classes: Output channels.
        bilinear: Whether to upsample by interpolation instead of transposed convolutions.
        width: Channels at full size.

    >>> UNet(1, 2, width=4)(pyburn.zeros(1, 1, 32, 48)).shape
    pyburn.Size([1, 2, 32, 48])
    """

    def __init__(self, n_channels: int, n_classes: int, bilinear: bool = False, width: int = 64) -> None:
        super().__init__()
        self.n_channels, self.n_classes, self.bilinear = n_channels, n_classes, bilinear
        half = 2 if bilinear else 1  # interpolation keeps the channels, so the convolutions halve them
        self.inc = DoubleConv(n_channels, width)
        self.down1 = Down(width, width * 2)
        self.down2 = Down(width * 2, width * 4)
        self.down3 = Down(width * 4, width * 8)
        self.down4 = Down(width * 8, width * 16 // half)
        self.up1 = Up(width * 16, width * 8 // half, bilinear)
        self.up2 = Up(width * 8, width * 4 // half, bilinear)
        self.up3 = Up(width * 4, width * 2 // half, bilinear)
        self.up4 = Up(width * 2, width, bilinear)
        self.outc = OutConv(width, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(self.down4(x4), x4)
        return self.outc(self.up4(self.up3(self.up2(x, x3), x2), x1))
