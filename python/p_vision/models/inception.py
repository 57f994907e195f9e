"""Inception v3 (Szegedy et al. 2015), and what it shares with GoogLeNet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import pyburn
from pyburn import Tensor, nn

from .building import Weights, build

__all__ = ["Inception3", "InceptionOutputs", "inception_v3"]

ConvBlock = Callable[..., nn.Module]
Convolution = tuple[int, Any, int]  # output channels, kernel size, stride; a stride of 1 is same-padded
Chains = Mapping[str, Sequence[Convolution | str]]


class InceptionOutputs(NamedTuple):
    """The outputs in training: the logits, and those of the auxiliary head.

    >>> p_vision.models.InceptionOutputs._fields
    ('logits', 'aux_logits')
    """

    logits: Tensor
    aux_logits: Tensor | None


class BasicConv2d(nn.Module):
    """Convolution, batch norm and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **options)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.conv(x)).relu()


class InceptionNetwork(nn.Module):
    """Base class of GoogLeNet and Inception v3.

    `transform_input` converts images normalized with ImageNet's mean and standard deviation to the normalization of the original weights
    (0.5 and 0.5).
    """

    transform_input: bool
    aux_logits: bool

    def _transform_input(self, x: Tensor) -> Tensor:
        if not self.transform_input:
            return x
        scale = pyburn.tensor([0.229, 0.224, 0.225], dtype=x.dtype, device=x.device) / 0.5
        shift = (pyburn.tensor([0.485, 0.456, 0.406], dtype=x.dtype, device=x.device) - 0.5) / 0.5
        return x * scale[:, None, None] + shift[:, None, None]

    def _init_weights(self, std: Callable[[str], float]) -> None:
        """Initializes convolutions and linear layers with truncated normal numbers; `std` maps a module's name to the deviation."""
        for name, module in self.named_modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, mean=0.0, std=std(name), a=-2, b=2)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)


Network = TypeVar("Network", bound=InceptionNetwork)


def build_with_heads(
    model_class: type[Network], weights: Weights | None, heads: Sequence[str], keep_heads: bool, **options: Any
) -> Network:
    """Builds a model; with weights, whose files contain the auxiliary heads, these are removed after loading unless they are wanted."""
    if weights is None:
        return build(model_class, None, **options)
    keep_heads = options.pop("aux_logits", keep_heads)
    model = build(model_class, weights, **{"transform_input": True, "init_weights": False, **options, "aux_logits": True})
    if not keep_heads:
        model.aux_logits = False
        for head in heads:
            setattr(model, head, None)
    return model


_FORK: dict[str, Convolution] = {"a": (384, (1, 3), 1), "b": (384, (3, 1), 1)}


