"""p_vision: the models of p_vision.models with the face of a model."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import p_vision
import pyburn
from p_vision import backend

pytest.importorskip("p_vision.models")

IMAGES, LABELS = pyburn.rand(6, 3, 32, 32), pyburn.tensor([0, 1, 2, 0, 1, 2])
BATCHES = [(IMAGES[:3], LABELS[:3]), (IMAGES[3:], LABELS[3:])]


def test_googlenet_as_its_users_wrote_it_down() -> None:
    from p_vision import googlenet

    model = googlenet(backend.NDARRAY, num_classes=3, init_weights=False)
    assert model.backend == pyburn.device("ndarray") and len(model.weights) > 100
    history = model.train(BATCHES, epochs=2, verbose=0)  # the losses of both helping heads count
    assert len(history.history["loss"]) == 2 and np.isfinite(history.history["loss"]).all()
    assert model.train().training and not model.train(False).training


@pytest.fixture(scope="module")
def resnet() -> Any:
    return p_vision.resnet18(backend="ndarray", num_classes=10)


def test_fine_tuning_in_three_lines(resnet: Any) -> None:
    resnet.trainable = False
    resnet.fc = pyburn.nn.Linear(512, 3)
    before = {name: tensor.clone() for name, tensor in resnet.state_dict().items()}
    resnet.train(BATCHES, epochs=3, verbose=0)
    changed = {name for name, tensor in resnet.state_dict().items() if not pyburn.equal(tensor, before[name])}
    assert changed == {"fc.weight", "fc.bias"}
    assert resnet.predict(IMAGES, verbose=0).shape == (6, 3)
    resnet.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    assert len(resnet.evaluate(IMAGES, LABELS, verbose=0)) == 2


def test_plain_models_stay_plain() -> None:
    plain = p_vision.models.resnet18(num_classes=2)
    assert not hasattr(plain, "fit")
    faced = p_vision.resnet18(num_classes=2)
    assert isinstance(faced, type(plain)) and list(faced.state_dict()) == list(plain.state_dict())
    faced.load_state_dict(plain.state_dict())
    assert pyburn.equal(faced.eval()(IMAGES), plain.eval()(IMAGES))


def test_models_of_the_zoo_are_saved_whole() -> None:
    model = p_vision.resnet18(num_classes=4)
    file = io.BytesIO()
    model.save(file)
    again = p_vision.load_model(io.BytesIO(file.getvalue()))
    np.testing.assert_array_equal(again.predict(IMAGES, verbose=0), model.predict(IMAGES, verbose=0))


@pytest.mark.parametrize("kind", ["plain", "row", "dense"])
def test_models_with_another_head_are_saved_whole(kind: str) -> None:
    model = p_vision.resnet18(num_classes=4)
    model.trainable = False
    row = pyburn.nn.Sequential(pyburn.nn.Dropout(0.5), pyburn.nn.Linear(512, 2))
    model.fc = {"plain": pyburn.nn.Linear(512, 3), "row": row, "dense": p_vision.Dense(5, activation="softmax")}[kind]
    expected = model.predict(IMAGES, verbose=0)
    file = io.BytesIO()
    model.save(file)
    again = p_vision.load_model(io.BytesIO(file.getvalue()))
    np.testing.assert_array_equal(again.predict(IMAGES, verbose=0), expected)
    assert len(again.trainable_weights) == len(model.trainable_weights) == 2


def test_unknown_backends_are_refused_before_anything_is_made() -> None:
    with pytest.raises(pyburn.DeviceError, match="available here"):
        p_vision.resnet18("no such backend")
