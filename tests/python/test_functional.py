"""nn.functional: losses, normalization, attention, pooling, interpolation."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

import pyburn
import pyburn.compat
import pyburn.nn.functional as F
from pyburn import nn


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_gradients_of_convolutions_as_functions(axes: int) -> None:
    x = pyburn.randn(2, 4, *[6] * axes, dtype=pyburn.float64, requires_grad=True)
    w = pyburn.randn(6, 2, *[3] * axes, dtype=pyburn.float64, requires_grad=True)
    options: dict[str, Any] = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
    y = getattr(F, f"conv{axes}d")(x, w, **options)
    dy = pyburn.randn_like(y)
    dx, dw = pyburn.autograd.grad(y, (x, w), dy)
    assert pyburn.allclose(getattr(nn.grad, f"conv{axes}d_input")(x.shape, w, dy, **options), dx)
    assert pyburn.allclose(getattr(nn.grad, f"conv{axes}d_weight")(x, w.shape, dy, **options), dw)


def test_weights_of_samples_fit_their_bags() -> None:
    table, index = pyburn.ones(5, 2), pyburn.zeros(7, 3, dtype=pyburn.int64)
    with pytest.raises(ValueError, match="same shape as the input"):
        F.embedding_bag(index, table, per_sample_weights=pyburn.ones(21), mode="sum")
    with pytest.raises(RuntimeError, match="same type as weight"):
        F.embedding_bag(index, table, per_sample_weights=pyburn.ones(7, 3, dtype=pyburn.float64), mode="sum")


def test_targets_say_what_does_not_fit() -> None:
    scores = pyburn.zeros(2, 3)
    for target, options, error, text in [
        (pyburn.zeros(2, 3).long(), {}, RuntimeError, "Expected floating point type for target with class probabilities"),
        (pyburn.zeros(2), {}, RuntimeError, "expected target dtype to be Long or Byte"),
        (pyburn.zeros(3).long(), {}, ValueError, r"Expected input batch_size \(2\) to match target batch_size \(3\)"),
        (pyburn.zeros(2).long(), {"weight": pyburn.ones(2)}, RuntimeError, "either for all 3 classes or no classes"),
        (pyburn.zeros(2).long(), {"weight": pyburn.ones(3).half()}, RuntimeError, "expected scalar type float32 but found float16"),
        (pyburn.zeros(2, 3), {"ignore_index": 1}, RuntimeError, "ignore_index is not supported for floating point target"),
        (pyburn.zeros(2).long(), {"label_smoothing": 1.5}, RuntimeError, "label_smoothing must be between 0.0 and 1.0"),
    ]:
        with pytest.raises(error, match=text):
            F.cross_entropy(scores, target, **options)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        nn.NLLLoss(weight=pyburn.ones(3).half())(scores, pyburn.zeros(2).long())
    with pytest.raises(RuntimeError, match=r"Expected target size \[5\], but got \[3\]"):
        nn.MultiMarginLoss()(pyburn.zeros(5, 10), pyburn.zeros(3).long())


def test_channels_are_dropped_as_in_pytorch() -> None:
    with pytest.warns(UserWarning, match="Received a 3D input to dropout2d"):
        y = F.dropout2d(pyburn.ones(50, 4, 6))
    per_row = (y == 0).sum(2)
    assert set(per_row.flatten().tolist()) == {0, 6}  # a row is dropped as a whole
    assert set((per_row == 6).sum(1).tolist()) - {0, 4}  # and not all rows of an example at once
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout3d"):
        F.dropout3d(pyburn.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected 2D or 3D input, but received a 4D input"):
        F.dropout1d(pyburn.ones(1, 2, 2, 2))


def test_bytes_wrap_around_in_margin_ranking_loss() -> None:
    a, b, target = (pyburn.tensor(v, dtype=pyburn.uint8) for v in ([3, 9], [5, 2], [1, 2]))
    assert F.margin_ranking_loss(a, b, target, reduction="none").tolist() == [2, 242]


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 4, 0)])
def test_group_norm_wants_something_in_each_group(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match="greater than 0"):
        F.group_norm(pyburn.zeros(shape), 1)


def test_batch_norm_refuses_a_negative_eps() -> None:
    layer = nn.BatchNorm1d(3, eps=-1.0)
    for training, word in ((True, "positive"), (False, "non-negative")):
        with pytest.raises(ValueError, match=f"eps must be {word}"):
            layer.train(training)(pyburn.ones(4, 3))
    assert F.batch_norm(pyburn.ones(4, 3), pyburn.zeros(3), pyburn.ones(3), eps=0.0).tolist() == [[1, 1, 1]] * 4


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16])
def test_halves_are_normalised_with_parameters_of_float32(dtype: Any) -> None:
    pyburn.manual_seed(0)
    x = pyburn.randn(4, 6, 5).to(dtype).requires_grad_()
    w, b = pyburn.randn(6, requires_grad=True), pyburn.randn(6)
    mean, var = pyburn.randn(6), pyburn.rand(6) + 0.5
    norms = [
        lambda t: F.batch_norm(t, mean.clone(), var.clone(), w, b, training=True),
        lambda t: F.batch_norm(t, mean, var, w, b),
        lambda t: F.group_norm(t, 3, w, b),
        lambda t: F.instance_norm(t, mean.clone(), var.clone(), w, b),
        lambda t: F.layer_norm(t.transpose(1, 2), (6,), w, b),
    ]
    for norm in norms:
        y, expected = norm(x), norm(x.float())
        assert y.dtype == dtype and pyburn.equal(y, expected.to(dtype))
        got = pyburn.autograd.grad(y.float().square().sum(), (x, w))
        wanted = pyburn.autograd.grad(expected.square().sum(), (x, w))
        assert got[0].dtype == dtype and got[1].dtype == pyburn.float32
        assert all(pyburn.allclose(g.float(), v.float(), rtol=0.05, atol=0.05) for g, v in zip(got, wanted))


def test_losses_look_at_the_values_of_their_inputs() -> None:
    one = pyburn.ones(2)
    for loss in (F.gaussian_nll_loss, nn.GaussianNLLLoss()):
        with pytest.raises(ValueError, match="var has negative entry"):
            loss(one, one, pyburn.tensor([1.0, -1.0]))
    for p in ([0.5, 1.5], [-0.1, 0.5], [math.nan, 0.5]):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            nn.BCELoss()(pyburn.tensor(p), one)
    assert F.binary_cross_entropy(pyburn.tensor([0.0, 1.0]), pyburn.tensor([0.0, 1.0])).item() == 0


def test_losses_with_such_checks_can_be_captured() -> None:
    class Loss(nn.Module):
        def forward(self, p: Any, target: Any) -> Any:
            return F.binary_cross_entropy(p, target) + F.gaussian_nll_loss(p, target, p)

    p, target = pyburn.tensor([0.25, 0.5]), pyburn.tensor([1.0, 0.0])
    assert pyburn.inference.compile(Loss(), p, target)(p, target).item() == pytest.approx(Loss()(p, target).item())


def test_bags_begin_with_the_input() -> None:
    weight, indices = pyburn.ones(5, 2), pyburn.tensor([0, 1, 2, 3])
    for offsets, place in (([1, 2], "0"), ([0, 5], "-1")):
        with pytest.raises(RuntimeError, match=rf"offsets\[{place}\]"):
            F.embedding_bag(indices, weight, pyburn.tensor(offsets))
    with pytest.raises(NotImplementedError, match="only supported for mode='sum'"):
        F.embedding_bag(indices, weight, pyburn.tensor([0]), mode="max", per_sample_weights=pyburn.ones(4))
    with pytest.raises(RuntimeError, match="padding_idx must be within the number of embeddings, -5 through 4"):
        F.embedding_bag(indices[None], weight, padding_idx=7)
    with pytest.raises(ValueError, match="input has to be 1D or 2D Tensor"):
        F.embedding_bag(indices[None, None], weight)


def test_options_of_linear_cross_entropy_are_a_dataclass() -> None:
    options = dataclasses.replace(nn.LinearCrossEntropyOptions(), acc_policy="compact")
    assert options.acc_policy == "compact" and options == nn.LinearCrossEntropyOptions(acc_policy="compact")
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.acc_policy = "auto"


def test_the_choice_of_attention_decorates() -> None:
    @nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH)
    def double(x: int) -> int:
        return 2 * x

    assert double(3) == 6


@pytest.mark.parametrize("dtype", [pyburn.float64, pyburn.float32, pyburn.float16, pyburn.bfloat16])
@pytest.mark.parametrize("keys", [3, 700])
def test_attention_passes_nan_on(dtype: Any, keys: int) -> None:
    q, k, v = (pyburn.randn(1, 1, n, 16).to(dtype) for n in (4, keys, keys))
    q[0, 0, 1, 3] = math.nan
    assert F.scaled_dot_product_attention(q, k, v).isnan().all(-1).tolist() == [[[False, True, False, False]]]
    for place in (0, keys - 1):
        spoiled = k.clone()
        spoiled[0, 0, place, 0] = math.nan
        assert F.scaled_dot_product_attention(q, spoiled, v).isnan().all()
    hidden = pyburn.zeros(4, keys, dtype=pyburn.bool)
    assert F.scaled_dot_product_attention(q, k, v, attn_mask=hidden).tolist() == pyburn.zeros_like(q).tolist()


def test_attention_without_features_is_a_mean() -> None:
    q, k, v = pyburn.zeros(1, 2, 3, 0), pyburn.zeros(1, 2, 5, 0), pyburn.randn(1, 2, 5, 4, requires_grad=True)
    g = pyburn.randn(1, 2, 3, 4)
    y = F.scaled_dot_product_attention(q.requires_grad_(), k.requires_grad_(), v)
    y.backward(g)
    assert pyburn.allclose(y, v.mean(2, keepdim=True).expand_as(y))
    assert pyburn.allclose(v.grad, (g.sum(2, keepdim=True) / 5).expand_as(v)) and q.grad.shape == q.shape


def test_norms_of_windows_without_a_bound() -> None:
    x = pyburn.tensor([[[1.0, -3.0, 2.0, 4.0]]])
    assert F.lp_pool1d(x, math.inf, 2, 1).tolist() == [[[3, 3, 4]]] and nn.LPPool1d(-math.inf, 2, 1)(x).tolist() == [[[1, 2, 2]]]
    for refused in (lambda: F.lp_pool1d(x, 0, 2), lambda: nn.LPPool1d(0, 2), lambda: nn.LPPool2d(0.0, 2), lambda: nn.LPPool3d(0, 2)):
        with pytest.raises(ValueError, match="norm_type must be a non-zero value"):
            refused()


def test_masks_and_offsets_of_the_wrong_shape() -> None:
    x = pyburn.ones(4, 4)
    with pytest.raises(AssertionError, match=r"Expected `attn_mask` shape to be \(4, 4, 4\)"):
        nn.MultiheadAttention(4, 4)(x, x, x, attn_mask=pyburn.ones(5, 4, 4))
    with pytest.raises(ValueError, match="offsets has to be a 1D Tensor"):
        F.embedding_bag(pyburn.tensor([0, 1]), x, pyburn.tensor([[0]]))
    with pytest.raises(AssertionError, match="padding_idx must be within num_embeddings"):
        nn.EmbeddingBag(5, 3, padding_idx=-7)
    for name, layer in (("RNN", nn.RNN), ("GRU", nn.GRU), ("LSTM", nn.LSTM)):
        with pytest.raises(ValueError, match="hidden_size must be greater than zero"):
            layer(10, 0)
        state = getattr(nn, f"{name}Cell")(10, 0)(pyburn.randn(3, 10))
        assert (state[0] if name == "LSTM" else state).shape == (3, 0)


def test_losses_with_margins_have_no_gradient_at_nan() -> None:
    x = pyburn.tensor([float("nan"), 1.0], requires_grad=True)
    loss = F.margin_ranking_loss(x, pyburn.zeros(2), -pyburn.ones(2), reduction="none")
    (gradient,) = pyburn.autograd.grad(loss.sum(), x)
    assert loss.isnan().tolist() == [True, False] and gradient.tolist() == [0, 1]


def test_normalisation_of_one_value_raises():
    with pytest.raises(ValueError, match="more than 1 spatial element"):
        F.instance_norm(pyburn.ones(2, 3, 1))
    with pytest.raises(ValueError, match="more than 1 spatial element"):
        nn.InstanceNorm2d(3)(pyburn.ones(2, 3, 1, 1))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.group_norm(pyburn.ones(1, 3), 3)
    assert nn.InstanceNorm1d(3, track_running_stats=True).eval()(pyburn.ones(2, 3, 1)).shape == (2, 3, 1)
    assert F.group_norm(pyburn.ones(2, 3), 3).shape == (2, 3)


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_a_target_that_is_broadcast_is_warned_of(loss):
    with pytest.warns(UserWarning, match="different to the input size"):
        getattr(F, loss)(pyburn.ones(2, 1), pyburn.ones(2))
    with pytest.warns(UserWarning, match="different to the input size"):
        nn.MSELoss()(pyburn.ones(2, 1), pyburn.ones(2))


def test_a_warning_can_be_made_an_error(recwarn):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="different to the input size"):
            nn.MSELoss()(pyburn.ones(2, 1), pyburn.ones(2))
    nn.MSELoss()(pyburn.ones(2), pyburn.zeros(2))
    assert not recwarn


def test_classes_may_be_bytes():
    scores = pyburn.randn(4, 5, requires_grad=True)
    classes = pyburn.tensor([0, 4, 2, 1])
    weight = pyburn.rand(5)
    for loss in (F.nll_loss, F.cross_entropy):
        (wanted,) = pyburn.autograd.grad(loss(scores, classes, weight), scores)
        got = loss(scores, classes.to(pyburn.uint8), weight)
        assert pyburn.equal(got, loss(scores, classes, weight))
        assert pyburn.equal(pyburn.autograd.grad(got, scores)[0], wanted)


def test_unfold_of_bools():
    image = pyburn.rand(2, 3, 4, 5) > 0.5
    got = F.unfold(image, 2, padding=1)
    assert got.dtype is pyburn.bool and pyburn.equal(got, F.unfold(image.float(), 2, padding=1) != 0)


def test_replicate_pad_that_cuts_off_everything_repeats_the_edge():
    x = pyburn.arange(8.0).reshape(1, 2, 4)
    assert F.pad(x, (-4, 5), mode="replicate").tolist() == [[[3.0] * 5, [7.0] * 5]]
    assert F.pad(x, (6, -5), mode="replicate").tolist() == [[[0.0] * 5, [4.0] * 5]]
    assert F.pad(x, (-1, 1), mode="replicate").tolist() == [[[1.0, 2.0, 3.0, 3.0], [5.0, 6.0, 7.0, 7.0]]]


def test_adaptive_max_pool_of_nothing_raises():
    with pytest.raises(RuntimeError, match="except for the batch"):
        nn.AdaptiveMaxPool2d(2)(pyburn.ones(1, 0, 3, 3))
    assert nn.AdaptiveMaxPool2d(2)(pyburn.ones(0, 1, 3, 3)).shape == (0, 1, 2, 2)


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_interpolation_by_lanczos(device):
    x = (pyburn.arange(30.0).reshape(1, 1, 5, 6) ** 1.5).to(device)
    wanted = [
        [3.9327502250671387, 7.325078964233398, 12.145256042480469, 17.44375228881836],
        [42.74441146850586, 50.69739532470703, 59.66343688964844, 68.46463775634766],
        [105.48277282714844, 115.98907470703125, 127.61808776855469, 138.82284545898438],
    ]  # torch.nn.functional.interpolate
    got = F.interpolate(x, (3, 4), mode="lanczos", antialias=True)[0, 0]
    assert pyburn.allclose(got.to("cpu"), pyburn.tensor(wanted), rtol=1e-5)


def test_lanczos_needs_antialias():
    x = pyburn.rand(1, 1, 4, 4, dtype=pyburn.float64, requires_grad=True)
    with pytest.raises(ValueError, match="needs antialias"):
        F.interpolate(x, 2, mode="lanczos")
    with pytest.raises(ValueError, match="align_corners"):
        F.interpolate(x, 2, mode="lanczos", antialias=True, align_corners=True)
    assert pyburn.autograd.gradcheck(lambda t: F.interpolate(t, (3, 6), mode="lanczos", antialias=True), x)


def test_attention_adds_no_bias_to_static_keys():
    x, w = pyburn.ones(3, 1, 4), pyburn.ones(12, 4)
    bias, fixed = pyburn.ones(1, 1, 4), pyburn.ones(2, 5, 2)
    arguments = (x, x, x, 4, 2, w, None, bias, bias, False, 0.0, pyburn.ones(4, 4), None)
    with pytest.raises(AssertionError, match="static key"):
        F.multi_head_attention_forward(*arguments, static_k=fixed, static_v=fixed)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.uint8])
def test_interpolate_keeps_channels_last(mode, dtype):
    x = (pyburn.rand(2, 3, 5, 6) * 255).to(dtype)
    y = F.interpolate(x.contiguous(memory_format=pyburn.channels_last), (7, 4), mode=mode)
    assert y.is_contiguous(memory_format=pyburn.channels_last) and not y.is_contiguous()
    assert pyburn.allclose(y.float(), F.interpolate(x, (7, 4), mode=mode).float(), rtol=1e-5)
    assert F.interpolate(x, (7, 4), mode=mode).is_contiguous()
    part = x.contiguous(memory_format=pyburn.channels_last)[:, :, 1:, ::2]
    assert F.interpolate(part, (7, 4), mode=mode).is_contiguous(memory_format=pyburn.channels_last)


def test_a_wide_pad_does_not_make_up_for_a_cut_that_is_too_deep() -> None:
    for pad in ((5, -4), (-4, 5)):
        with pytest.raises(pyburn.ShapeError, match="negative"):
            F.pad(pyburn.ones(1), pad)
    assert F.pad(pyburn.ones(2), (5, -1)).tolist() == [0, 0, 0, 0, 0, 1]
