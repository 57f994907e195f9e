"""Layers, losses and training of p_vision give Keras's numbers: goldens of tools/make_keras_goldens.py."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision
import pyburn
from p_vision import losses

sys.path.insert(0, str(Path(__file__).parent))
import keras_guides  # noqa: F401  (adds to the programs)
from keras_goldens import GOLDEN, GOLDENS, INDEX, arrays, make, title
from keras_programs import PROGRAMS


def close(got: Any, expected: list[Any]) -> None:
    found = list(got) if isinstance(got, (list, tuple)) else [got]
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert tuple(a.shape) == b.shape
        np.testing.assert_allclose(np.asarray(a.detach() if isinstance(a, pyburn.Tensor) else a), b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("entry", INDEX["layers"], ids=title)
def test_layer(entry: dict[str, Any]) -> None:
    key = entry["key"]
    layer = make(entry)
    inputs = [pyburn.tensor(array) for array in arrays(key, "input")]
    given: Any = inputs[0] if len(inputs) == 1 else inputs
    symbols = [p_vision.Input(batch_shape=(None, *array.shape[1:])) for array in inputs]
    drawn = layer(symbols[0] if len(symbols) == 1 else symbols)  # built by the symbols alone
    layer.set_weights(arrays(key, "weight"))
    output = layer(given, training=False)
    expected = arrays(key, "output")
    close(output, expected)
    for symbol, array in zip(drawn if isinstance(drawn, list) else [drawn], expected):
        assert symbol.shape == (None, *array.shape[1:])
    if trained := arrays(key, "trained"):
        close(layer(given, training=True), trained)
        close(layer.get_weights(), arrays(key, "moved"))


@pytest.mark.parametrize("entry", INDEX["layers"], ids=title)
def test_layer_is_made_again_from_its_config_and_trains(entry: dict[str, Any]) -> None:
    layer = make(entry)
    inputs: list[Any] = [pyburn.tensor(array, requires_grad=True) for array in arrays(entry["key"], "input")]
    layer(inputs[0] if len(inputs) == 1 else inputs)
    again = type(layer).from_config(layer.get_config())
    assert repr(again) == repr(layer)
    output = again(inputs[0] if len(inputs) == 1 else inputs)
    sum(part.square().sum() for part in (output if isinstance(output, list) else [output])).backward()
    assert all(weight.grad is not None for weight in again.trainable_weights)
    assert [tuple(w.shape) for w in again.weights] == [w.shape for w in arrays(entry["key"], "weight")]


@pytest.mark.parametrize("entry", INDEX["layers"], ids=title)
def test_a_model_of_each_layer_is_printed_saved_and_loaded(entry: dict[str, Any], tmp_path: Path) -> None:
    given = arrays(entry["key"], "input")
    symbols = [p_vision.Input(array.shape[1:], dtype=str(array.dtype)) for array in given]
    model = p_vision.Model(symbols, make(entry)(symbols[0] if len(symbols) == 1 else symbols))
    assert entry["class"] in repr(model)
    model.summary(print_fn=lambda text: None)
    model.save(tmp_path / "model.pyburn")
    again = p_vision.load_model(tmp_path / "model.pyburn")
    assert repr(again) == repr(model)
    before, after = (found.predict(given, verbose=0) for found in (model, again))
    for one, other in zip(*(found if isinstance(found, list) else [found] for found in (before, after)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("entry", INDEX["losses"], ids=title)
def test_loss(entry: dict[str, Any]) -> None:
    target, predicted = (pyburn.tensor(GOLDENS[f"{entry['key']}/{kind}"]) for kind in ("target", "predicted"))
    close(losses.FUNCTIONS[entry["name"]](target, predicted, **entry["arguments"]), [GOLDENS[f"{entry['key']}/values"]])


@pytest.mark.parametrize("entry", INDEX["functions"], ids=title)
def test_function(entry: dict[str, Any]) -> None:
    function = functools.reduce(getattr, entry["name"].split("."), p_vision.ops)
    inputs = [pyburn.tensor(array) for array in arrays(entry["key"], "input")]
    options = {name: pyburn.tensor(value) if name in ("weights", "variance") else value for name, value in entry["arguments"].items()}
    close(function(*inputs, **options), arrays(entry["key"], "output"))
    drawn = function(*[p_vision.Input(batch_shape=x.shape, dtype=x.dtype) for x in inputs[:1]], *inputs[1:], **options)
    assert drawn.shape == arrays(entry["key"], "output")[0].shape


def alike(found: Any, expected: Any, where: str = "") -> None:
    """Numbers within 1 in 500, everything else equal."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), where
        for key, value in expected.items():
            alike(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list) and not isinstance(found, (float, int)):
        assert len(found) == len(expected), where
        for index, value in enumerate(expected):
            alike(found[index], value, f"{where}[{index}]")
    elif isinstance(expected, str):
        assert found == expected, where
    else:
        np.testing.assert_allclose(float(found), expected, rtol=2e-3, atol=1e-4, err_msg=where)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_keras_give_its_numbers(name: str) -> None:
    saved = np.load(GOLDEN / "keras_programs.npz", allow_pickle=False)
    weights = [saved[f"{name}/{i}"] for i in range(100) if f"{name}/{i}" in saved]
    found = PROGRAMS[name](p_vision, lambda model: model.set_weights(weights))
    alike(found, json.loads(saved["results"].tobytes())[name], name)


@pytest.mark.parametrize("entry", INDEX["training"], ids=title)
def test_training(entry: dict[str, Any]) -> None:
    model = p_vision.Sequential(
        [
            p_vision.Input((6, 6, 1)),
            p_vision.Conv2D(2, 3, activation="relu", padding="same", kernel_regularizer="l2"),
            p_vision.BatchNormalization(momentum=0.9),
            p_vision.MaxPooling2D(),
            p_vision.Flatten(),
            p_vision.Dense(3, activation="softmax"),
        ]
    )
    model.set_weights(arrays("training", "start"))
    model.compile(getattr(p_vision, entry["optimizer"])(**entry["arguments"]), "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y, weight = (GOLDENS[f"training/{name}"] for name in ("x", "y", "weight"))
    weights: dict[str, Any] = {"class_weight": {0: 2.0}} if entry["by_class"] else {"sample_weight": weight}
    history = model.fit(x, y, batch_size=5, epochs=3, shuffle=False, verbose=0, validation_split=0.25, **weights).history
    assert set(history) == set(entry["history"])
    for name, values in entry["history"].items():
        np.testing.assert_allclose(history[name], values, rtol=2e-3, atol=1e-4, err_msg=name)
