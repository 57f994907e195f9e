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
    """Base class of transforms; the repr shows the constructor arguments.

    >>> class Half(pyburn.data.transforms.Transform):
    ...     def __call__(self, img):
    ...         return img / 2
    >>> Half()(4)
    2.0
    """

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
    """Converts a Pillow image to a tensor (C, H, W) without scaling.

    >>> pyburn.data.transforms.PILToTensor()(pyburn.data.transforms.ToPILImage()(pyburn.zeros(1, 2, 3, dtype=pyburn.uint8))).shape
    pyburn.Size([1, 2, 3])
    """

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)


class ToPILImage(Transform):
    """Converts a tensor (C, H, W) or an array (H, W, C) to a Pillow image.

    Args:
        mode: The mode of the Pillow image; by default it follows from the number of channels.

    >>> pyburn.data.transforms.ToPILImage()(pyburn.zeros(3, 2, 4)).size
    (4, 2)
    """

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
    """Converts a Pillow image or an array (H, W, C) to a tensor (C, H, W) without scaling; tensors are returned unchanged.

    >>> import numpy
    >>> pyburn.data.transforms.ToImage()(numpy.zeros((2, 3, 1), numpy.uint8)).shape
    pyburn.Size([1, 2, 3])
    """

    def __call__(self, pic: Any) -> Tensor:
        if isinstance(pic, _core.Tensor):
            return pic
        return F.pil_to_tensor(pic) if is_pil_image(pic) else from_array(pic)


class ToPureTensor(Transform):
    """Returns its input: pyburn has no tensor subclasses for images.

    >>> pyburn.data.transforms.ToPureTensor()(pyburn.ones(1))
    tensor([1.])
    """

    def __call__(self, img: Any) -> Any:
        return img


class Identity(ToPureTensor):
    """Returns its input.

    >>> pyburn.data.transforms.Identity()(pyburn.ones(2))
    tensor([1., 1.])
    """


class ToDtype(Transform):
    """Converts a tensor to another dtype; with `scale`, also scales its values to the range of that dtype. Other inputs are unchanged.

    Args:
        dtype: The dtype.
        scale: Whether values are scaled to the range of the dtype: [0, 1] for floats.

    >>> pyburn.data.transforms.ToDtype(pyburn.float32, scale=True)(pyburn.tensor([255], dtype=pyburn.uint8))
    tensor([1.])
    """

    def __init__(self, dtype: DType, scale: bool = False) -> None:
        self.dtype = dtype
        self.scale = scale

    def __call__(self, img: Any) -> Any:
        if not isinstance(img, _core.Tensor):
            return img
        return F.convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)


class LinearTransformation(Transform):
    """Flattens a tensor (..., C, H, W), subtracts a mean vector and multiplies by a square matrix, for example for whitening.

    Args:
        transformation_matrix: The matrix, (D, D) with D = C * H * W.
        mean_vector: The mean, (D,).

    Raises:
        ValueError: The shapes do not match.

    >>> pyburn.data.transforms.LinearTransformation(2 * pyburn.eye(2), pyburn.zeros(2))(pyburn.ones(1, 1, 2))
    tensor([[[2., 2.]]])
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
    """Selects `num_samples` evenly spaced frames of a video (..., T, C, H, W).

    Args:
        num_samples: The number of frames.

    >>> pyburn.data.transforms.UniformTemporalSubsample(2)(pyburn.arange(5.0).reshape(5, 1, 1, 1)).flatten()
    tensor([0., 4.])
    """

    def __init__(self, num_samples: int) -> None:
        self.num_samples = num_samples

    def __call__(self, video: Tensor) -> Tensor:
        places = _core.linspace(0, video.shape[-4] - 1, self.num_samples).long()
        return video.index_select(-4, places.to(video.device))


class Lambda(Transform):
    """Wraps a function as a transform. Spawned worker processes need one that can be pickled.

    Args:
        lambd: The function.

    Raises:
        TypeError: lambd is not callable.

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
