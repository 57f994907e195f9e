"""Networks of `applications`, attention over chosen axes, renormalised batches and metrics give Keras's numbers, and what Keras's users
write besides is understood."""

from __future__ import annotations

import doctest
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision as keras
import pyburn
from p_vision import applications, layers

sys.path.insert(0, str(Path(__file__).parent))
from keras_goldens import GOLDEN
from network_weights import drawn

GOLDENS = np.load(GOLDEN / "keras_networks.npz", allow_pickle=False)
INDEX = json.loads(GOLDENS["index"].tobytes())


def arrays(key: str, kind: str) -> list[Any]:
    return [GOLDENS[f"{key}/{kind}{i}"] for i in range(20) if f"{key}/{kind}{i}" in GOLDENS]


def close(got: Any, expected: list[Any]) -> None:
    found = list(got) if isinstance(got, (list, tuple)) else [got]
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(np.asarray(a.detach() if isinstance(a, pyburn.Tensor) else a), b, rtol=5e-4, atol=2e-5)


def words(entry: dict[str, Any]) -> str:
    return str(entry.get("arguments", entry.get("name")))


@pytest.mark.parametrize("entry", INDEX["attention"], ids=words)
def test_attention(entry: dict[str, Any]) -> None:
    layer, key = layers.MultiHeadAttention(**entry["arguments"]), entry["key"]
    inputs = [pyburn.tensor(array) for array in arrays(key, "input")]
    symbols = [keras.Input(array.shape[1:]) for array in inputs]
    drawing = layer(*symbols, **entry["options"])
    layer.set_weights(arrays(key, "weight"))
    expected = arrays(key, "output")
    close(layer(*inputs, **entry["options"]), expected)
    for symbol, array in zip(drawing if isinstance(drawing, list) else [drawing], expected, strict=True):
        assert symbol.shape[1:] == array.shape[1:]
    again = type(layer).from_config(layer.get_config())
    assert repr(again) == repr(layer)


def test_attention_with_a_seed_drops_the_same_scores_again() -> None:
    x = pyburn.rand(2, 5, 4)
    one, other = (layers.MultiHeadAttention(2, 3, dropout=0.5, seed=7) for _ in range(2))
    for layer in (one, other):
        layer(x, x)
    other.set_weights(one.get_weights())
    first, second = one(x, x, training=True), one(x, x, training=True)
    assert pyburn.equal(first, other(x, x, training=True)) and not pyburn.equal(first, second)


@pytest.mark.parametrize("entry", INDEX["renorm"], ids=words)
def test_renormalised_batches(entry: dict[str, Any]) -> None:
    layer, key = layers.BatchNormalization(**entry["arguments"]), entry["key"]
    x = pyburn.tensor(arrays(key, "input")[0])
    layer(x)
    layer.set_weights(arrays(key, "weight"))
    close(layer(x, training=False), arrays(key, "output"))
    close(layer(x, training=True), arrays(key, "trained"))
    close(layer.get_weights(), arrays(key, "moved"))
    with pytest.raises(ValueError, match="'rmin', 'rmax' and 'dmax'"):
        layers.BatchNormalization(renorm=True, renorm_clipping={"max": 1.0})


@pytest.mark.parametrize("entry", INDEX["metrics"], ids=words)
def test_metric(entry: dict[str, Any]) -> None:
    metric, key = getattr(keras.metrics, entry["class"])(**entry["arguments"]), entry["key"]
    for truth, said in zip(arrays(key, "truth"), arrays(key, "said"), strict=True):
        metric.update_state(truth, said)
    np.testing.assert_allclose(metric.result(), arrays(key, "result")[0], rtol=1e-4)
    assert type(metric).from_config(metric.get_config()) == metric


