"""PyTorch's private methods of layers and base classes, which pyburn.compat adds."""

from __future__ import annotations

from typing import Any

import pytest

import pyburn
from pyburn import nn
from pyburn.nn import functional as F
from pyburn.nn.modules.batchnorm import _BatchNorm
from pyburn.nn.modules.conv import _ConvNd
from pyburn.nn.modules.loss import _Loss, _WeightedLoss


def test_a_convolution_of_ones_own(torch: Any) -> None:
    class Standardised(nn.Conv2d):
        def forward(self, x: Any) -> Any:
            weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
            return self._conv_forward(x, weight, self.bias)

    class Doubled(nn.Conv1d):
        def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
            return 2 * super()._conv_forward(input, weight, bias)

    pyburn.manual_seed(0)
    x = pyburn.randn(2, 3, 8, 8)
    for options in (
        {"padding": 1},
        {"padding": (1, 2), "padding_mode": "reflect"},
        {"padding": "same", "padding_mode": "circular", "dilation": 2},
    ):
        plain = nn.Conv2d(3, 4, 3, **options)
        assert pyburn.allclose(plain._conv_forward(x, plain.weight, plain.bias), plain(x), atol=1e-5)
    assert abs(float(Standardised(3, 4, 3, bias=False)(pyburn.ones(1, 3, 5, 5)).max())) < 1e-5
    line, doubled = nn.Conv1d(3, 4, 3), Doubled(3, 4, 3)
    doubled.load_state_dict(line.state_dict())
    assert pyburn.allclose(doubled(x[..., 0]), 2 * line(x[..., 0]), atol=1e-6)
    assert not plain.transposed and plain.output_padding == (0, 0) and nn.ConvTranspose2d(1, 1, 1).transposed


def test_norms_of_ones_own(torch: Any) -> None:
    class AnyRank(nn.BatchNorm2d):
        def _check_input_dim(self, input: Any) -> None:
            pass

    class Own(_BatchNorm):
        def _check_input_dim(self, input: Any) -> None:
            if input.ndim != 6:
                raise ValueError("expected 6 axes")

    pyburn.manual_seed(0)
    x = pyburn.randn(8, 3)
    one, other = AnyRank(3), nn.BatchNorm1d(3)
    for _ in range(2):
        assert pyburn.allclose(one(x), other(x), atol=1e-6)
    assert all(pyburn.allclose(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))
    with pytest.raises(ValueError, match="4D"):
        nn.BatchNorm2d(3)._check_input_dim(x)
    own = Own(3)
    assert isinstance(own, _BatchNorm) and isinstance(own, nn.Module) and not isinstance(own, _Loss)
    assert own(pyburn.randn(2, 3, 1, 2, 1, 2)).shape == (2, 3, 1, 2, 1, 2) and list(own.state_dict()) == list(one.state_dict())
    with pytest.raises(ValueError, match="6 axes"):
        own(x)


def test_losses_and_convolutions_derive_from_what_pytorch_names(torch: Any) -> None:
    class Charbonnier(_Loss):
        def __init__(self, reduction: str = "mean") -> None:
            super().__init__(reduction=reduction)

        def forward(self, a: Any, b: Any) -> Any:
            return getattr(((a - b) ** 2 + 1e-6).sqrt(), self.reduction)()

    class Weighted(_WeightedLoss):
        def forward(self, a: Any, b: Any) -> Any:
            return F.nll_loss(a, b, self.weight, reduction=self.reduction)

    class Depthwise(_ConvNd):
        def __init__(self, channels: int) -> None:
            super().__init__(channels, channels, (3,), (1,), (1,), (1,), False, (0,), channels, True, "zeros")

        def forward(self, x: Any) -> Any:
            return self._conv_forward(x, self.weight, self.bias)

    assert float(Charbonnier("sum")(pyburn.ones(2), pyburn.zeros(2))) == pytest.approx(2, abs=1e-3)
    assert isinstance(Charbonnier(), _Loss) and issubclass(Charbonnier, _Loss) and isinstance(nn.MSELoss(), _Loss)
    assert list(Weighted(pyburn.ones(2)).state_dict()) == ["weight"]
    layer = Depthwise(4)
    assert layer(pyburn.randn(1, 4, 7)).shape == (1, 4, 7) and layer.weight.shape == (4, 1, 3) and isinstance(layer, _ConvNd)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_layers_with_a_part_of_ones_own(torch: Any, norm_first: bool) -> None:
    class Encoder(nn.TransformerEncoderLayer):
        def _ff_block(self, x: Any) -> Any:
            return super()._ff_block(x)

    class Decoder(nn.TransformerDecoderLayer):
        def _mha_block(self, *args: Any) -> Any:
            return super()._mha_block(*args)

    pyburn.manual_seed(0)
    x, memory = pyburn.randn(5, 2, 8), pyburn.randn(4, 2, 8)
    for own, plain, inputs in ((Encoder, nn.TransformerEncoderLayer, (x,)), (Decoder, nn.TransformerDecoderLayer, (x, memory))):
        one, other = (kind(8, 2, 16, dropout=0.0, activation="gelu", norm_first=norm_first) for kind in (own, plain))
        one.load_state_dict(other.state_dict())
        assert pyburn.allclose(one(*inputs), other(*inputs), atol=1e-5)


def test_names_of_recurrent_weights(torch: Any) -> None:
    cells = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    assert cells._all_weights[1] == ["weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse"]
    assert cells._flat_weights_names == [name for name, _ in cells.named_parameters()] and len(cells._flat_weights) == 16


def test_repeated_numbers(torch: Any) -> None:
    from torch.nn.modules.utils import _ntuple, _pair  # type: ignore[import-not-found]

    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2) and _ntuple(3)(1) == (1, 1, 1)


def test_nothing_of_it_stays() -> None:
    added = {nn.Conv2d: "_conv_forward", nn.BatchNorm2d: "_check_input_dim", nn.LSTM: "_flat_weights", pyburn.Tensor: "is_cpu"}
    pyburn.compat.install()
    assert all(hasattr(owner, name) for owner, name in added.items())
    pyburn.compat.uninstall()
    assert not any(hasattr(owner, name) for owner, name in added.items())
    assert isinstance(nn.Module.backend, property)
