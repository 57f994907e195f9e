"""Residual networks: ResNet, ResNeXt and Wide ResNet (He et al. 2015, Xie et al. 2016, Zagoruyko and Komodakis 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import Tensor, nn

from .building import NormLayer, Weights, build

__all__ = [
    "ResNet",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "resnext50_32x4d",
    "wide_resnet101_2",
    "wide_resnet50_2",
]


def conv3x3(inputs: int, outputs: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with a residual connection."""

    expansion = 1

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
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        norm = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + identity)


class Bottleneck(nn.Module):
    """Bottleneck block: 1 x 1, 3 x 3 and 1 x 1 convolutions with a residual connection. The 3 x 3 convolution has the stride."""

    expansion = 4

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
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + identity)


class ResNet(nn.Module):
    """ResNet: a stem, four stages of blocks, average pooling and a linear layer."""

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
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

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:  # every block starts as the identity
            for module in self.modules():
                if isinstance(module, Bottleneck):
                    nn.init.constant_(module.bn3.weight, 0)
                elif isinstance(module, BasicBlock):
                    nn.init.constant_(module.bn2.weight, 0)

    def _make_layer(
        self, block: type[BasicBlock] | type[Bottleneck], planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> nn.Sequential:
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


def resnet18(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNet-18: 11.7 million parameters."""
    return build(ResNet, weights, BasicBlock, [2, 2, 2, 2], **options)


def resnet34(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNet-34: 21.8 million parameters."""
    return build(ResNet, weights, BasicBlock, [3, 4, 6, 3], **options)


def resnet50(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNet-50: 25.6 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 6, 3], **options)


def resnet101(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNet-101: 44.5 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 23, 3], **options)


def resnet152(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNet-152: 60.2 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 8, 36, 3], **options)


def resnext50_32x4d(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNeXt-50 with 32 groups of 4 channels: 25.0 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 6, 3], **{**options, "groups": 32, "width_per_group": 4})


def resnext101_32x8d(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNeXt-101 with 32 groups of 8 channels: 88.8 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 23, 3], **{**options, "groups": 32, "width_per_group": 8})


def resnext101_64x4d(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """ResNeXt-101 with 64 groups of 4 channels: 83.5 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 23, 3], **{**options, "groups": 64, "width_per_group": 4})


def wide_resnet50_2(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """Wide ResNet-50, with twice the channels inside blocks: 68.9 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 6, 3], **{**options, "width_per_group": 128})


def wide_resnet101_2(*, weights: Weights | None = None, **options: Any) -> ResNet:
    """Wide ResNet-101, with twice the channels inside blocks: 126.9 million parameters."""
    return build(ResNet, weights, Bottleneck, [3, 4, 23, 3], **{**options, "width_per_group": 128})
