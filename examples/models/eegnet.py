"""EEGNet v4 (Lawhern et al. 2018): a small convolutional network for brain signals, under the parameter names of braindecode's.

    python examples/models/eegnet.py

trains it to tell a rhythm of 10 Hz from one of 20 Hz in noise.
"""

from __future__ import annotations

import math

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.nn.utils.parametrize import register_parametrization


class MaxNorm(nn.Module):
    """A parametrization: filters longer than `max_norm` are shortened to it whenever the weight is used."""

    def __init__(self, max_norm: float) -> None:
        super().__init__()
        self.max_norm = max_norm

    def forward(self, weight: Tensor) -> Tensor:
        return weight.renorm(2, 0, self.max_norm)


def with_max_norm(layer: nn.Module, max_norm: float) -> nn.Module:
    register_parametrization(layer, "weight", MaxNorm(max_norm))
    return layer


class EEGNet(nn.Module):
    """Signals (N, channels, times) to logits (N, n_outputs).

    Filters in time, then one filter over the electrodes per filter in time (its norm at most `conv_spatial_max_norm`), then a
    separable convolution. The classifier is a convolution over what is left of time, or, with `final_layer_with_constraint`, a linear
    layer whose rows have a norm of at most `norm_rate`.
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
        # Even kernels with a padding of half their length give one sample more than they get.
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


def rhythms(count: int, channels: int = 8, times: int = 256, rate: int = 128) -> tuple[Tensor, Tensor]:
    """Noise, with a wave of 10 Hz in the first electrodes (class 0) or of 20 Hz in the last ones (class 1)."""
    labels = pyburn.randint(0, 2, (count,))
    t = pyburn.arange(times) / rate
    phase = pyburn.rand(count, 1) * 2 * math.pi
    wave = (2 * math.pi * (10 + 10 * labels[:, None]) * t + phase).sin()
    signal = pyburn.randn(count, channels, times)
    half = channels // 2
    strength = pyburn.cat([(1.0 - labels)[:, None].expand(count, half), labels[:, None].float().expand(count, channels - half)], 1)
    return signal + strength[:, :, None] * wave[:, None], labels


def main() -> None:
    pyburn.manual_seed(0)
    model = EEGNet(8, 2, 256)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    for step in range(40):
        signal, labels = rhythms(32)
        loss = nn.functional.cross_entropy(model.train()(signal), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1:3}  loss {loss.item():.3f}")
    signal, labels = rhythms(200)
    with pyburn.no_grad():
        right = (model.eval()(signal).argmax(1) == labels).float().mean().item()
    print(f"right on {right:.0%} of 200 trials it has not seen")


if __name__ == "__main__":
    main()
