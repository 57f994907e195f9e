"""Transforms that are not random, and those that put others together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import functional as F
from .conversion import to_normalized_tensor
from .geometry import InterpolationMode

if TYPE_CHECKING:
    from ..._core import Tensor
    from ..._types import DType


class Transform:
    """A function of a sample that prints the arguments it was made with."""

    def __call__(self, img: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} should implement __call__")

    def __repr__(self) -> str:
        parts = []
        for name, value in vars(self).items():
            if not name.startswith("_"):
                parts.append(f"{name}={value.value if isinstance(value, InterpolationMode) else value}")
        return f"{type(self).__name__}({', '.join(parts)})"


class Compose(Transform):
    """One transform after the other.

    >>> Compose([lambda x: x + 1, lambda x: 10 * x])(1)
    20
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        steps = self.transforms
        at = 0
        while at < len(steps):
            if type(steps[at]) is ToTensor and at + 1 < len(steps) and type(steps[at + 1]) is Normalize:
                # What ToTensor makes is nobody else's, so it is normalised where it is.
                normalize: Any = steps[at + 1]
                img = to_normalized_tensor(img, normalize.mean, normalize.std)
                at += 2
            else:
                img = steps[at](img)
                at += 1
        return img

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {step}" for step in self.transforms), ")"])


class ToTensor(Transform):
    """An image of Pillow or an array (H, W, C) as a tensor (C, H, W), bytes as float32 from 0 to 1."""

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)


class PILToTensor(Transform):
    """An image of Pillow as a tensor (C, H, W) of its own numbers."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


class ToPILImage(Transform):
    """A tensor (C, H, W) or an array (H, W, C) as an image of Pillow."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)


class ConvertImageDtype(Transform):
    """The image in another dtype, its values scaled to that dtype's range."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __call__(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Transform):
    """Channels less their mean, by their standard deviation."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class Resize(Transform):
    """The image in another size, (height, width); one number is the length of the shorter side."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        self.size = size
        self.interpolation = F.InterpolationMode(interpolation) if isinstance(interpolation, str) else interpolation
        self.max_size = max_size
        self.antialias = antialias

    def __call__(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """The middle of the image."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = both(size)

    def __call__(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(Transform):
    """The image with a border."""

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric: got {padding_mode!r}")
        if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
            raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def __call__(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class Grayscale(Transform):
    """The image in shades of grey."""

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = num_output_channels

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class Lambda(Transform):
    """A function as a transform. Worker processes that are spawned need one that can be pickled."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def both(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) of a size that may be one number."""
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"Please provide only two dimensions (h, w) for size: got {size}")
    return sizes[0], sizes[-1]
