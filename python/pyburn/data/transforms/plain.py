"""Deterministic transforms, and composition of transforms."""

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
    """Base class of transforms; the repr shows the constructor arguments."""

    def __call__(self, img: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} should implement __call__")

    def __repr__(self) -> str:
        parts = []
        for name, value in vars(self).items():
            if not name.startswith("_"):
                parts.append(f"{name}={value.value if isinstance(value, InterpolationMode) else value}")
        return f"{type(self).__name__}({', '.join(parts)})"


class Compose(Transform):
    """Applies transforms in order.

    Args:
        transforms: The transforms.

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
                # The result of ToTensor is not shared, so it can be normalized in place.
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
    """Converts a Pillow image or an array (H, W, C) to a tensor (C, H, W); uint8 becomes float32 in [0, 1].

    >>> import numpy
    >>> pyburn.data.transforms.ToTensor()(numpy.zeros((4, 5, 3), dtype=numpy.uint8)).shape
    pyburn.Size([3, 4, 5])
    """

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)


class PILToTensor(Transform):
    """Converts a Pillow image to a tensor (C, H, W) without scaling."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


class ToPILImage(Transform):
    """Converts a tensor (C, H, W) or an array (H, W, C) to a Pillow image."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)


class ConvertImageDtype(Transform):
    """Converts an image tensor to another dtype and scales its values to the range of that dtype.

    Args:
        dtype: The dtype.

    >>> pyburn.data.transforms.ConvertImageDtype(pyburn.float32)(pyburn.tensor([0, 255], dtype=pyburn.uint8))
    tensor([0., 1.])
    """

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __call__(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Transform):
    """Normalizes each channel: (x - mean) / std.

    Args:
        mean: The mean of each channel.
        std: The standard deviation of each channel.
        inplace: Whether to modify the tensor in place.

    >>> pyburn.data.transforms.Normalize([0.5], [0.5])(pyburn.ones(1, 2, 2))
    tensor([[[1., 1.],
             [1., 1.]]])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class Resize(Transform):
    """Resizes an image.

    Args:
        size: (height, width), or the length of the shorter side.
        interpolation: The interpolation mode.
        max_size: The maximum length of the longer side, if size is a single number.
        antialias: Whether to antialias when downsampling tensors.

    >>> pyburn.data.transforms.Resize((4, 6))(pyburn.ones(3, 8, 8)).shape
    pyburn.Size([3, 4, 6])
    """

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
    """Crops the center of an image; a smaller image is padded with 0.

    Args:
        size: The size, as an int or (height, width).

    >>> pyburn.data.transforms.CenterCrop(4)(pyburn.ones(3, 8, 8)).shape
    pyburn.Size([3, 4, 4])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = both(size)

    def __call__(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(Transform):
    """Pads an image.

    Args:
        padding: One number, (left and right, top and bottom) or (left, top, right, bottom).
        fill: The fill value for mode "constant".
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Raises:
        ValueError: An argument is invalid.

    >>> pyburn.data.transforms.Pad(1)(pyburn.ones(1, 2, 2)).shape
    pyburn.Size([1, 4, 4])
    """

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
    """Converts an image to grayscale, with 1 or 3 channels.

    Args:
        num_output_channels: 1 or 3.

    >>> pyburn.data.transforms.Grayscale()(pyburn.ones(3, 4, 4)).shape
    pyburn.Size([1, 4, 4])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = num_output_channels

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)


class RGB(Transform):
    """Converts a single-channel image to three equal channels.

    >>> pyburn.data.transforms.RGB()(pyburn.ones(1, 4, 4)).shape
    pyburn.Size([3, 4, 4])
    """

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, 3) if F.get_image_num_channels(img) == 1 else img


class ToImage(Transform):
    """Converts a Pillow image or an array (H, W, C) to a tensor (C, H, W) without scaling; tensors are returned unchanged."""

    def __call__(self, pic: Any) -> Tensor:
        if isinstance(pic, _core.Tensor):
            return pic
        return F.pil_to_tensor(pic) if is_pil_image(pic) else from_array(pic)


class ToPureTensor(Transform):
    """Returns its input: pyburn has no tensor subclasses for images."""

    def __call__(self, img: Any) -> Any:
        return img


class Identity(ToPureTensor):
    """Returns its input.

    >>> pyburn.data.transforms.Identity()(pyburn.ones(2))
    tensor([1., 1.])
    """


class ToDtype(Transform):
    """Converts a tensor to another dtype; with `scale`, also scales its values to the range of that dtype. Other inputs are unchanged."""

    def __init__(self, dtype: DType, scale: bool = False) -> None:
        self.dtype = dtype
        self.scale = scale

    def __call__(self, img: Any) -> Any:
        if not isinstance(img, _core.Tensor):
            return img
        return F.convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)


class FiveCrop(Transform):
    """Returns the four corner crops and the center crop, as a tuple.

    Args:
        size: The size, as an int or (height, width).

    >>> len(pyburn.data.transforms.FiveCrop(4)(pyburn.ones(3, 8, 8)))
    5
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = both(size)

    def __call__(self, img: Any) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)


class TenCrop(Transform):
    """Returns the five crops of an image and of its mirror image.

    >>> len(pyburn.data.transforms.TenCrop(4)(pyburn.ones(3, 8, 8)))
    10
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        self.size = both(size)
        self.vertical_flip = vertical_flip

    def __call__(self, img: Any) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)


class LinearTransformation(Transform):
    """Flattens a tensor (..., C, H, W), subtracts a mean vector and multiplies by a square matrix, for example for whitening.

    Args:
        transformation_matrix: The matrix, (D, D) with D = C * H * W.
        mean_vector: The mean, (D,).

    Raises:
        ValueError: The shapes do not match.
    """

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
    """Selects `num_samples` evenly spaced frames of a video (..., T, C, H, W)."""

    def __init__(self, num_samples: int) -> None:
        self.num_samples = num_samples

    def __call__(self, video: Tensor) -> Tensor:
        places = _core.linspace(0, video.shape[-4] - 1, self.num_samples).long()
        return video.index_select(-4, places.to(video.device))


class Lambda(Transform):
    """Wraps a function as a transform. Spawned worker processes need one that can be pickled.

    >>> pyburn.data.transforms.Lambda(lambda x: x * 2)(pyburn.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def both(size: int | Sequence[int]) -> tuple[int, int]:
    """Returns a size, which may be a single number, as (height, width)."""
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"Please provide only two dimensions (h, w) for size: got {size}")
    return sizes[0], sizes[-1]
