"""Exported models give the same results in ONNX's reference evaluator and when they are imported again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import p_vision
import pyburn
import pyburn.nn.functional as F
from pyburn import nn
from pyburn.cli.main import main

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")


def run_reference(content: bytes, inputs: list[Any]) -> list[numpy.ndarray]:
    model = onnx.load_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    names = [x.name for x in model.graph.input]
    return reference.ReferenceEvaluator(model).run(None, {n: x.numpy() for n, x in zip(names, inputs, strict=True)})


def check(function: Callable[..., Any], *inputs: Any, tolerance: float = 1e-5, evaluated: bool = True, **options: Any) -> bytes:
    content = pyburn.onnx.export(function, inputs, **options)
    with pyburn.no_grad():
        expected = function(*inputs)
    expected = [expected] if isinstance(expected, pyburn.Tensor) else list(expected)
    with pyburn.no_grad():
        imported = pyburn.onnx.load(content)(*inputs)
    results = [[x.numpy() for x in (imported if isinstance(imported, tuple) else (imported,))]]
    if evaluated:
        results.append(run_reference(content, list(inputs)))
    for result in results:
        for ours, theirs in zip(expected, result, strict=True):
            assert ours.numpy().dtype == theirs.dtype and ours.shape == theirs.shape
            numpy.testing.assert_allclose(theirs, ours.numpy(), rtol=tolerance, atol=tolerance)
    return content


def t(*shape: int, dtype: Any = None) -> Any:
    pyburn.manual_seed(sum(shape))
    x = pyburn.randn(*shape) * 2
    return x if dtype is None else x.to(dtype)


def positive(*shape: int) -> Any:
    return t(*shape).abs() + 0.5


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "arithmetic": (lambda x, y: (x + y * 2 - 1) / (y.abs() + 1) - x, (t(2, 3), t(2, 3))),
    "scalars": (lambda x: 2 - x / 3 + 5**x, (t(2, 3),)),
    "broadcast": (lambda x, y: x * y + x.exp(), (t(2, 1, 3), t(4, 1))),
    "broadcast both": (lambda x, y: pyburn.maximum(x, y), (t(3, 1), t(1, 4))),
    "comparisons": (lambda x, y: ((x > y) | (x <= -1)) & ~(x == y) ^ (y != 0), (t(2, 3), t(2, 3))),
    "where": (lambda x: pyburn.where(x > 0, x, 0.1 * x) + pyburn.where(x > 1, 1.0, -1.0), (t(2, 3),)),
    "integers": (lambda x: (x // 3, x % 3, x.fmod(3), x - 1), (pyburn.arange(-7, 7),)),
    "floor division": (lambda x: (x // 0.7, x % 0.7, x.fmod(0.7)), (t(3, 4),)),
    "roots and logarithms": (
        lambda x: x.sqrt() + x.rsqrt() + x.log() + x.log2() + x.log10() + x.log1p() + x.expm1() + x.exp2(),
        (positive(2, 3),),
    ),
    "trigonometry": (lambda x: x.sin() + x.cos() + x.tan() + x.atan() + x.sinh() + x.cosh() + x.tanh() + x.asinh(), (t(2, 3),)),
    "rounding": (lambda x: (x.round(), x.floor(), x.ceil(), x.trunc(), x.sign(), x.round(decimals=1)), (t(3, 3),)),
    "clamp": (lambda x: x.clamp(-1, 1) + x.clamp(min=0) + x.clamp(max=0.5), (t(3, 3),)),
    "special numbers": (
        lambda x: (x.nan_to_num(1, 2, 3), x.isinf(), x.isfinite()),
        (pyburn.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),),
    ),
    "products": (
        lambda x, y, z: pyburn.addcmul(x, y, z, value=0.5) + pyburn.addcdiv(x, y, z.abs() + 1) + pyburn.lerp(x, y, 0.3),
        (t(2, 2), t(2, 2), t(2, 2)),
    ),
    "casts": (lambda x: (x.to(pyburn.int32), x.double(), x > 0, x.half().float()), (t(2, 3),)),
    "relus": (lambda x: x.relu() + F.leaky_relu(x, 0.2) + F.relu6(x) + F.hardtanh(x) + F.hardswish(x) + F.hardsigmoid(x), (t(3, 3),)),
    "exponential units": (
        lambda x: F.elu(x, 0.5) + F.selu(x) + F.celu(x, 0.7) + F.silu(x) + F.mish(x) + F.softplus(x, 2) + F.logsigmoid(x),
        (t(3, 3),),
    ),
    "gelu": (lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"), (t(3, 3),)),
    "shrinking": (lambda x: F.softshrink(x) + F.hardshrink(x) + F.threshold(x, 0.5, -1.0) + F.tanhshrink(x) + F.softsign(x), (t(3, 3),)),
    "views": (lambda x: (x.reshape(6, 4), x.permute(2, 0, 1), x[:, 1:, ::2], x[1], x[..., None], x[:1].squeeze(0)), (t(2, 3, 4),)),
    "diagonals and windows": (lambda x: (x.diagonal(), x.unfold(0, 2, 1), x.flip(0, 1), x.tril(), x.triu(1), x.roll(1, 0)), (t(4, 4),)),
    "joining": (lambda x, y: (pyburn.cat([x, y], 1), pyburn.stack([x, x]), x.repeat(2, 3), x.expand(4, 2, 3)), (t(2, 3), t(2, 2))),
    "padding": (
        lambda x: (
            F.pad(x, (1, 2)),
            F.pad(x, (1, 1, 2, 0), value=3.0),
            F.pad(x, (1, 2), mode="reflect"),
            F.pad(x, (2, 1), mode="replicate"),
        ),
        (t(1, 2, 4),),
    ),
    "split": (lambda x: x.split(2, 1)[1] + x.chunk(2, 1)[0], (t(3, 4),)),
    "reductions": (lambda x: (x.sum(), x.mean(1), x.prod(0), x.amax((0, 2)), x.amin(1, keepdim=True), x.logsumexp(1)), (t(2, 3, 4),)),
    "moments": (lambda x: (x.var(1), x.std(0, unbiased=False), x.norm(), x.norm(1, dim=1), x.norm(3, dim=0)), (t(3, 4),)),
    "truth": (lambda x: ((x > 0).any(1), (x > -5).all(), (x > 0).sum(), x.count_nonzero(0)), (t(3, 4),)),
    "extrema": (lambda x: (*x.max(1), *x.min(0), x.argmax(), x.argmin(1, keepdim=True)), (t(3, 4),)),
    "sorting": (lambda x: (*x.sort(1), *x.topk(2, 1), *x.sort(0, descending=True)), (t(3, 5),)),
    "cumsum": (lambda x: x.cumsum(1), (t(3, 4),)),
    "softmax": (lambda x: (x.softmax(1), x.log_softmax(0)), (t(3, 4),)),
    "gather": (
        lambda x, i: (x.gather(1, i), x.index_select(0, i[0]), x.scatter(1, i, x * 2), x.scatter_add(1, i, x)),
        (t(3, 3), pyburn.tensor([[0, 2, 1], [1, 0, 2], [2, 1, 0]])),
    ),
    "indices": (lambda x, i, j: (x[i], x[:, i], x[i, j], x[:, i, j]), (t(3, 3, 3), pyburn.tensor([0, 2, -1]), pyburn.tensor([[1], [0]]))),
    "writes": (lambda x: _written(x), (t(3, 4),)),
    "creation": (lambda x: x + pyburn.arange(3) + pyburn.ones(2, 3) * pyburn.linspace(0, 1, 3) + pyburn.full((2, 1), 2.0), (t(2, 3),)),
    "matrix products": (lambda x, y: (x @ y, x @ y[0], x[0] @ y[0], pyburn.einsum("bij,bjk->ik", x, y)), (t(2, 3, 4), t(2, 4, 5))),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (t(1, 2, 3, 4), t(1, 2, 5, 4), t(1, 2, 5, 4))),
    "causal attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (t(2, 2, 4, 8),)),
    "masked attention": (lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m > 0), (t(1, 2, 4, 8), pyburn.eye(4)[None, None])),
    "resize": (
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, (7, 5), mode="bilinear"),
            F.interpolate(x, (7, 9), mode="bilinear", align_corners=True),
        ),
        (t(1, 2, 4, 5),),
    ),
    "resize otherwise": (
        lambda x: (F.interpolate(x, (7, 6), mode="nearest-exact"), F.interpolate(x, (2, 3), mode="bilinear", antialias=True)),
        (t(1, 2, 4, 5),),
    ),
    "decompositions": (lambda x: (F.gelu(x).var(1), pyburn.cdist(x, x), F.layer_norm(x, (4,)).logsumexp(0)), (t(3, 4),)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False), (t(1, 2, 4, 5), t(1, 3, 3, 2))),
    "nonzero": (lambda x: (x > 0).nonzero(), (t(3, 3),)),
}


def _written(x: Any) -> Any:
    y = x * 1
    y[0] = 7
    y[:, 1:3] += 2
    view = y.t()
    view[3].zero_()
    return y, view.sum(0), y.relu_() + 1


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    function, inputs = CASES[name]
    check(function, *inputs)


@pytest.mark.parametrize("opset", [17, 18, 23])
@pytest.mark.parametrize("name", ["reductions", "moments", "gelu", "resize", "causal attention", "views", "attention"])
def test_other_opsets(name: str, opset: int) -> None:
    function, inputs = CASES[name]
    content = check(function, *inputs, opset=opset)
    assert onnx.load_from_string(content).opset_import[0].version == opset


LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), (2, 4)),
    "Linear of 3-d": (lambda: nn.Linear(4, 3, bias=False), (2, 5, 4)),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3, padding=1, stride=2), (2, 2, 9)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, padding=(1, 2), stride=2, dilation=2, groups=2), (2, 4, 9, 8)),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2), (1, 1, 3, 4, 4)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 3, 3, stride=2), (2, 2, 5)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (1, 4, 5, 5)),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), (1, 2, 7, 8)),
    "MaxPool1d": (lambda: nn.MaxPool1d(2, ceil_mode=True), (2, 7)),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 2, 7, 8)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(1), (1, 2, 7, 8)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d((2, 3)), (1, 2, 4, 6)),
    "BatchNorm2d": (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), (2, 2, 5, 5)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (4, 3)),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4)), (2, 3, 4)),
    "LayerNorm without weight": (lambda: nn.LayerNorm(4, elementwise_affine=False), (2, 3, 4)),
    "RMSNorm": (lambda: nn.RMSNorm(4, eps=1e-3), (2, 3, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 6), (2, 6, 3, 3)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)),
    "PReLU": (lambda: nn.PReLU(3), (2, 3, 4)),
    "GLU": (lambda: nn.GLU(), (2, 6)),
    "Dropout": (lambda: nn.Dropout(), (2, 6)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (1, 8, 3, 3)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
}


# The evaluator does not know groups here.
NOT_EVALUATED = {"ConvTranspose2d"}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    make, shape = LAYERS[name]
    pyburn.manual_seed(1)
    check(make().eval(), t(*shape), tolerance=2e-5, evaluated=name not in NOT_EVALUATED)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers(kind: str, bidirectional: bool) -> None:
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=bidirectional, batch_first=True)

    def states(x: Any) -> Any:
        y, state = layer(x)
        return (y, *state) if kind == "LSTM" else (y, state)

    check(states, t(2, 5, 3))


def test_embedding() -> None:
    check(nn.Embedding(5, 3), pyburn.tensor([[0, 4], [2, 2]]))


def test_parameters_keep_their_names() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    parsed = onnx.load_from_string(pyburn.onnx.export(model, t(1, 4)))
    assert {x.name for x in parsed.graph.initializer} == set(model.state_dict())


def test_names_and_dynamic_axes() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    content = pyburn.onnx.export(
        model, t(2, 3, 8, 8), input_names=["image"], output_names=["scores"], dynamic_axes={"image": {0: "batch"}, "scores": {0: "batch"}}
    )
    parsed = onnx.load_from_string(content)
    assert parsed.graph.input[0].name == "image" and parsed.graph.output[0].name == "scores"
    sizes = parsed.graph.input[0].type.tensor_type.shape.dim
    assert sizes[0].dim_param == "batch" and [d.dim_value for d in sizes[1:]] == [3, 8, 8]
    for batch in (1, 5):
        x = t(batch, 3, 8, 8)
        numpy.testing.assert_allclose(run_reference(content, [x])[0], model(x).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_several_free_extents() -> None:
    def function(x: Any, y: Any) -> Any:
        z = pyburn.cat([x, y], 1)
        return z.reshape(-1, z.shape[2]), z[:, x.shape[1] - 1], z.transpose(0, 1).reshape(z.shape[1], -1)

    axes = {"input0": {0: "batch", 1: "left"}, "input1": {0: "batch", 1: "right"}}
    content = pyburn.onnx.export(function, [t(2, 3, 4), t(2, 5, 4)], dynamic_axes=axes)
    for batch, left, right in ((2, 3, 5), (1, 1, 7), (4, 2, 2)):
        x, y = t(batch, left, 4), t(batch, right, 4)
        for theirs, ours in zip(run_reference(content, [x, y]), function(x, y), strict=True):
            numpy.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-5)


def test_external_data(tmp_path: Any) -> None:
    model = nn.Linear(40, 30)
    pyburn.onnx.export(model, t(1, 40), tmp_path / "model.onnx", external_data=True)
    assert (tmp_path / "model.onnx.data").stat().st_size >= 40 * 30 * 4 and (tmp_path / "model.onnx").stat().st_size < 2000
    parsed = onnx.load(tmp_path / "model.onnx")
    x = t(1, 40)
    (y,) = reference.ReferenceEvaluator(parsed).run(None, {"input0": x.numpy()})
    numpy.testing.assert_allclose(y, model(x).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_training_mode_is_restored() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).train()
    model[0].eval()
    pyburn.onnx.export(model, t(1, 2))
    assert model.training and model[1].training and not model[0].training


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="at least one example"):
        pyburn.onnx.export(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="opset must be from 17 to 23: got 3"):
        pyburn.onnx.export(nn.Linear(2, 2), t(1, 2), opset=3)
    with pytest.raises(ValueError, match="expected 1 input names: got 2"):
        pyburn.onnx.export(nn.Linear(2, 2), t(1, 2), input_names=["a", "b"])
    with pytest.raises(ValueError, match="names must be unique: got 'a' twice"):
        pyburn.onnx.export(nn.Linear(2, 2), t(1, 2), input_names=["a"], output_names=["a"])
    with pytest.raises(ValueError, match="neither an input nor an output: got 'z'"):
        pyburn.onnx.export(nn.Linear(2, 2), t(1, 2), output_names=["y"], dynamic_axes={"z": [0]})
    with pytest.raises(ValueError, match="external_data needs a path"):
        pyburn.onnx.export(nn.Linear(2, 2), t(1, 2), external_data=True)


def test_branches_are_not_exported_yet() -> None:
    with pytest.raises(pyburn.UnsupportedOp, match="cond: no operator of ONNX does this"):
        pyburn.onnx.export(lambda x: pyburn.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,)), t(3))


def test_everything_that_cannot_be_exported_is_named() -> None:
    with pytest.raises(pyburn.UnsupportedOp, match=r"(?s)igamma.*special_zeta"):
        pyburn.onnx.export(lambda x: pyburn.special.zeta(x, x) + pyburn.special.gammainc(x, x), positive(2))


def test_torch_onnx_export_of_compat(tmp_path: Any) -> None:
    program = """
