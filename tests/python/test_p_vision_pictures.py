"""Layers that change and mix pictures, and those that hash."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision as keras
import pyburn
from p_vision import layers
from p_vision.layers.fingerprints import farm, sip

sys.path.insert(0, str(Path(__file__).parent))
from keras_goldens import GOLDEN, make, title

PICTURES = np.load(GOLDEN / "keras_pictures.npz", allow_pickle=False)

IMAGES = pyburn.rand(6, 8, 7, 3, generator=pyburn.Generator().manual_seed(0)) * 255
LABELS = pyburn.eye(6)
FARM = (  # of 0, 10, 20, 40, 64, 65 and 200 bytes, as farmhash.fingerprint64 gives them
    ["0x9ae16a3b2f90404f", "0x9b704db2b2d6ffea", "0x8dd7e7f1bf16a0e9", "0x8f45b937b49468c"]
    + ["0xf58504bb53decc4b", "0xc6a3282c3e793dbe", "0x74c7fcc26d66fb3"]
)


@pytest.mark.parametrize("layer", [layers.MixUp(0.4, seed=1), layers.CutMix(seed=1)], ids=repr)
def test_pictures_are_mixed_with_their_labels(layer: Any) -> None:
    given = {"images": IMAGES, "labels": LABELS, "segmentation_masks": IMAGES[..., :1]}
    mixed = layer(given)
    own, other = mixed["labels"].diagonal(), mixed["labels"] - mixed["labels"].diagonal().diag()
    np.testing.assert_allclose(mixed["labels"].sum(1), np.ones(6), rtol=1e-5)
    partner = pyburn.where(other.amax(1) > 0, other.argmax(1), pyburn.arange(6))
    assert float(own.min()) < 1 and len(set(partner.tolist())) > 1
    if isinstance(layer, layers.MixUp):
        share = own.reshape(-1, 1, 1, 1)
        np.testing.assert_allclose(mixed["images"], IMAGES * share + IMAGES[partner] * (1 - share), rtol=1e-4, atol=1e-2)
    else:  # each pixel comes from one of the two, and the labels say how many
        mine = (mixed["images"] == IMAGES).all(-1)
        assert bool((mine | (mixed["images"] == IMAGES[partner]).all(-1)).all())
        np.testing.assert_allclose(mine.float().mean([1, 2]), own, atol=1e-5)
    np.testing.assert_allclose(mixed["segmentation_masks"], mixed["images"][..., :1], atol=1e-3)
    assert layer(given, training=False)["labels"] is LABELS
    assert not pyburn.equal(layer(IMAGES), IMAGES)
    with pytest.raises(ValueError, match="to_categorical"):
        layer({"images": IMAGES, "labels": pyburn.arange(6)})
    with pytest.raises(pyburn.ShapeError, match="batch of pictures"):
        layer(IMAGES[0])


def test_rand_augment_draws_all_changes_and_stays_in_range() -> None:
    layer = layers.RandAugment(value_range=(0, 255), num_ops=1, factor=0.6, seed=3)
    for change in layer._changes:
        changed = change.changed(IMAGES.permute(0, 3, 1, 2))
        assert changed.shape == (6, 3, 8, 7) and float(changed.min()) >= -1e-3 and float(changed.max()) <= 255.001, change
    found = {tuple(layer(IMAGES).flatten()[:50].round().tolist()) for _ in range(12)}
    assert len(found) > 6
    assert pyburn.equal(layer(IMAGES, training=False), IMAGES)
    assert layers.RandAugment()(keras.Input((8, 7, 3))).shape == (None, 8, 7, 3)
    again = layers.RandAugment.from_config(layer.get_config())
    assert repr(again) == repr(layer)


def test_random_layers_change_pictures_in_pipelines_and_not_in_predictions(tmp_path: Path) -> None:
    augment = keras.Sequential([layers.RandomFlip("horizontal", seed=0), layers.RandomContrast(0.5, seed=0)])
    assert not pyburn.equal(augment(IMAGES), IMAGES)  # as in Keras, a call that does not say otherwise
    assert pyburn.equal(augment(IMAGES, training=False), IMAGES)
    inputs = keras.Input((8, 7, 3))
    model = keras.Model(inputs, layers.Flatten()(augment(inputs)))
    np.testing.assert_array_equal(model.predict(IMAGES, verbose=0), IMAGES.flatten(1).numpy())
    model.compile(loss="mse")
    assert model.evaluate(IMAGES, IMAGES.flatten(1), verbose=0) == 0.0
    model.save(tmp_path / "model.pyburn")
    assert not pyburn.equal(keras.load_model(tmp_path / "model.pyburn")(IMAGES), IMAGES.flatten(1))


@pytest.mark.parametrize("entry", json.loads(PICTURES["index"].tobytes()), ids=title)
def test_pictures_change_as_in_keras(entry: dict[str, Any]) -> None:
    layer = make(entry)
    np.testing.assert_allclose(layer(PICTURES["pictures"], training=True).detach(), PICTURES[entry["key"]], rtol=1e-4, atol=1e-2)
    assert repr(type(layer).from_config(layer.get_config())) == repr(layer)


def test_slants_go_to_either_side() -> None:
    """Row i of a picture moves by i times the factor: with 1, by i pixels."""
    picture = pyburn.ones(1, 4, 4, 1)
    found = {tuple(layers.RandomShear((1.0, 1.0), fill_mode="constant")(picture).sum([0, 2, 3]).round().tolist()) for _ in range(20)}
    assert found == {(4.0, 3.0, 2.0, 1.0)}
    corner = pyburn.zeros(1, 4, 4, 1)
    corner[:, 1] = pyburn.arange(4.0).reshape(4, 1)
    rows = {tuple(layers.RandomShear((1.0, 1.0), fill_mode="constant")(corner)[0, 1, :, 0].round().tolist()) for _ in range(20)}
    assert rows == {(1.0, 2.0, 3.0, 0.0), (0.0, 0.0, 1.0, 2.0)}


def test_solarised_and_erased_pictures() -> None:
    halves = layers.Solarization(threshold_factor=(0.5, 0.5), value_range=(0, 1))(pyburn.tensor([0.2, 0.7]).reshape(1, 1, 2, 1))
    np.testing.assert_allclose(halves.flatten(), [0.2, 0.3], atol=1e-6)
    erased = layers.RandomErasing((1.0, 1.0), scale=(0.25, 0.25), fill_value=-1.0)(IMAGES)
    share = (erased == -1).all(-1).float().mean([1, 2])
    assert float(share.amin()) > 0 and float(share.amax()) <= 0.4 and bool(((erased == -1) | (erased == IMAGES)).all())


def test_noise_has_its_size() -> None:
    ones = pyburn.ones(200, 200)
    for layer, deviation in ((layers.GaussianNoise(0.5), 0.5), (layers.GaussianDropout(0.2), 0.5)):
        noisy = layer(ones, training=True)
        assert float(noisy.mean()) == pytest.approx(1, abs=0.02) and float(noisy.std()) == pytest.approx(deviation, abs=0.02)
        assert pyburn.equal(layer(ones), ones)
    normal = pyburn.randn(200, 200)
    kept = layers.AlphaDropout(0.3)(normal, training=True)
    assert float(kept.mean()) == pytest.approx(0, abs=0.03) and float(kept.std()) == pytest.approx(1, abs=0.03)


def test_penalties_and_largest_singular_values() -> None:
    layer = layers.ActivityRegularization(l1=0.5, l2=2.0)
    layer(pyburn.tensor([[1.0, -2.0]]))
    assert float(sum(layer.losses)) == pytest.approx(0.5 * 3 + 2.0 * 5)
    normed = layers.SpectralNormalization(layers.Dense(4), power_iterations=30)
    normed(pyburn.randn(3, 5), training=True)
    assert float(pyburn.linalg.matrix_norm(normed.layer.kernel, 2)) == pytest.approx(1, abs=1e-3)


def test_hashes_are_those_of_tensorflow() -> None:
    words = np.array([["A"], ["B"], ["C"], ["D"], ["E"]])  # the examples of TensorFlow's documentation
    assert layers.Hashing(num_bins=3)(words).flatten().tolist() == [1, 0, 1, 1, 2]
    assert layers.Hashing(num_bins=3, mask_value="")(np.array(["A", "B", "", "C", "D"])).tolist() == [1, 1, 0, 2, 2]
    assert layers.Hashing(num_bins=3, salt=[133, 137])(words).flatten().tolist() == [1, 2, 1, 0, 2]
    assert layers.Hashing(num_bins=3, salt=133)(words).flatten().tolist() == [0, 0, 2, 1, 0]
    crossing = layers.HashedCrossing(num_bins=5)
    letters, numbers = np.array(["A", "B", "A", "B", "A"]), np.array([101, 101, 101, 102, 102])
    assert crossing((letters, numbers)).tolist() == [1, 4, 1, 1, 3]
    one_hot = layers.HashedCrossing(num_bins=5, output_mode="one_hot")((letters, numbers))
    assert one_hot.argmax(-1).tolist() == [1, 4, 1, 1, 3] and one_hot.shape == (5, 5)
    assert sip(bytes(range(15)), (0x0706050403020100, 0x0F0E0D0C0B0A0908)) == 0xA129CA6149BE45E5  # of the paper on SipHash
    assert [hex(farm(bytes(range(n)))) for n in (0, 10, 20, 40, 64, 65, 200)] == FARM


def test_hashes_stand_in_models_and_mistakes_are_named(tmp_path: Path) -> None:
    words = keras.Input((1,), dtype="string")
    model = keras.Model(words, layers.Hashing(8, output_mode="multi_hot")(words))
    assert model.output_shape == (None, 8)
    model.save(tmp_path / "model.pyburn")
    given = np.array([["fire"], ["burn"]])
    np.testing.assert_array_equal(keras.load_model(tmp_path / "model.pyburn").predict(given, verbose=0), model.predict(given, verbose=0))
    with pytest.raises(TypeError, match="got floats"):
        layers.Hashing(3)(np.array([0.5]))
    with pytest.raises(ValueError, match="salt is a number or two"):
        layers.Hashing(3, salt=[1, 2, 3])
    with pytest.raises(pyburn.ShapeError, match="one shape"):
        layers.HashedCrossing(3)((np.array(["a"]), np.array([1, 2])))
