"""GoogLeNet, the first Inception network (Szegedy et al. 2014), with batch norms as in torchvision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyburn
from pyburn import Tensor, nn

from .building import Weights
from .inception import BasicConv2d, InceptionNetwork, build_with_heads

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "googlenet"]


class GoogLeNetOutputs(NamedTuple):
    """The outputs in training: the logits, and those of the auxiliary heads after stages 4d and 4a.

    >>> p_vision.models.GoogLeNetOutputs._fields
    ('logits', 'aux_logits2', 'aux_logits1')
    """

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


class Inception(nn.Module):
    """Inception block: four parallel branches, concatenated."""

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Callable[..., nn.Module] = BasicConv2d,
    ) -> None:
        super().__init__()
        self.branch1 = conv_block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv_block(in_channels, ch3x3red, kernel_size=1), conv_block(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        # The paper uses 5 x 5 here; torchvision's checkpoints use 3 x 3.
        self.branch3 = nn.Sequential(
            conv_block(in_channels, ch5x5red, kernel_size=1), conv_block(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True), conv_block(in_channels, pool_proj, kernel_size=1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return pyburn.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """Auxiliary classifier, which improves the gradients of early layers."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Callable[..., nn.Module] = BasicConv2d, dropout: float = 0.7
    ) -> None:
        super().__init__()
        self.conv = conv_block(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4)))
        return self.fc2(self.dropout(self.fc1(x.flatten(1)).relu()))


class GoogLeNet(InceptionNetwork):
    """GoogLeNet: nine inception blocks. In training with `aux_logits` it returns GoogLeNetOutputs, else the logits.

    Args:
        num_classes: The number of classes.
        aux_logits: Whether to add the two auxiliary heads.
        transform_input: Whether images are normalized with ImageNet's mean and standard deviation, not with 0.5 and 0.5.
        init_weights: Whether to initialize the weights; None for True.
        blocks: The classes of the convolutions, the inception blocks and the auxiliary heads.
        dropout: The dropout rate in front of the linear layer.
        dropout_aux: The dropout rate of the auxiliary heads.

    Raises:
        ValueError: blocks are not three classes.

    >>> p_vision.models.GoogLeNet(num_classes=10).eval()(pyburn.rand(1, 3, 64, 64)).shape
    pyburn.Size([1, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Sequence[Callable[..., nn.Module]] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        blocks = blocks or (BasicConv2d, Inception, InceptionAux)
        if len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        conv, inception, aux = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input

        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception3a = inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = inception(256, 128, 128, 192, 32, 96, 64)
        self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = inception(528, 256, 160, 320, 32, 128, 128)
        self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.inception5a = inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = inception(832, 384, 192, 384, 48, 128, 128)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)

        if init_weights is None or init_weights:
            self._init_weights(lambda name: 0.01)

    def forward(self, x: Tensor) -> Any:
        heads = self.training and self.aux_logits
        x = self._transform_input(x)
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        aux1 = self.aux1(x) if heads and self.aux1 is not None else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if heads and self.aux2 is not None else None
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        x = self.fc(self.dropout(self.avgpool(x).flatten(1)))
        return GoogLeNetOutputs(x, aux2, aux1) if heads else x


def googlenet(*, weights: Weights | None = None, **options: Any) -> GoogLeNet:
    """GoogLeNet: 6.6 million parameters, 13.0 with the two auxiliary heads.

    As in torchvision, `weights` imply `transform_input=True` and remove the heads after loading, unless the options say otherwise.

    Args:
        weights: A state dict, or the path of a .safetensors or PyTorch file; None for random weights.
        **options: The options of GoogLeNet, such as num_classes.

    Returns:
        The model, which takes images (N, 3, height, width).

    >>> p_vision.models.googlenet(num_classes=10, aux_logits=False)(pyburn.rand(2, 3, 64, 64)).shape
    pyburn.Size([2, 10])
    """
    return build_with_heads(GoogLeNet, weights, ["aux1", "aux2"], False, **options)
