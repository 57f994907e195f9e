"""Residual networks: ResNet, ResNeXt and Wide ResNet (He et al. 2015, Xie et al. 2016, Zagoruyko and Komodakis 2016)."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn import Tensor, nn

from .blocks import init_convolutions_
from .building import NormLayer, variant

__all__ = [
    "ResNet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d",
    "wide_resnet50_2", "wide_resnet101_2",
]  # fmt: skip


def conv3x3(inputs: int, outputs: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with a residual connection."""

    expansion = 1
    depth = 2  # the number of convolutions

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: NormLayer | None = None,
    ) -> None:
        super().__init__()
        for i, convolution in enumerate(self.convolutions(inplanes, planes, stride, groups, base_width, dilation), 1):
            self.add_module(f"conv{i}", convolution)
            self.add_module(f"bn{i}", (norm_layer or nn.BatchNorm2d)(convolution.out_channels))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def convolutions(self, inplanes: int, planes: int, stride: int, groups: int, base_width: int, dilation: int) -> list[nn.Conv2d]:
        """Creates the convolutions, each of which is followed by a norm.

        Raises:
            ValueError: Groups or another width are asked for.
            NotImplementedError: A dilation is asked for.
        """
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        return [conv3x3(inplanes, planes, stride), conv3x3(planes, planes)]

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        for i in range(1, self.depth):
            x = self.relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x)))
        return self.relu(getattr(self, f"bn{self.depth}")(getattr(self, f"conv{self.depth}")(x)) + identity)


class Bottleneck(BasicBlock):
    """Bottleneck block: 1 x 1, 3 x 3 and 1 x 1 convolutions with a residual connection. The 3 x 3 convolution has the stride."""

    expansion = 4
    depth = 3

    def convolutions(self, inplanes: int, planes: int, stride: int, groups: int, base_width: int, dilation: int) -> list[nn.Conv2d]:
        width = int(planes * (base_width / 64.0)) * groups
        return [conv1x1(inplanes, width), conv3x3(width, width, stride, groups, dilation), conv1x1(width, planes * self.expansion)]


class ResNet(nn.Module):
    """ResNet: a stem, four stages of blocks, average pooling and a linear layer.

    Args:
        block: The class of the blocks: BasicBlock or Bottleneck.
        layers: The number of blocks of each stage.
        num_classes: The number of classes.
        zero_init_residual: Whether each block starts as the identity.
        groups: The number of groups of the 3 x 3 convolutions.
        width_per_group: The channels per group in the first stage.
        replace_stride_with_dilation: Which of the last three stages are dilated instead of made smaller.
        norm_layer: Creates a norm of a number of channels; by default BatchNorm2d.

    Raises:
        ValueError: replace_stride_with_dilation does not have three elements.

    >>> from p_vision.models.resnet import BasicBlock
    >>> p_vision.models.ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)(pyburn.rand(2, 3, 32, 32)).shape
    pyburn.Size([2, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: NormLayer | None = None,
    ) -> None:
        super().__init__()
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        dilated = replace_stride_with_dilation or (False, False, False)
        if len(dilated) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {replace_stride_with_dilation}")
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilated[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilated[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)

        init_convolutions_(self)
        if zero_init_residual:  # every block starts as the identity
            for module in self.modules():
                if isinstance(module, BasicBlock):
                    nn.init.constant_(getattr(module, f"bn{module.depth}").weight, 0)

    def _make_layer(self, block: type[BasicBlock], planes: int, blocks: int, stride: int = 1, dilate: bool = False) -> nn.Sequential:
        norm = self._norm_layer
        previous_dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        downsample = None
        outputs = planes * block.expansion
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(conv1x1(self.inplanes, outputs, stride), norm(outputs))
        layers = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width, previous_dilation, norm)]
        self.inplanes = outputs
        for _ in range(1, blocks):
            layers.append(block(outputs, planes, 1, None, self.groups, self.base_width, self.dilation, norm))
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


resnet18 = variant("resnet18", "ResNet-18", 11.7, ResNet, BasicBlock, [2, 2, 2, 2])
resnet34 = variant("resnet34", "ResNet-34", 21.8, ResNet, BasicBlock, [3, 4, 6, 3])
resnet50 = variant("resnet50", "ResNet-50", 25.6, ResNet, Bottleneck, [3, 4, 6, 3])
resnet101 = variant("resnet101", "ResNet-101", 44.5, ResNet, Bottleneck, [3, 4, 23, 3])
resnet152 = variant("resnet152", "ResNet-152", 60.2, ResNet, Bottleneck, [3, 8, 36, 3])
resnext50_32x4d = variant("resnext50_32x4d", "ResNeXt-50 32x4d", 25.0, ResNet, Bottleneck, [3, 4, 6, 3], groups=32, width_per_group=4)
resnext101_32x8d = variant("resnext101_32x8d", "ResNeXt-101 32x8d", 88.8, ResNet, Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=8)
resnext101_64x4d = variant("resnext101_64x4d", "ResNeXt-101 64x4d", 83.5, ResNet, Bottleneck, [3, 4, 23, 3], groups=64, width_per_group=4)
wide_resnet50_2 = variant("wide_resnet50_2", "Wide ResNet-50-2", 68.9, ResNet, Bottleneck, [3, 4, 6, 3], width_per_group=128)
wide_resnet101_2 = variant("wide_resnet101_2", "Wide ResNet-101-2", 126.9, ResNet, Bottleneck, [3, 4, 23, 3], width_per_group=128)