import io, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
    def forward(self, x, scale=1.0):
        return self.fc(x) * scale
net = Net()
torch.onnx.export(net, (torch.ones(1, 3),), "plain.onnx", dynamic_axes={"x": {0: "batch"}}, opset_version=18, verbose=False)
torch.onnx.export(net, (torch.ones(1, 3),), "scaled.onnx", kwargs={"scale": 2.0}, input_names=["x"])
stream = io.BytesIO()
torch.onnx.export(net, torch.ones(1, 3), stream)
open("stream.onnx", "wb").write(stream.getvalue())
"""
    (tmp_path / "program.py").write_text(program)
    subprocess.run([sys.executable, "-m", "pyburn.compat", "program.py"], cwd=tmp_path, check=True)
    x = t(1, 3)
    plain, scaled, stream = (pyburn.onnx.load(tmp_path / f"{name}.onnx") for name in ("plain", "scaled", "stream"))
    assert plain.inputs[0].name == "x" and {"fc.weight", "fc.bias"} <= set(plain.state_dict())
    assert pyburn.allclose(scaled(x), plain(x) * 2) and pyburn.allclose(stream(x), plain(x))


def test_command_line(tmp_path: Any, capsys: Any) -> None:
    model = nn.Linear(3, 2)
    pyburn.onnx.export(model, t(1, 3), tmp_path / "m.onnx", input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "batch"}})
    pyburn.io.save_npy(tmp_path / "x.npy", pyburn.ones(2, 3))
    file = str(tmp_path / "m.onnx")
    assert main(["onnx", "info", file]) == 0 and "x: float32 [batch, 3]" in capsys.readouterr().out
    assert main(["onnx", "check", file]) == 0 and "1 nodes, all supported" in capsys.readouterr().out
    assert main(["onnx", "run", file, "--input", f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "out"), "--runs", "2"]) == 0
    assert "(2, 2)" in capsys.readouterr().out
    assert pyburn.allclose(pyburn.io.load_npy(tmp_path / "out" / "y.npy"), model(pyburn.ones(2, 3)).detach())
    assert main(["onnx", "run", file, "--size", "batch=4"]) == 0 and "(4, 2)" in capsys.readouterr().out
    assert main(["onnx", "run", file, "--input", "z=x.npy"]) == 1 and "no input 'z': its inputs are x" in capsys.readouterr().err
    assert main(["onnx", "info", "absent.onnx"]) == 1 and "no such file" in capsys.readouterr().err


def test_p_vision_trains_an_imported_model() -> None:
    network = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    model = p_vision.load_onnx(pyburn.onnx.export(network, t(1, 4), dynamic_axes={"input0": {0: "batch"}}), backend="NdArray")
    x = t(64, 4)
    y = (x[:, 0] > 0).long()
    model.compile(optimizer=p_vision.optimizers.Adam(0.01), loss=p_vision.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(x, y, epochs=10, batch_size=16, verbose=0)
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
    assert model.predict(x[:3], verbose=0).shape == (3, 2)
