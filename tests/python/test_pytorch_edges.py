"""Answers at the edges where PyTorch's own suites look: errors, warnings, dtypes and `out=`."""

from __future__ import annotations

import pickle

import pytest

import pyburn
from pyburn import nn
from pyburn.nn import functional as F
from pyburn.nn.utils import parametrizations, parametrize


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


def test_cosine_similarity_promotes_integers():
    y = F.cosine_similarity(pyburn.tensor([[3, 4]], dtype=pyburn.int8), pyburn.tensor([[3.0, 4.0]]))
    assert y.dtype is pyburn.float32 and y.item() == pytest.approx(1.0)


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
    with pytest.raises(RuntimeError, match="but for the batch"):
        nn.AdaptiveMaxPool2d(2)(pyburn.ones(1, 0, 3, 3))
    assert nn.AdaptiveMaxPool2d(2)(pyburn.ones(0, 1, 3, 3)).shape == (0, 1, 2, 2)


def test_randint_may_ask_for_a_gradient():
    assert pyburn.randint(0, 5, (3,), dtype=pyburn.float32, requires_grad=True).requires_grad
    assert not pyburn.randint(5, (3,), requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="floating"):
        pyburn.randint(5, (3,), requires_grad=True)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (pyburn.linalg.norm, (pyburn.ones(3, 3),)),
        (pyburn.linalg.matrix_norm, (pyburn.ones(3, 3),)),
        (pyburn.linalg.cross, (pyburn.eye(3), pyburn.ones(3, 3))),
        (pyburn.linalg.cond, (2 * pyburn.eye(3),)),
        (pyburn.linalg.tensorinv, (pyburn.eye(4).reshape(2, 2, 2, 2),)),
        (pyburn.linalg.tensorsolve, (pyburn.eye(4).reshape(2, 2, 2, 2), pyburn.ones(2, 2))),
        (pyburn.linalg.householder_product, (pyburn.eye(3), pyburn.zeros(3))),
        (pyburn.linalg.lu_solve, (*pyburn.linalg.lu_factor(2 * pyburn.eye(3)), pyburn.ones(3, 1))),
        (pyburn.lu_solve, (pyburn.ones(3, 1), *pyburn.linalg.lu_factor(2 * pyburn.eye(3)))),
    ],
)
def test_out_of_linear_algebra(function, args):
    wanted, out = function(*args), pyburn.empty(0)
    assert function(*args, out=out) is out
    assert pyburn.equal(out, wanted)


def test_broadcast_shapes_of_something_else():
    with pytest.raises(RuntimeError, match="should be of type ints"):
        pyburn.broadcast_shapes(1.0)


def test_weight_norm_can_be_pickled():
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    again = pickle.loads(pickle.dumps(layer))
    assert pyburn.equal(again.weight, layer.weight)
    older = nn.utils.weight_norm(nn.Linear(3, 2))
    again.load_state_dict(older.state_dict())
    assert pyburn.allclose(again.weight, older.weight)


