"""Transforms that are not random, and those that put others together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from . import functional as F
from .conversion import from_array, is_pil_image, to_normalized_tensor
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


class RGB(Transform):
    """The image in three channels: shades of grey in all of them."""

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, 3) if F.get_image_num_channels(img) == 1 else img


class ToImage(Transform):
    """An image of Pillow or an array (H, W, C) as a tensor (C, H, W) of its own numbers; a tensor as it is."""

    def __call__(self, pic: Any) -> Tensor:
        if isinstance(pic, _core.Tensor):
            return pic
        return F.pil_to_tensor(pic) if is_pil_image(pic) else from_array(pic)


class ToPureTensor(Transform):
    """The tensor as it is: tensors of pyburn have no kinds."""

    def __call__(self, img: Any) -> Any:
        return img


class Identity(ToPureTensor):
    """What it is given."""


class ToDtype(Transform):
    """A tensor in another dtype; with `scale` its values are brought to that dtype's range. Other things stay as they are."""

    def __init__(self, dtype: DType, scale: bool = False) -> None:
        self.dtype = dtype
        self.scale = scale

    def __call__(self, img: Any) -> Any:
        if not isinstance(img, _core.Tensor):
            return img
        return F.convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)


class FiveCrop(Transform):
    """The four corners of the image and its middle, as a tuple."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = both(size)

    def __call__(self, img: Any) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)


class TenCrop(Transform):
    """The four corners of the image and its middle, and the same of its mirror image."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        self.size = both(size)
        self.vertical_flip = vertical_flip

    def __call__(self, img: Any) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)


class LinearTransformation(Transform):
    """A tensor (..., C, H, W), flattened, less a mean vector, times a square matrix: whitening, say."""

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        size = transformation_matrix.shape
        if len(size) != 2 or size[0] != size[1]:
            raise ValueError(f"transformation_matrix should be square. Got {tuple(size)} rectangular matrix.")
        if tuple(mean_vector.shape) != (size[0],):
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.shape[0]} as any one of the dimensions of {tuple(size)}"
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def __call__(self, tensor: Tensor) -> Tensor:
        shape, count = tensor.shape, tensor[..., 0, 0, 0].numel() if tensor.dim() > 3 else 1
        if tensor.numel() // count != self.mean_vector.shape[0]:
            raise ValueError(
                f"Input tensor and transformation matrix have incompatible shape: got {tuple(shape)} and {self.mean_vector.shape[0]}"
            )
        return ((tensor.reshape(count, -1) - self.mean_vector) @ self.transformation_matrix).reshape(shape)


class UniformTemporalSubsample(Transform):
    """`num_samples` pictures of a film (..., T, C, H, W), evenly spaced."""

    def __init__(self, num_samples: int) -> None:
        self.num_samples = num_samples

    def __call__(self, video: Tensor) -> Tensor:
        places = _core.linspace(0, video.shape[-4] - 1, self.num_samples).long()
        return video.index_select(-4, places.to(video.device))


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