class _Mixed(nn.Module):
    """Inception block: chains of convolutions side by side, and a pooling, concatenated.

    A chain called `branch` is one layer of that name, or the layers branch_1, branch_2 ...; a chain that ends with "fork" ends with a
    1 x 3 and a 3 x 1 convolution side by side, with the suffixes a and b.
    """

    def __init__(self, in_channels: int, chains: Chains, conv_block: ConvBlock | None) -> None:
        super().__init__()
        self.chains: list[list[str]] = []
        for branch, convolutions in chains.items():
            channels, names = in_channels, []
            for i, convolution in enumerate(convolutions, 1):
                parts = {"": convolution} if not isinstance(convolution, str) else _FORK
                for suffix, (outputs, kernel, stride) in parts.items():
                    names.append(branch if len(convolutions) == 1 else f"{branch}_{i}{suffix}")
                    sizes = (kernel, kernel) if isinstance(kernel, int) else kernel
                    padding = tuple(k // 2 for k in sizes) if stride == 1 else 0
                    layer = (conv_block or BasicConv2d)(channels, outputs, kernel_size=sizes, stride=stride, padding=padding)
                    self.add_module(names[-1], layer)
                channels = outputs
            self.chains.append(names)

    def _pool(self, x: Tensor) -> Tensor:
        return nn.functional.avg_pool2d(x, kernel_size=3, stride=1, padding=1)

    def _run(self, names: list[str], x: Tensor) -> list[Tensor]:
        for name in names:
            if name.endswith("a"):
                return [getattr(self, name)(x), getattr(self, names[-1])(x)]
            x = getattr(self, name)(x)
        return [x]

    def forward(self, x: Tensor) -> Tensor:
        outputs: list[Tensor] = []
        for names in self.chains:
            outputs += self._run(names, self._pool(x) if names == ["branch_pool"] else x)
        if ["branch_pool"] not in self.chains:
            outputs.append(self._pool(x))
        return pyburn.cat(outputs, 1)


class InceptionA(_Mixed):
    """Block at 35 x 35 pixels."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: ConvBlock | None = None) -> None:
        chains: Chains = {
            "branch1x1": [(64, 1, 1)],
            "branch5x5": [(48, 1, 1), (64, 5, 1)],
            "branch3x3dbl": [(64, 1, 1), (96, 3, 1), (96, 3, 1)],
            "branch_pool": [(pool_features, 1, 1)],
        }
        super().__init__(in_channels, chains, conv_block)


class _Reduction(_Mixed):
    """Block that halves the size."""

    def _pool(self, x: Tensor) -> Tensor:
        return nn.functional.max_pool2d(x, kernel_size=3, stride=2)


class InceptionB(_Reduction):
    """From 35 x 35 to 17 x 17 pixels."""

    def __init__(self, in_channels: int, conv_block: ConvBlock | None = None) -> None:
        chains: Chains = {"branch3x3": [(384, 3, 2)], "branch3x3dbl": [(64, 1, 1), (96, 3, 1), (96, 3, 2)]}
        super().__init__(in_channels, chains, conv_block)


_WIDE, _HIGH = (1, 7), (7, 1)


class InceptionC(_Mixed):
    """Block at 17 x 17 pixels, with 7 x 7 convolutions in two steps."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: ConvBlock | None = None) -> None:
        c = channels_7x7
        chains: Chains = {
            "branch1x1": [(192, 1, 1)],
            "branch7x7": [(c, 1, 1), (c, _WIDE, 1), (192, _HIGH, 1)],
            "branch7x7dbl": [(c, 1, 1), (c, _HIGH, 1), (c, _WIDE, 1), (c, _HIGH, 1), (192, _WIDE, 1)],
            "branch_pool": [(192, 1, 1)],
        }
        super().__init__(in_channels, chains, conv_block)


class InceptionD(_Reduction):
    """From 17 x 17 to 8 x 8 pixels."""

    def __init__(self, in_channels: int, conv_block: ConvBlock | None = None) -> None:
        chains: Chains = {
            "branch3x3": [(192, 1, 1), (320, 3, 2)],
            "branch7x7x3": [(192, 1, 1), (192, _WIDE, 1), (192, _HIGH, 1), (192, 3, 2)],
        }
        super().__init__(in_channels, chains, conv_block)


class InceptionE(_Mixed):
    """Block at 8 x 8 pixels, with forks into 1 x 3 and 3 x 1 convolutions."""

    def __init__(self, in_channels: int, conv_block: ConvBlock | None = None) -> None:
        chains: Chains = {
            "branch1x1": [(320, 1, 1)],
            "branch3x3": [(384, 1, 1), "fork"],
            "branch3x3dbl": [(448, 1, 1), (384, 3, 1), "fork"],
            "branch_pool": [(192, 1, 1)],
        }
        super().__init__(in_channels, chains, conv_block)


class InceptionAux(nn.Module):
    """Auxiliary classifier, which improves the gradients of early layers."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: ConvBlock | None = None) -> None:
        super().__init__()
        conv_block = conv_block or BasicConv2d
        self.conv0 = conv_block(in_channels, 128, kernel_size=1)
        self.conv1 = conv_block(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(nn.functional.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


_STD = {"AuxLogits.conv1.conv": 0.01, "AuxLogits.fc": 0.001}  # standard deviations of initial weights that are not 0.1


class Inception3(InceptionNetwork):
    """Inception v3. In training with `aux_logits` it returns InceptionOutputs, else the logits; images need at least 75 x 75 pixels.

    Args:
        num_classes: The number of classes.
        aux_logits: Whether to add the auxiliary head.
        transform_input: Whether images are normalized with ImageNet's mean and standard deviation, not with 0.5 and 0.5.
        inception_blocks: The classes of the convolutions, the five inception blocks and the auxiliary head.
        init_weights: Whether to initialize the weights; None for True.
        dropout: The dropout rate in front of the linear layer.

    Raises:
        ValueError: inception_blocks are not seven classes.

    >>> with pyburn.device("null"):  # computes shapes only
    ...     p_vision.models.Inception3(num_classes=10).eval()(pyburn.empty(1, 3, 299, 299)).shape
    pyburn.Size([1, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Sequence[Callable[..., nn.Module]] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        blocks = inception_blocks or (BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux)
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        conv, a, b, c, d, e, aux = blocks
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            self._init_weights(lambda name: _STD.get(name, 0.1))

    def forward(self, x: Tensor) -> Any:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(self._transform_input(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x))))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        aux = self.AuxLogits(x) if self.training and self.AuxLogits is not None else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x


def inception_v3(*, weights: Weights | None = None, **options: Any) -> Inception3:
    """Inception v3: 27.2 million parameters, 23.8 without the auxiliary head.

    As in torchvision, `weights` imply `transform_input=True`.

    Args:
        weights: A state dict, or the path of a .safetensors or PyTorch file; None for random weights.
        **options: The options of Inception3, such as num_classes.

    Returns:
        The model, which takes images (N, 3, height, width).

    >>> with pyburn.device("null"):  # computes shapes only
    ...     p_vision.models.inception_v3(num_classes=10).eval()(pyburn.empty(1, 3, 299, 299)).shape
    pyburn.Size([1, 10])
    """
    return build_with_heads(Inception3, weights, ["AuxLogits"], True, **options)
