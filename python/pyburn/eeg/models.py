"""EEGNet v4 (Lawhern et al. 2018): a small convolutional network for EEG, with braindecode's parameter names."""

from __future__ import annotations

from pyburn import Tensor, nn
from pyburn.nn.utils.parametrize import register_parametrization


class MaxNorm(nn.Module):
    """Parametrization that scales filters with a norm above `max_norm` down to it."""

    def __init__(self, max_norm: float) -> None:
        super().__init__()
        self.max_norm = max_norm

    def forward(self, weight: Tensor) -> Tensor:
        return weight.renorm(2, 0, self.max_norm)


def with_max_norm(layer: nn.Module, max_norm: float) -> nn.Module:
    register_parametrization(layer, "weight", MaxNorm(max_norm))
    return layer


class EEGNet(nn.Module):
    """EEGNet v4: maps signals (N, channels, times) to logits (N, n_outputs).

    A temporal convolution, a depthwise spatial convolution over the electrodes whose filters have a bounded norm, and a separable
    convolution, each with batch norm; average pooling and dropout between them.

    Args:
        n_chans: The number of electrodes.
        n_outputs: The number of classes.
        n_times: The number of samples of a trial.
        F1: Temporal filters.
        D: Spatial filters per temporal filter.
        F2: Filters of the separable convolution; F1 * D by default.
        kernel_length: Length of the temporal filters in samples.
        depthwise_kernel_length: Length of the filters of the separable convolution.
        pool1_kernel_size: Window of the first average pooling.
        pool2_kernel_size: Window of the second average pooling.
        conv_spatial_max_norm: The maximum norm of a spatial filter.
        drop_prob: The dropout probability.
        final_layer_with_constraint: Whether the classifier is a linear layer with bounded rows instead of a convolution over time.
        norm_rate: The maximum norm of a row of that layer.

    Raises:
        ValueError: n_times is too small for the pooling.

    >>> EEGNet(8, 2, 256)(pyburn.zeros(4, 8, 256)).shape
    pyburn.Size([4, 2])
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        *,
        F1: int = 8,
        D: int = 2,
        F2: int | None = None,
        kernel_length: int = 64,
        depthwise_kernel_length: int = 16,
        pool1_kernel_size: int = 4,
        pool2_kernel_size: int = 8,
        conv_spatial_max_norm: float = 1.0,
        drop_prob: float = 0.25,
        final_layer_with_constraint: bool = False,
        norm_rate: float = 0.25,
    ) -> None:
        super().__init__()
        spatial = F1 * D
        F2 = spatial if F2 is None else F2
        # Convolutions with even kernels and a padding of half their length lengthen the signal by one sample.
        length = (n_times + 1 - kernel_length % 2) // pool1_kernel_size
        length = (length + 1 - depthwise_kernel_length % 2) // pool2_kernel_size
        if length < 1:
            raise ValueError(f"n_times is too small for the pools: got {n_times}")

        self.conv_temporal = nn.Conv2d(1, F1, (1, kernel_length), padding=(0, kernel_length // 2), bias=False)
        self.bnorm_temporal = nn.BatchNorm2d(F1, eps=1e-3, momentum=0.01)
        self.conv_spatial = with_max_norm(nn.Conv2d(F1, spatial, (n_chans, 1), groups=F1, bias=False), conv_spatial_max_norm)
        self.bnorm_1 = nn.BatchNorm2d(spatial, eps=1e-3, momentum=0.01)
        self.elu_1 = nn.ELU()
        self.pool_1 = nn.AvgPool2d((1, pool1_kernel_size))
        self.drop_1 = nn.Dropout(drop_prob)
        self.conv_separable_depth = nn.Conv2d(
            spatial, spatial, (1, depthwise_kernel_length), padding=(0, depthwise_kernel_length // 2), groups=spatial, bias=False
        )
        self.conv_separable_point = nn.Conv2d(spatial, F2, (1, 1), bias=False)
        self.bnorm_2 = nn.BatchNorm2d(F2, eps=1e-3, momentum=0.01)
        self.elu_2 = nn.ELU()
        self.pool_2 = nn.AvgPool2d((1, pool2_kernel_size))
        self.drop_2 = nn.Dropout(drop_prob)
        self.final_layer = nn.Sequential()
        if final_layer_with_constraint:
            self.final_layer.add_module("flatten", nn.Flatten())
            self.final_layer.add_module("linearconstraint", with_max_norm(nn.Linear(F2 * length, n_outputs), norm_rate))
        else:
            self.final_layer.add_module("conv_classifier", nn.Conv2d(F2, n_outputs, (1, length)))
            self.final_layer.add_module("flatten", nn.Flatten())
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        x = self.bnorm_temporal(self.conv_temporal(x.unsqueeze(1)))
        x = self.elu_1(self.bnorm_1(self.conv_spatial(x)))
        x = self.drop_1(self.pool_1(x))
        x = self.conv_separable_point(self.conv_separable_depth(x))
        x = self.drop_2(self.pool_2(self.elu_2(self.bnorm_2(x))))
        return self.final_layer(x)
