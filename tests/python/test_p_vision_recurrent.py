"""Cells, RNN and ConvLSTM beyond the goldens: stacks, cells of one's own, masks, states, both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import p_vision as keras
import pyburn
from p_vision import layers

STEPS = pyburn.tensor(np.random.default_rng(0).standard_normal((3, 5, 4)).astype("float32"))


def test_a_cell_run_by_rnn_is_the_layer() -> None:
    for kind in ("SimpleRNN", "LSTM", "GRU"):
        whole = getattr(layers, kind)(3, return_sequences=True, return_state=True)
        run = layers.RNN(getattr(layers, kind + "Cell")(3), return_sequences=True, return_state=True)
        expected = whole(STEPS)
        run(STEPS)
        run.set_weights(whole.get_weights())
        for a, b in zip(run(STEPS), expected):
            np.testing.assert_allclose(a.detach(), b.detach(), rtol=1e-5, atol=1e-6)


def test_stacked_cells_are_layers_one_after_the_other() -> None:
    stacked = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True)
    output = stacked(STEPS)
    lower, upper = layers.LSTM(3, return_sequences=True), layers.GRU(2, return_sequences=True)
    upper(lower(STEPS))
    weights = stacked.get_weights()
    lower.set_weights(weights[:3])
    upper.set_weights(weights[3:])
    np.testing.assert_allclose(output.detach(), upper(lower(STEPS)).detach(), rtol=1e-5, atol=1e-6)
    again = layers.RNN.from_config(stacked.get_config())
    assert repr(again) == repr(stacked)


class Decay(keras.Layer):
    state_size = 4

    def call(self, inputs: Any, states: Any) -> Any:
        output = 0.5 * states[0] + inputs
        return output, [output]


def test_a_cell_of_ones_own_with_masks_and_states() -> None:
    layer = layers.RNN(Decay(), return_sequences=True)
    expected = np.zeros((3, 4), "float32")
    for t in range(5):
        expected = 0.5 * expected + STEPS[:, t].numpy()
    np.testing.assert_allclose(layer(STEPS)[:, -1], expected, rtol=1e-5)
    mask = pyburn.tensor([[True] * 5, [True, False, True, True, True], [False] * 5])
    masked = layer(STEPS, mask=mask)
    assert pyburn.equal(masked[0], layer(STEPS)[0])
    assert pyburn.equal(masked[1, 1], masked[1, 0])  # a step that does not count gives the output before it
    assert not masked[2].any()
    start = pyburn.ones(3, 4)
    np.testing.assert_allclose(layer(STEPS, initial_state=[start])[:, 0], 0.5 + STEPS[:, 0].numpy(), rtol=1e-5)
    stateful = layers.RNN(Decay(), stateful=True)
    first = stateful(STEPS)
    assert not pyburn.equal(first, stateful(STEPS))
    stateful.reset_state()
    assert pyburn.equal(first, stateful(STEPS))
    with pytest.raises(ValueError, match="state_size"):
        layers.RNN(layers.Dense(3))


def test_cells_stand_in_drawings_and_both_directions(tmp_path: Any) -> None:
    inputs = keras.Input((None, 4))
    x = layers.Bidirectional(layers.RNN(layers.GRUCell(3, dropout=0.2, recurrent_dropout=0.2), return_sequences=True))(inputs)
    model = keras.Model(inputs, layers.Dense(1)(layers.RNN(layers.LSTMCell(2))(x)))
    assert model.output_shape == (None, 1)
    model.compile("adam", "mse")
    history = model.fit(STEPS, np.ones((3, 1)), epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    model.save(tmp_path / "model.pyburn")
    again = keras.load_model(tmp_path / "model.pyburn")
    np.testing.assert_allclose(again.predict(STEPS, verbose=0), model.predict(STEPS, verbose=0), rtol=1e-5)


def test_films_are_learnt_and_masked() -> None:
    film = np.random.default_rng(0).random((4, 3, 6, 6, 1)).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((None, 6, 6, 1)),
            layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True, dropout=0.1, recurrent_dropout=0.1),
            layers.BatchNormalization(),
            layers.Bidirectional(layers.ConvLSTM2D(2, 3, padding="same")),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    losses = model.fit(film, film.mean((1, 2, 3)), epochs=6, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    layer = layers.ConvLSTM2D(2, 3, padding="same")
    x = pyburn.tensor(film)
    short = layer(x[:, :2])
    masked = layer(x, mask=pyburn.tensor([[True, True, False]] * 4))
    np.testing.assert_allclose(masked.detach(), short.detach(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="5 axes"):
        layers.ConvLSTM2D(2, 3)(x[:, 0])
