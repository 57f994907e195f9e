"""Random geometric transforms: perspective, elastic deformation, resizing, zooming out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ..randomness import python_random
from . import functional as F
from .geometry import Fill, InterpolationMode, interpolation_mode
from .plain import Transform
from .random_choice import WithProbability


class RandomPerspective(WithProbability):
    """Applies a random perspective transformation with probability p.

    Args:
        distortion_scale: The maximum shift of the corners, as a fraction of half the image size.
        p: The probability.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.

    Raises:
        ValueError: distortion_scale is not in [0, 1].

    >>> pyburn.data.transforms.RandomPerspective(p=1.0)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        fill: Fill = 0,
    ) -> None:
        if not 0 <= distortion_scale <= 1:
            raise ValueError(f"Argument distortion_scale value should be between 0 and 1: got {distortion_scale}")
        super().__init__(p)
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """Returns the corners of the image and their new positions.

        Args:
            width: The width of the image.
            height: The height of the image.
            distortion_scale: The maximum shift of the corners, as a fraction of half the size.
        """
        draw = python_random()
        across, down = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))
        starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        ends = [[abs(x - draw.randint(0, across)), abs(y - draw.randint(0, down))] for x, y in starts]
        return starts, ends

    def _changed(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        return F.perspective(img, *self.get_params(width, height, self.distortion_scale), self.interpolation, self.fill)


class ElasticTransform(Transform):
    """Applies a random elastic deformation.

    Args:
        alpha: The magnitude of the displacements.
        sigma: The smoothness of the displacements.
        interpolation: The interpolation mode.
        fill: The fill value for pixels outside of the image.

    >>> pyburn.data.transforms.ElasticTransform()(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 8, 12])
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        fill: Fill = 0,
    ) -> None:
        self.alpha = [float(alpha)] * 2 if isinstance(alpha, (int, float)) else [float(a) for a in alpha] * (2 if len(alpha) == 1 else 1)
        self.sigma = [float(sigma)] * 2 if isinstance(sigma, (int, float)) else [float(s) for s in sigma] * (2 if len(sigma) == 1 else 1)
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """Returns a random displacement field (1, H, W, 2) for an image of (height, width).

        Args:
            alpha: The magnitudes of the displacement in both directions.
            sigma: The widths of the Gaussian blur of the displacement.
            size: (height, width).
        """
        moves = []
        for far, slow, extent in zip(alpha, sigma, size):
            move = _core.rand(1, 1, *size) * 2 - 1
            if slow > 0:
                width = int(8 * slow + 1) | 1
                move = F.gaussian_blur(move, [width, width], [slow, slow])
            moves.append(move * far / extent)
        return _core.cat(moves, 1).permute(0, 2, 3, 1)

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        return F.elastic_transform(img, self.get_params(self.alpha, self.sigma, (height, width)), self.interpolation, self.fill)


class RandomResize(Transform):
    """Resizes the shorter side to a random length in [min_size, max_size).

    Args:
        min_size: The minimum length.
        max_size: The end of the range of lengths.
        interpolation: The interpolation mode.
        antialias: Whether to smooth when the image gets smaller.

    >>> pyburn.data.transforms.RandomResize(16, 17)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 16, 24])
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        self.min_size, self.max_size = min_size, max_size
        self.interpolation, self.antialias = interpolation_mode(interpolation), antialias

    def __call__(self, img: Any) -> Any:
        return F.resize(img, [python_random().randrange(self.min_size, self.max_size)], self.interpolation, antialias=self.antialias)


class RandomShortestSize(Transform):
    """Resizes the shorter side to a random one of several lengths, with the longer side limited to max_size.

    Args:
        min_size: The lengths to choose from, or one length.
        max_size: The maximum length of the longer side.
        interpolation: The interpolation mode.
        antialias: Whether to smooth when the image gets smaller.

    >>> pyburn.data.transforms.RandomShortestSize([4])(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 4, 6])
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size, self.interpolation, self.antialias = max_size, interpolation_mode(interpolation), antialias

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        share = python_random().choice(self.min_size) / min(height, width)
        if self.max_size is not None:
            share = min(share, self.max_size / max(height, width))
        return F.resize(img, [int(height * share), int(width * share)], self.interpolation, antialias=self.antialias)


class ScaleJitter(Transform):
    """Resizes the image to fit a randomly scaled target size, keeping the aspect ratio.

    Args:
        target_size: The size (height, width) at scale 1.
        scale_range: The range of the random scale.
        interpolation: The interpolation mode.
        antialias: Whether to smooth when the image gets smaller.

    >>> pyburn.data.transforms.ScaleJitter((16, 16), scale_range=(1.0, 1.0))(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 10, 16])
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        self.target_size, self.scale_range = target_size, scale_range
        self.interpolation, self.antialias = interpolation_mode(interpolation), antialias

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        scale = python_random().uniform(*self.scale_range)
        share = min(self.target_size[0] / height, self.target_size[1] / width) * scale
        return F.resize(img, [int(height * share), int(width * share)], self.interpolation, antialias=self.antialias)


class RandomZoomOut(WithProbability):
    """Places the image at a random position on a larger canvas with probability p; `side_range` is the range of the size ratio.

    Args:
        fill: The value of the canvas.
        side_range: The range of the size ratio.
        p: The probability.

    Raises:
        ValueError: side_range is invalid.

    >>> pyburn.data.transforms.RandomZoomOut(side_range=(2.0, 2.0), p=1.0)(pyburn.ones(3, 8, 12)).shape
    pyburn.Size([3, 16, 24])
    """

    def __init__(self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        if not 1.0 <= side_range[0] <= side_range[1]:
            raise ValueError(f"Invalid canvas side range provided: got {side_range}")
        super().__init__(p)
        self.fill, self.side_range = fill, side_range

    def _changed(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        draw = python_random()
        side = draw.uniform(*self.side_range)
        rows, columns = int(height * side), int(width * side)
        left, top = int((columns - width) * draw.random()), int((rows - height) * draw.random())
        return F.pad(img, [left, top, columns - left - width, rows - top - height], self.fill)