@pytest.mark.parametrize("entry", INDEX["networks"], ids=words)
def test_network(entry: dict[str, Any], tmp_path: Path) -> None:
    name = entry["name"]
    model = getattr(keras.applications, name)(include_top=False, weights=None, input_shape=(64, 48, 3), pooling="avg")
    assert [layer.name for layer in model.layers if layer.weights and layer._name] == [n for n in entry["layers"] if n != "normalization"]
    shapes = [tuple(w.shape) for w in model.weights]
    counters = [()] if "normalization" in entry["layers"] else []  # Keras's Normalization counts what it has seen, as a third weight
    assert model.count_params() + len(counters) == entry["parameters"]
    model.set_weights([values for values in drawn([*shapes[:2], *counters, *shapes[2:]]) if values.ndim])
    x = np.random.default_rng(1).random((1, 64, 48, 3), np.float32) * 255
    expected = arrays(name, "output")[0]
    found = model.predict(x, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


def test_networks_take_files_heads_and_inputs(tmp_path: Path) -> None:
    make = keras.applications.MobileNetV2
    small = make(alpha=0.35, weights=None, input_shape=(32, 32, 3), classes=5)
    assert small.output_shape == (None, 5) and small.get_layer("predictions").units == 5
    small.save_weights(tmp_path / "small.pyburn")
    again = make(alpha=0.35, weights=tmp_path / "small.pyburn", input_shape=(32, 32, 3), classes=5, backend="ndarray")
    x = np.random.default_rng(0).random((2, 32, 32, 3), np.float32)
    np.testing.assert_array_equal(small.predict(x, verbose=0), again.predict(x, verbose=0))
    begin = keras.Input((40, 40, 3))
    tuned = make(alpha=0.35, include_top=False, weights=None, input_tensor=layers.Rescaling(1 / 127.5, -1.0)(begin))
    tuned.trainable = False
    model = keras.Model(begin, layers.Dense(2)(layers.GlobalAveragePooling2D()(tuned.output)))
    assert len(model.trainable_weights) == 2
    with pytest.raises(ValueError, match="weights=None, or a file"):
        keras.applications.VGG19()
    with pytest.raises(pyburn.ShapeError, match="at least 32 x 32"):
        make(weights=None, input_shape=(16, 16, 3))
    with pytest.raises(AttributeError, match="networks: "):
        keras.applications.NASNetMobile  # noqa: B018


@pytest.mark.parametrize(
    ("module", "pixel"), [("vgg16", [26.061, -66.779, -113.68]), ("mobilenet_v2", [-0.9215686, -0.6078431, 0.0196079])]
)
def test_pictures_for_networks(module: str, pixel: list[float]) -> None:
    prepare = getattr(keras.applications, module).preprocess_input
    pictures = np.full((1, 2, 2, 3), (10, 50, 130), np.uint8)
    np.testing.assert_allclose(prepare(pictures)[0, 0, 0], pixel, rtol=1e-5)
    np.testing.assert_allclose(prepare(pyburn.tensor(pictures).float())[0, 1, 1], pixel, rtol=1e-5)
    assert prepare(keras.Input((2, 2, 3))).shape == (None, 2, 2, 3)


def test_embedding_with_a_table(tmp_path: Path) -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    for given in (table, [table]):
        layer = layers.Embedding(4, 3, weights=given, trainable=False)
        np.testing.assert_array_equal(layer(pyburn.tensor([[1, 3]])), table[[[1, 3]]])
        assert not layer.trainable_weights
    with pytest.warns(UserWarning, match="input_length"):
        model = keras.Sequential([layers.Embedding(4, 3, weights=table, input_length=2), layers.Flatten()])
    words = np.array([[1, 2], [0, 3]])
    before = model.predict(words, verbose=0)
    model.save(tmp_path / "model.pyburn")
    np.testing.assert_array_equal(keras.load_model(tmp_path / "model.pyburn").predict(words, verbose=0), before)
    with pytest.raises(pyburn.ShapeError, match=r"\(4, 3\)"):
        layers.Embedding(4, 3, weights=table.T)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("PrecisionAtRecall", "recall"),
        ("RecallAtPrecision", "precision"),
        ("SensitivityAtSpecificity", "specificity"),
        ("SpecificityAtSensitivity", "sensitivity"),
    ],
)
def test_metrics_at_a_threshold_are_made_by_name_and_saved(name: str, argument: str, tmp_path: Path) -> None:
    metric = getattr(keras.metrics, name)(**{argument: 0.6}, num_thresholds=50)
    assert repr(metric).startswith(f"{name}(0.6, num_thresholds=50") and type(metric).from_config(metric.get_config()) == metric
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=[metric])
    model.save(tmp_path / "model.pyburn")
    x, y = np.eye(2, dtype=np.float32), np.array([[0.0], [1.0]])
    assert keras.load_model(tmp_path / "model.pyburn").evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)


