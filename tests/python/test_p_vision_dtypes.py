"""Dtype policies: weights in one dtype, computing in another, and training that gives what it gives in float32."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision as keras
import pyburn
from p_vision import layers

sys.path.insert(0, str(Path(__file__).parent))
from keras_goldens import INDEX, arrays, make, title

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((96, 6)).astype("float32")
CLASSES = (ROWS[:, 0] > 0).astype(int) + (ROWS[:, 1] > 0)
CLOSE = {"mixed_bfloat16": 0.05, "mixed_float16": 0.01, "bfloat16": 0.05, "float64": 1e-4}


@pytest.fixture
def policy(request: Any) -> Iterator[str]:
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("policy", CLOSE, indirect=True)
def test_every_layer_computes_as_its_policy_says(policy: str) -> None:
    for entry in INDEX["layers"]:
        layer = make(entry)
        inputs: Any = [pyburn.tensor(array) for array in arrays(entry["key"], "input")]
        inputs = inputs[0] if len(inputs) == 1 else inputs
        layer(inputs)
        layer.set_weights(arrays(entry["key"], "weight"))
        output = layer(inputs, training=False)
        for part, expected in zip(output if isinstance(output, (list, tuple)) else [output], arrays(entry["key"], "output")):
            assert part.dtype.name == layer.compute_dtype, title(entry)
            error = np.abs(part.detach().double().numpy() - expected).max()
            assert error <= CLOSE[policy] * max(np.abs(expected).max(), 0.1), title(entry)
        assert {weight.dtype.name for weight in layer.weights} <= {layer.variable_dtype}, title(entry)
        assert layer.get_config()["dtype"] == policy


def network() -> Any:
    keras.utils.set_random_seed(0)
    parts = [layers.Dense(16, activation="relu"), layers.BatchNormalization(), layers.Dense(3, activation="softmax", dtype="float32")]
    return keras.Sequential([keras.Input((6,)), *parts])


def fitted(model: Any) -> list[float]:
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
    losses = model.fit(ROWS, CLASSES, epochs=6, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2
    return losses


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"], indirect=True)
def test_mixed_training_learns_and_is_saved(policy: str, tmp_path: Path) -> None:
    keras.config.set_dtype_policy("float32")
    expected = fitted(network())
    keras.config.set_dtype_policy(policy)
    model = network()
    assert model.layers[0].compute_dtype == policy.removeprefix("mixed_") and model.layers[-1].compute_dtype == "float32"
    np.testing.assert_allclose(fitted(model), expected, rtol=0.05)
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (policy == "mixed_float16")
    assert all(weight.dtype == pyburn.float32 for weight in model.weights)
    model.save(tmp_path / "model.pyburn")
    keras.config.set_dtype_policy("float32")
    again = keras.load_model(tmp_path / "model.pyburn")
    assert again.layers[0].dtype_policy.name == policy
    np.testing.assert_array_equal(again.predict(ROWS, verbose=0), model.predict(ROWS, verbose=0))


def test_a_layer_has_its_own_policy() -> None:
    half = layers.Dense(2, dtype=keras.DTypePolicy("mixed_bfloat16"))
    given = half(ROWS[:2])
    assert given.dtype == pyburn.bfloat16 and half.dtype == half.variable_dtype == "float32" and str(half.dtype_policy) == "mixed_bfloat16"
    assert layers.Dense(2, dtype="float32")(given).dtype == pyburn.float32
    assert layers.Dense(2, dtype="float16")(ROWS[:2]).dtype == pyburn.float16
    assert layers.Dense(2)(ROWS[:2]).dtype == pyburn.float32 and not pyburn.is_autocast_enabled()
    model = keras.Sequential([keras.Input((6,)), half])
    assert model.predict(ROWS, verbose=0).dtype == np.float32  # numpy has no bfloat16
    masked = layers.Embedding(5, 3, mask_zero=True, dtype="mixed_bfloat16")(np.array([[1, 0]]))
    assert layers.GlobalAveragePooling1D(dtype="float32")(masked).tolist() == masked[:, 0].float().tolist()


def test_policies_are_named() -> None:
    for wrong in ("mixed_float64", "halves", 3):
        with pytest.raises((ValueError, TypeError), match=r"dtype by name|is a name"):
            layers.Dense(2, dtype=wrong)
    with pytest.raises(ValueError, match="compute in"):
        keras.config.set_dtype_policy("int32")
    keras.mixed_precision.set_global_policy(keras.mixed_precision.Policy("mixed_float16"))
    assert keras.config.dtype_policy().compute_dtype == "float16"
    keras.mixed_precision.set_global_policy("float32")
    assert keras.mixed_precision.global_policy() == keras.DTypePolicy("float32")