def test_a_right_inverse_may_not_change_the_device():
    class Elsewhere(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x.to("null")

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the device"):
        parametrize.register_parametrization(layer, "weight", Elsewhere())
    assert not parametrize.is_parametrized(layer)


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


def test_a_stream_that_is_longer_than_it_says_warns_each_time():
    class Stream(pyburn.utils.data.IterableDataset):
        def __len__(self):
            return 1

        def __iter__(self):
            return iter(range(3))

    loader = pyburn.utils.data.DataLoader(Stream())
    batches = iter(loader)
    assert len(loader) == 1 and next(batches).item() == 0
    for _ in range(2):
        with pytest.warns(UserWarning, match="Length of IterableDataset"):
            next(batches)


def test_loading_into_a_number_and_into_nothing():
    class Threshold(nn.Module):
        def __init__(self):
            super().__init__()
            self.threshold = nn.Parameter(pyburn.tensor(0.0))

    module = Threshold()
    with pytest.raises(RuntimeError, match="size mismatch for threshold"):
        module.load_state_dict({"threshold": pyburn.randn(3)})
    module.load_state_dict({"threshold": pyburn.tensor([2.0])})
    assert module.threshold.item() == 2.0
    empty = Threshold().to("null")
    with pytest.warns(UserWarning, match="for threshold: copying from a non-meta parameter"):
        empty.load_state_dict(module.state_dict())
    empty.load_state_dict(module.state_dict(), assign=True)
    assert empty.threshold.item() == 2.0


def test_adamw_stays_adamw_with_a_state_of_adam():
    weight = nn.Parameter(pyburn.ones(2))
    adamw = pyburn.optim.AdamW([weight])
    adamw.load_state_dict(pyburn.optim.Adam([weight], lr=0.5).state_dict())
    assert adamw.param_groups[0]["decoupled_weight_decay"] is True and adamw.param_groups[0]["lr"] == 0.5


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


def test_a_tensor_without_axes_stands_for_a_number():
    x, limit, two = pyburn.tensor([-1.0, 0.5, 4.0]), pyburn.tensor(2.0), pyburn.tensor(2)
    assert pyburn.clamp(x, 0, limit).tolist() == [0.0, 0.5, 2.0]
    assert x.clamp(min=limit, max=3).tolist() == [2.0, 2.0, 3.0]
    assert x.clone().clamp_(0, limit).tolist() == [0.0, 0.5, 2.0]
    assert pyburn.clamp(pyburn.arange(4), 0, pyburn.tensor(1.5)).dtype == pyburn.float32
    assert pyburn.norm(pyburn.tensor([3.0, 4.0]), limit).item() == pytest.approx(5.0)
    assert [part.tolist() for part in pyburn.split(x, two)] == [[-1.0, 0.5], [4.0]]
    assert pyburn.normal(0, limit, (2,)).shape == (2,)
    assert pyburn.randint(0, two, (3,)).shape == (3,)
    with pytest.raises(TypeError, match="no form"):  # its gradient would be lost
        pyburn.clamp(x, 0, pyburn.tensor(2.0, requires_grad=True))
    with pytest.raises(TypeError, match="no form"):
        pyburn.clamp(x, 0, pyburn.tensor([2.0]))


def test_tensors_as_older_scripts_make_them():
    x = pyburn.ones(2, dtype=pyburn.float64)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1.0, 2.0] and x.new([1]).dtype == pyburn.float64
    assert x.new(pyburn.tensor([1.5])).dtype == pyburn.float64 and x.new().shape == (0,)
    assert x.type(pyburn.float32).dtype == pyburn.float32 and x.type() == "pyburn.DoubleTensor"
    with pytest.raises((TypeError, RuntimeError)):
        x.type("torch.NoTensor")


@pytest.mark.parametrize("device", ["cpu", "fusion(cpu)"])
def test_a_condition_of_bytes_is_taken_with_a_warning(device):
    condition, x = pyburn.tensor([1, 0, 2], dtype=pyburn.uint8, device=device), pyburn.ones(3, device=device, requires_grad=True)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        y = pyburn.where(condition, x, 0.0)
    assert y.tolist() == [1, 0, 1]
    y.sum().backward()
    assert x.grad.tolist() == [1, 0, 1]
    with pytest.warns(UserWarning, match="uint8"):
        assert x.where(condition, pyburn.zeros(3, device=device)).tolist() == [1, 0, 1]
    for dtype in (pyburn.int8, pyburn.int64, pyburn.float32):
        with pytest.raises(RuntimeError, match="boolean"):
            pyburn.where(condition.to(dtype), x, 0.0)
    with pytest.raises(RuntimeError, match="boolean mask"):
        x.masked_fill(condition, 2.0)


@pytest.mark.parametrize("function", [pyburn.linalg.norm, pyburn.linalg.vector_norm, pyburn.sum, pyburn.logsumexp, pyburn.amax])
def test_numpys_names_of_arguments(function):
    x = pyburn.arange(6.0).reshape(2, 3)
    expected = function(x, dim=1, keepdim=True)
    assert function(x, axis=1, keepdims=True).equal(expected) and expected.shape == (2, 1)
    if function is not pyburn.linalg.vector_norm:  # PyTorch calls its tensor x itself
        assert function(x=x, axis=1, keepdims=True).equal(expected) and function(a=x, dim=1, keepdim=True).equal(expected)
    for wrong in ({"dim": 1, "axis": 1}, {"axis": 1, "along": 1}, {"input": x, "x": x}):
        with pytest.raises(TypeError):
            function(*() if "x" in wrong else (x,), **wrong)


def test_numpys_names_of_arguments_of_functions_in_python():
    x = pyburn.arange(9.0).reshape(3, 3)
    assert pyburn.linalg.matrix_norm(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    assert pyburn.linalg.cross(x, x2=x + 1, axis=1).equal(pyburn.linalg.cross(x, x + 1, dim=1))
    assert x.size(axis=1) == 3 and x.stride(axis=0) == 3
