"""Texts and categories in p_vision: vocabularies, vectors, models that take strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision as keras
from p_vision import layers

TEXTS = ["The cat sat on the mat.", "the dog sat on the LOG!"]


def test_words_get_the_indices_of_the_vocabulary() -> None:
    layer = layers.TextVectorization(output_sequence_length=6)
    layer.adapt(TEXTS)
    assert layer.get_vocabulary() == ["", "[UNK]", "the", "sat", "on", "mat", "log", "dog", "cat"]  # ties go backwards, as in Keras
    assert layer(["the cow sat"]).tolist() == [[2, 1, 3, 0, 0, 0]]
    assert layer(np.array([["the cat"]])).tolist() == [[2, 8, 0, 0, 0, 0]] and layer("dog").tolist() == [7, 0, 0, 0, 0, 0]
    assert layer(["a b c d e f g h"]).shape == (1, 6)
    short = layers.TextVectorization(max_tokens=4)
    short.adapt(np.array(TEXTS))
    assert short.get_vocabulary() == ["", "[UNK]", "the", "sat"] and short.vocabulary_size() == 4
    again = layers.TextVectorization.from_config(layer.get_config())
    assert again(TEXTS).tolist() == layer(TEXTS).tolist()


def test_texts_are_split_and_counted_as_told() -> None:
    letters = layers.TextVectorization(split="character", standardize=None, vocabulary=["a", "b"])
    assert letters(["abA"]).tolist() == [[2, 3, 1]]
    pairs = layers.TextVectorization(ngrams=2)
    pairs.adapt(["a b"])
    assert set(pairs.get_vocabulary(include_special_tokens=False)) == {"a", "b", "a b"}
    own = layers.TextVectorization(standardize=str.upper, split=lambda text: text.split("-"), vocabulary=["A"])
    assert own(["a-x"]).tolist() == [[2, 1]]
    expected = {"multi_hot": [1.0, 1.0, 1.0, 0.0], "count": [1.0, 2.0, 1.0, 0.0]}
    for mode, row in expected.items():
        layer = layers.TextVectorization(output_mode=mode)
        layer.adapt(["a b b", "a c"])
        assert layer.get_vocabulary() == ["[UNK]", "b", "a", "c"] and layer(["b b a z"]).tolist() == [row]
    weighted = layers.TextVectorization(output_mode="tf_idf")
    weighted.adapt(["a b b", "a c"])
    frequency = {word: np.log(1 + 2 / (1 + count)) for word, count in {"b": 1, "a": 2, "c": 1}.items()}
    np.testing.assert_allclose(weighted(["b b a"])[0], [0, 2 * frequency["b"], frequency["a"], 0], rtol=1e-5)


def test_errors_about_invalid_arguments() -> None:
    for options in (
        {"standardize": "upper"},
        {"split": "lines"},
        {"output_mode": "one_hot"},
        {"output_mode": "count", "output_sequence_length": 3},
    ):
        with pytest.raises(ValueError, match="TextVectorization"):
            layers.TextVectorization(**options)
    with pytest.raises(RuntimeError, match="call adapt"):
        layers.TextVectorization()(["a"])
    with pytest.raises(ValueError, match="twice"):
        layers.StringLookup(vocabulary=["a", "a"])
    with pytest.raises(ValueError, match="num_oov_indices is 0"):
        layers.StringLookup(vocabulary=["a"], num_oov_indices=0)(["b"])
    with pytest.raises(ValueError, match="from 0 to 2"):
        layers.CategoryEncoding(3)([[3]])


def test_lookups_and_encodings(tmp_path: Path) -> None:
    layer = layers.StringLookup()
    layer.adapt(np.array([["b"], ["a"], ["b"]]))
    assert layer.get_vocabulary() == ["[UNK]", "b", "a"] and layer([["a", "z"]]).tolist() == [[2, 0]]
    back = layers.StringLookup(vocabulary=layer.get_vocabulary(), invert=True)
    assert back(layer(["a", "b", "z"])).tolist() == ["a", "b", "[UNK]"]
    (tmp_path / "words.txt").write_text("x\ny\n")
    assert layers.StringLookup(vocabulary=str(tmp_path / "words.txt"))(["y"]).tolist() == [2]
    assert layers.IntegerLookup(vocabulary=[12, 36], output_mode="one_hot")([36]).tolist() == [[0.0, 0.0, 1.0]]
    assert layers.IntegerLookup(vocabulary=[12], mask_token=0)([0, 12, 7]).tolist() == [0, 2, 1]
    assert layers.CategoryEncoding(4)([[0, 2, 2]]).tolist() == [[1.0, 0.0, 1.0, 0.0]]
    assert layers.CategoryEncoding(4, output_mode="count")([[0, 2, 2]]).tolist() == [[1.0, 0.0, 2.0, 0.0]]
    bins = layers.Discretization(num_bins=4)
    bins.adapt(np.arange(100.0))
    assert bins(np.array([0.0, 30.0, 60.0, 99.0])).tolist() == [0, 1, 2, 3]


def test_a_model_takes_strings_and_is_saved_with_its_vocabulary(tmp_path: Path) -> None:
    words = layers.TextVectorization(output_mode="int")
    x = np.array([["good fine good"], ["bad awful"]] * 16)
    y = np.array([1, 0] * 16)
    words.adapt(x)
    inputs = keras.Input(shape=(1,), dtype="string")
    embedded = layers.Embedding(words.vocabulary_size(), 4, mask_zero=True)(words(inputs))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(layers.GlobalAveragePooling1D()(embedded)))
    assert words(inputs).shape == (None, None)
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=10, verbose=0)
    assert history.history["accuracy"][-1] == 1.0
    model.save(tmp_path / "model.pyburn")
    again: Any = keras.load_model(tmp_path / "model.pyburn")
    np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-6)
    for kind in ("pos", "neg"):
        (tmp_path / "texts" / kind).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "texts" / kind / f"{number}.txt").write_text("good" if kind == "pos" else "bad")
    data = keras.utils.text_dataset_from_directory(tmp_path / "texts", batch_size=2, shuffle=False, verbose=False)
    assert data.class_names == ["neg", "pos"] and model.evaluate(data, verbose=0)[1] == 1.0