class Picky(keras.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.input_spec = layers.InputSpec(min_ndim=2, axes={-1: 3})

    def call(self, inputs: Any) -> Any:
        return inputs * 2


def test_layers_say_what_they_demand() -> None:
    assert Picky()(pyburn.ones(2, 3)).shape == (2, 3)
    assert Picky()(keras.Input((3,))).shape == (None, 3)
    with pytest.raises(pyburn.ShapeError, match="extent of 3 along axis -1"):
        Picky()(keras.Input((4,)))
    with pytest.raises(pyburn.ShapeError, match="at least 2 axes"):
        Picky()(pyburn.ones(3))
    assert repr(layers.InputSpec(ndim=4, dtype="float32")) == "InputSpec(dtype='float32', ndim=4)"


def test_noise_with_a_seed_is_the_same_again() -> None:
    x = pyburn.rand(4, 50)
    for make in (
        lambda: layers.GaussianNoise(0.3, seed=3),
        lambda: layers.GaussianDropout(0.3, seed=3),
        lambda: layers.AlphaDropout(0.3, seed=3),
        lambda: layers.AlphaDropout(0.3, noise_shape=(None, 1), seed=3),
    ):
        one, other = make(), make()
        first = one(x, training=True)
        assert pyburn.equal(first, other(x, training=True)) and not pyburn.equal(first, one(x, training=True))
        assert pyburn.equal(one(x), x)
    many = layers.AlphaDropout(0.4, seed=0)(pyburn.randn(200, 500), training=True)
    assert abs(float(many.mean())) < 0.02 and abs(float(many.std()) - 1) < 0.02
    rows = layers.AlphaDropout(0.5, noise_shape=(None, 1), seed=1)(pyburn.ones(30, 4), training=True)
    assert bool((rows == rows[:, :1]).all()) and len(rows[:, 0].unique()) == 2


def test_aug_mix_and_pipelines(tmp_path: Path) -> None:
    images = pyburn.rand(3, 12, 10, 3, generator=pyburn.Generator().manual_seed(0)) * 255
    layer = layers.AugMix(factor=0.5, seed=4)
    for change in layers.AugMix(factor=0.5)._changes:
        changed = change.changed(images.permute(0, 3, 1, 2))
        assert changed.shape == (3, 3, 12, 10) and float(changed.min()) >= -1e-3 and float(changed.max()) <= 255.001, change
    mixed = layer(images)
    assert mixed.shape == images.shape and not pyburn.equal(mixed, images) and 0 <= float(mixed.min()) <= float(mixed.max()) <= 255
    assert pyburn.equal(mixed, layers.AugMix(factor=0.5, seed=4)(images)) and pyburn.equal(layer(images, training=False), images)
    assert len(layers.AugMix(all_ops=False)._changes) == 7
    pipeline = layers.Pipeline([layers.RandomFlip("horizontal", seed=1), layers.AugMix(seed=2), layers.Rescaling(1 / 255)])
    assert not pyburn.equal(pipeline(images), images / 255)
    inputs = keras.Input((12, 10, 3))
    model = keras.Model(inputs, pipeline(inputs))
    np.testing.assert_allclose(model.predict(images, verbose=0), images / 255, rtol=1e-6)
    model.save(tmp_path / "model.pyburn")
    again = keras.load_model(tmp_path / "model.pyburn")
    assert repr(again) == repr(model)


def test_a_backup_survives_what_interrupts_a_training(tmp_path: Path) -> None:
    def made() -> Any:
        model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if epoch == 1:
                raise KeyboardInterrupt

    x, y = np.ones((8, 4), np.float32), np.ones((8, 1), np.float32)
    with pytest.raises(KeyboardInterrupt):
        made().fit(x, y, epochs=4, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(tmp_path), Stop()])
    assert (tmp_path / "backup.pyburn").exists()
    assert made().fit(x, y, epochs=4, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(tmp_path)]).epoch == [2, 3]
    assert not (tmp_path / "backup.pyburn").exists()
    with pytest.raises(RuntimeError, match="loss of batch 0 is nan"):
        made().fit(x * np.nan, y, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN(raise_error=True)])


@pytest.mark.parametrize("name", [name for name in applications.__all__ if callable(getattr(applications, name))])
def test_networks_are_documented_by_what_they_do(name: str) -> None:
    function = getattr(applications, name)
    assert all(f"{part}: " in function.__doc__ for part in ("include_top", "weights", "input_shape", "name"))
    (example,) = doctest.DocTestFinder().find(function, name, globs={"p_vision": keras, "pyburn": pyburn})
    assert not doctest.DocTestRunner().run(example).failed
    with pytest.raises(ValueError, match="trained weights are not part of the package"):
        function()
