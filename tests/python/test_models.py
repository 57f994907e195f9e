"""The models of p_vision and of examples/models: names, shapes and answers as recorded from PyTorch's (tools/make_model_goldens.py)."""

from __future__ import annotations

import doctest
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision
import pyburn
from p_vision import models
from pyburn import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from model_cases import CASES, TORCHVISION, Case, labels, loss, sampled, weight
from silero_weights import onnx_weights

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DATA = os.environ.get("PYBURN_DATA")
SMALL = ["mobilenet_v3_small", "eegnet_constrained", "lstm_tagger", "gpt2_tiny", "bert_tiny", "unet_bilinear"]


def golden(name: str) -> dict[str, Any]:
    return json.loads(gzip.decompress((ROOT / "tests" / "golden" / "models" / name).read_bytes()))


ANSWERS = golden("answers.json.gz")


def example(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def builder(case: Case) -> Any:
    if case.source == "transformers":
        return getattr(example("models/gpt2.py" if case.builder.startswith("GPT2") else "models/bert.py"), case.builder)
    if "/" in case.source:
        return getattr(importlib.import_module(case.source.removesuffix(".py").replace("/", ".")), case.builder)
    return getattr(models if case.source == "torchvision" else example(f"models/{case.source}"), case.builder)


def fill(model: Any) -> None:
    """Gives a model the weights that its parameters' names say, one after another."""
    with pyburn.no_grad():
        for name, tensor in model.state_dict().items():
            if name != "lm_head.weight":  # it is that of the embedding
                tensor.copy_(pyburn.from_numpy(weight(name, tensor.shape)).to(tensor.device))


def filled(name: str) -> Any:
    case = CASES[name]
    options = case.options | ({"init_weights": False} if case.builder in ("googlenet", "inception_v3") else {})
    make = builder(case)
    model = nn.utils.skip_init(make, **options) if isinstance(make, type) else make(**options)
    fill(model)
    return model


def answer(model: Any, case: Case, dtype: pyburn.DType = pyburn.float32) -> Any:
    inputs = (pyburn.from_numpy(x) for x in case.inputs)
    output = model(*(x.to(dtype) if x.is_floating_point() else x for x in inputs))
    return output.pooler_output if hasattr(output, "pooler_output") else output


def shapes(model: Any) -> list[list[Any]]:
    return [[name, list(tensor.shape)] for name, tensor in model.state_dict().items()]


@pytest.mark.parametrize("name", TORCHVISION)
def test_parameters_have_the_names_and_shapes_of_torchvision(name: str) -> None:
    with pyburn.device("null"):
        model = models.get_model(name)
    assert shapes(model) == golden("shapes.json.gz")[name]


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_pytorch(name: str) -> None:
    case, recorded = CASES[name], ANSWERS[name]
    model = filled(name).eval()
    assert shapes(model) == recorded["state"]
    with pyburn.no_grad():
        output = answer(model, case)
    assert list(output.shape) == recorded["shape"]
    np.testing.assert_allclose(sampled(output.numpy()), recorded["output"], rtol=0, atol=1e-4 * recorded["scale"])
    if "generated" in recorded:
        assert model.generate(pyburn.from_numpy(case.inputs[0]), 6).tolist() == recorded["generated"]


# Rounding turns gradients on or off where a rectifier is near zero: in float32 a few norms move by thousandths.
@pytest.mark.parametrize(("dtype", "tolerance"), [(pyburn.float64, 2e-4), (pyburn.float32, 5e-3)], ids=["float64", "float32"])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.train])
def test_a_training_step_is_that_of_pytorch(name: str, dtype: pyburn.DType, tolerance: float) -> None:
    case, recorded = CASES[name], ANSWERS[name]
    model = filled(name).to(dtype).train()
    target = pyburn.from_numpy(labels(case, recorded["shape"][-1]))
    optimizer = pyburn.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    before = loss(answer(model, case, dtype), target, nn.functional)
    before.backward()
    norms = {key: p.grad.norm().item() for key, p in model.named_parameters()}
    optimizer.step()
    after = loss(answer(model, case, dtype), target, nn.functional)
    assert before.item() == pytest.approx(recorded["loss"], rel=1e-5)
    assert norms == pytest.approx(recorded["gradients"], rel=tolerance, abs=1e-5 * max(recorded["gradients"].values()))
    assert after.item() == pytest.approx(recorded["next_loss"], rel=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_summary(name: str) -> None:
    case = CASES[name]
    with pyburn.device("null"):
        model = builder(case)(**case.options)
        inputs = tuple(pyburn.zeros(*x.shape, dtype=pyburn.float32 if x.dtype == np.float32 else pyburn.int64) for x in case.inputs)
        found = pyburn.summary(model, inputs)
    assert found.total_params == sum(p.numel() for p in model.parameters())
    assert found.total_mult_adds > 0
    assert model.training and len(str(found).splitlines()) > 5


@pytest.mark.parametrize("name", SMALL)
def test_models_run_fused_and_compiled(name: str) -> None:
    case, recorded = CASES[name], ANSWERS[name]
    model = filled(name).eval()
    inputs = tuple(pyburn.from_numpy(x) for x in case.inputs)
    compiled = pyburn.inference.compile(model, *inputs)(*inputs)
    model.to("fusion(cpu)")
    with pyburn.no_grad():
        fused = model(*(x.to("fusion(cpu)") for x in inputs))
    for output in (compiled, fused):
        last = output if isinstance(output, pyburn.Tensor) else output[-1]
        np.testing.assert_allclose(sampled(last.numpy()), recorded["output"], rtol=0, atol=1e-4 * recorded["scale"])


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
@pytest.mark.parametrize("name", SMALL)
def test_state_goes_through_files(name: str, suffix: str, tmp_path: Path) -> None:
    model = filled(name).eval()
    path = tmp_path / f"model.{suffix}"
    if suffix == "pt":
        pyburn.save(model.state_dict(), path)
    else:
        pyburn.io.save_module(model, path)
    fresh = builder(CASES[name])(**CASES[name].options).eval()
    if suffix == "pt":
        fresh.load_state_dict(pyburn.load(path))
    else:
        pyburn.io.load_into(fresh, path)
    with pyburn.no_grad():
        assert pyburn.equal(answer(fresh, CASES[name]), answer(model, CASES[name]))


# --- p_vision ------------------------------------------------------------------------------------------------------------


def test_models_are_listed_and_loaded_when_asked_for() -> None:
    assert set(TORCHVISION) | {"unet"} == set(models.list_models())
    assert models.list_models("vit_b*") == ["vit_b_16", "vit_b_32"]
    with pytest.raises(ValueError, match=r"Unknown model no_net: there are alexnet"):
        models.get_model("no_net")
    with pytest.raises(ValueError, match=r"Unknown model resnet_18; did you mean 'resnet18'"):
        models.get_model("resnet_18")
    program = "import sys, p_vision.models; print(sorted(name for name in sys.modules if name.startswith('p_vision.models.')))"
    found = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert found.strip() == "['p_vision.models.building']"


def test_inception_v3_has_a_second_head_in_training() -> None:
    model = models.inception_v3(num_classes=4)
    logits, aux = model(pyburn.rand(2, 3, 299, 299))
    assert logits.shape == aux.shape == (2, 4) and model.eval()(pyburn.rand(1, 3, 80, 80)).shape == (1, 4)
    state = model.state_dict()
    loaded = models.inception_v3(weights=state, num_classes=4)
    assert loaded.transform_input and shapes(loaded) == shapes(model)
    without = models.inception_v3(weights=state, num_classes=4, aux_logits=False).train()
    assert without.AuxLogits is None and without(pyburn.rand(2, 3, 80, 80)).shape == (2, 4)


def test_keys_of_swin_v2_have_no_bias() -> None:
    model = models.swin_transformer.SwinTransformer(
        [4, 4], 8, [2, 2], [2, 4], [4, 4], block=models.swin_transformer.SwinTransformerBlockV2, num_classes=3
    )
    with pyburn.no_grad():
        for layer in model.modules():
            if isinstance(layer, models.swin_transformer.ShiftedWindowAttentionV2):
                assert layer.qkv.bias.chunk(3)[1].abs().sum() == 0
                layer.qkv.bias.fill_(0.5)
    model(pyburn.rand(1, 3, 32, 32)).sum().backward()
    queries, keys, values = model.features[1][0].attn.qkv.bias.grad.chunk(3)
    assert keys.abs().max() == 0 and values.abs().max() > 0 and model.features[1][0].attn.qkv.bias.min() == 0.5


def test_densenet_reads_the_names_of_published_checkpoints() -> None:
    model = models.densenet121(num_classes=3)
    old = {re.sub(r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", name): tensor for name, tensor in model.state_dict().items()}
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    found = models.densenet121(weights=old, num_classes=3).state_dict()
    assert all(pyburn.equal(tensor, found[name]) for name, tensor in model.state_dict().items())


def test_weights_from_a_file(tmp_path: Path) -> None:
    model = filled("mobilenet_v3_small")
    pyburn.save(model.state_dict(), tmp_path / "weights.pth")
    pyburn.io.save_module(model, tmp_path / "weights.safetensors")
    for weights in (tmp_path / "weights.pth", str(tmp_path / "weights.safetensors"), model.state_dict()):
        found = models.mobilenet_v3_small(weights=weights, progress=False).state_dict()
        assert all(pyburn.equal(tensor, found[name]) for name, tensor in model.state_dict().items())
    with pytest.raises(FileNotFoundError, match="No weights are downloaded"):
        models.mobilenet_v3_small(weights="IMAGENET1K_V1")
    with pytest.raises(TypeError, match="No weights are downloaded"):
        models.mobilenet_v3_small(weights=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no weights are downloaded"):
        models.mobilenet_v3_small(pretrained=True)
    with pytest.raises(RuntimeError, match=r"size mismatch for classifier\.3\.weight"):
        models.mobilenet_v3_small(weights=model.state_dict(), num_classes=10)


def test_googlenet_with_weights_has_no_heads_unless_asked() -> None:
    with pyburn.device("null"):
        state = models.googlenet().state_dict()
        plain = models.googlenet(weights=state)
        assert plain.aux1 is None and plain.transform_input and not plain.aux_logits
        assert models.googlenet(weights=state, aux_logits=True, transform_input=False).aux2 is not None
        outputs = models.googlenet(num_classes=5).train()(pyburn.zeros(2, 3, 64, 64))
        assert [tuple(part.shape) for part in outputs] == [(2, 5)] * 3 and outputs._fields[1] == "aux_logits2"


def test_vision_transformer_reads_old_names_and_other_sizes() -> None:
    from p_vision.models.vision_transformer import ConvStemConfig, VisionTransformer, interpolate_embeddings

    pyburn.manual_seed(0)
    small = {"patch_size": 8, "num_layers": 1, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 32, "num_classes": 3}
    model = VisionTransformer(32, **small)
    old = {name.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): t for name, t in model.state_dict().items()}
    other = VisionTransformer(32, **small)
    assert not any(other.load_state_dict(old))
    x = pyburn.rand(1, 3, 32, 32)
    assert pyburn.equal(other.eval()(x), model.eval()(x))
    stretched = interpolate_embeddings(48, 8, model.state_dict())
    larger = VisionTransformer(48, **small)
    larger.load_state_dict(stretched)
    grid = larger.encoder.pos_embedding[0, 1:].view(6, 6, 16)
    assert pyburn.allclose(grid[0, 0], model.encoder.pos_embedding[0, 1], atol=1e-6)
    assert pyburn.allclose(grid[-1, -1], model.encoder.pos_embedding[0, -1], atol=1e-6)
    assert "heads.head.weight" not in interpolate_embeddings(48, 8, model.state_dict(), reset_heads=True)
    with pytest.raises(ValueError, match="Wrong image height! Expected 32 but got 40!"):
        model(pyburn.rand(1, 3, 40, 32))
    stem = VisionTransformer(32, **small, conv_stem_configs=[ConvStemConfig(8, 3, 2), ConvStemConfig(12, 3, 4)])
    assert stem(x).shape == (1, 3) and "conv_proj.conv_bn_relu_1.1.running_var" in stem.state_dict()


def test_blocks_are_dropped_as_often_as_said() -> None:
    from p_vision.models.blocks import StochasticDepth

    pyburn.manual_seed(0)
    layer, x = StochasticDepth(0.25, "row"), pyburn.ones(4000, 2, 3)
    found = layer(x)
    kept = (found[:, 0, 0] > 0).float().mean().item()
    assert kept == pytest.approx(0.75, abs=0.03)
    assert pyburn.allclose(found[found[:, 0, 0] > 0], pyburn.full((1,), 1 / 0.75))
    assert len(set(found.sum((1, 2)).tolist())) == 2
    assert layer.eval()(x) is x
    assert StochasticDepth(1.0, "batch")(x).abs().sum().item() == 0
    assert repr(layer) == "StochasticDepth(p=0.25, mode=row)"
    with pytest.raises(ValueError, match="between 0 and 1"):
        StochasticDepth(1.5, "row")


def test_a_frozen_network_with_a_new_head() -> None:
    pyburn.manual_seed(0)
    model = models.resnet18().requires_grad_(False)
    model.fc = nn.Linear(model.fc.in_features, 3)
    optimizer = pyburn.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    before = model.layer4[1].conv2.weight.clone()
    x, y = pyburn.rand(4, 3, 32, 32), pyburn.tensor([0, 1, 2, 0])
    model.eval()
    losses = []
    for _ in range(5):
        found = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        losses.append(found.item())
    assert losses[-1] < losses[0] and pyburn.equal(before, model.layer4[1].conv2.weight)
    assert model.conv1.weight.grad is None


# --- examples ------------------------------------------------------------------------------------------------------------


def test_gpt2_generates_from_its_cache_what_it_would_without() -> None:
    model = filled("gpt2_tiny").eval()
    tokens = pyburn.from_numpy(CASES["gpt2_tiny"].inputs[0])
    slow = tokens
    with pyburn.no_grad():
        for _ in range(5):
            slow = pyburn.cat([slow, model(slow)[:, -1].argmax(-1, keepdim=True)], 1)
        gpt2 = sys.modules["gpt2"]
        cache = gpt2.Cache(2, 2, 4, 9, 16, model.lm_head.weight)
        parts = [model(tokens[:, :4], cache), model(tokens[:, 4:5], cache), model(tokens[:, 5:], cache)]
        assert pyburn.allclose(pyburn.cat(parts, 1), model(tokens), atol=1e-5)
    assert model.generate(tokens, 5).tolist() == slow.tolist()
    assert model.generate(tokens, 5, temperature=0.7, top_k=1).tolist() == slow.tolist()
    pyburn.manual_seed(0)
    drawn = model.generate(tokens, 5, temperature=5.0, top_k=50)
    assert drawn.shape == (2, 14) and drawn.tolist() != slow.tolist()
    first = slow[0, 9].item()
    ended = model.generate(tokens[:1], 5, eos_token=first)
    assert ended.tolist() == slow[:1, :10].tolist()
    with pytest.raises(ValueError, match="knows 32 positions"):
        model.generate(tokens, 25)


def test_gpt2_and_bert_read_the_usual_files(tmp_path: Path) -> None:
    model = filled("gpt2_tiny").eval()
    bare = {name.removeprefix("transformer."): t for name, t in model.state_dict().items() if name != "lm_head.weight"}
    bare["h.0.attn.bias"] = pyburn.ones(1, 1, 32, 32).tril()
    pyburn.io.safetensors.save_file(bare, tmp_path / "gpt2.safetensors")
    found = type(model).from_file(tmp_path / "gpt2.safetensors")
    assert shapes(found) == shapes(model) and found.lm_head.weight is found.transformer.wte.weight
    assert all(pyburn.equal(t, found.state_dict()[name]) for name, t in model.state_dict().items())

    bert = filled("bert_tiny").eval()
    headed = {f"bert.{name}": t for name, t in bert.state_dict().items()} | {"cls.predictions.bias": pyburn.zeros(97)}
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t for name, t in headed.items()}
    pyburn.save(old, tmp_path / "bert.bin")
    read = type(bert).from_file(tmp_path / "bert.bin")
    assert all(pyburn.equal(t, read.state_dict()[name]) for name, t in bert.state_dict().items())
    classifier = sys.modules["bert"].BertForSequenceClassification(read, 3)
    assert classifier(pyburn.zeros(2, 4, dtype=pyburn.int64)).shape == (2, 3)
    del old["bert.pooler.dense.bias"]
    pyburn.save(old, tmp_path / "bert.bin")
    with pytest.raises(ValueError, match=r"is no BERT: it has no pooler\.dense\.bias"):
        type(bert).from_file(tmp_path / "bert.bin")
    del old["bert.pooler.dense.weight"]
    pyburn.save(old, tmp_path / "bert.bin")
    headless = type(bert).from_file(tmp_path / "bert.bin")
    assert headless(pyburn.zeros(1, 2, dtype=pyburn.int64)).pooler_output is None
    with pytest.raises(ValueError, match="with a pooling layer"):
        sys.modules["bert"].BertForSequenceClassification(headless, 3)


def test_eegnet_keeps_its_filters_short() -> None:
    model = filled("eegnet_constrained")
    with pyburn.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("original"):
                parameter.mul_(100)
    spatial, final = model.conv_spatial.weight, model.final_layer.linearconstraint.weight
    assert pyburn.allclose(spatial.flatten(1).norm(dim=1), pyburn.ones(16), atol=1e-4)
    assert pyburn.allclose(final.norm(dim=1), pyburn.full((3,), 0.25), atol=1e-4)
    with pytest.raises(ValueError, match="n_times is too small"):
        pyburn.eeg.EEGNet(8, 2, 20)


def run(*arguments: object) -> str:
    return subprocess.run([sys.executable, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_the_tagger_trains() -> None:
    assert run(EXAMPLES / "models" / "lstm_tagger.py").strip() == "The/DET dog/NN ate/V the/DET apple/NN"


@pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")
def test_silero_hears_what_onnx_runtime_hears() -> None:
    silero = example("silero/silero_vad.py")
    folder = Path(str(DATA)) / "models"
    samples = silero.read_wav(folder / "silero_test.wav")

    def heard(model: Any) -> list[float]:
        listener = silero.Listener(model)
        return [listener.hear(chunk) for chunk in silero.chunks(samples)]

    model = silero.SileroVAD().eval()  # the ONNX file is of another release than the safetensors file
    model.load_state_dict({name: pyburn.tensor(array) for name, array in onnx_weights(folder / "silero_vad_op18_ifless.onnx").items()})
    np.testing.assert_allclose(heard(model), golden("silero.json.gz")["onnx"], rtol=0, atol=1e-4)

    found = heard(silero.SileroVAD.from_file(folder / "silero_vad_16k.safetensors"))
    np.testing.assert_allclose(found, golden("silero.json.gz")["probabilities"], rtol=0, atol=1e-4)
    segments = silero.Segments()
    for probability in found:
        segments.add(probability)
    printed = run(EXAMPLES / "silero" / "silero_vad.py").splitlines()
    assert printed == [f"{start:7.2f} s to {end:7.2f} s" for start, end in segments.finish(len(samples) / silero.RATE)]
    assert 10 < len(printed) < 30


def test_silero_segments() -> None:
    segments = example("silero/silero_vad.py").Segments(step=0.1)
    for probability in [0.1, 0.9, 0.9, 0.4, 0.9, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.9, 0.9]:  # the single 0.9 is too short
        segments.add(probability)
    np.testing.assert_allclose(segments.finish(1.3), [(0.07, 0.53), (0.97, 1.3)])


@pytest.mark.parametrize("name", models.list_models())
def test_models_are_documented_by_what_they_do(name: str) -> None:
    function = getattr(models, name)
    assert all(part in function.__doc__ for part in ("Args:\n        weights: ", "Returns:", ">>> "))
    (example,) = doctest.DocTestFinder().find(function, name, globs={"p_vision": p_vision, "pyburn": pyburn})
    assert not doctest.DocTestRunner().run(example).failed
    told = re.search(r": ([\d.]+) million parameters\.", function.__doc__)
    if told is not None:
        with pyburn.device("null"):
            count = sum(parameter.numel() for parameter in function().parameters()) / 1e6
        assert abs(float(told[1]) - count) < max(0.051, 0.002 * count)
