"""What programs in Keras's words use besides layers: namespaces, data by batches, steps of one's own, files of what was drawn with ops."""

from __future__ import annotations

import copy
import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision as keras
import pyburn
from p_vision import layers, ops, utils

ROWS = np.random.default_rng(0).standard_normal((12, 5)).astype("float32")


def test_layers_have_keras_names() -> None:
    assert (
        layers.Conv2D is keras.Conv2D and layers.MaxPool2D is keras.MaxPooling2D and layers.GlobalAvgPool1D is keras.GlobalAveragePooling1D
    )
    assert layers.Convolution1D is keras.Conv1D and keras.models.Sequential is keras.Sequential
    assert keras.optimizers.schedules.ExponentialDecay is keras.ExponentialDecay
    a, b = keras.Input((3,)), keras.Input((3,))
    assert layers.concatenate([a, b]).shape == (None, 6) and layers.add([a, b]).shape == (None, 3)
    with pytest.raises(AttributeError, match="no layer 'Sequence'"):
        layers.Sequence  # noqa: B018
    assert keras.applications.resnet50.ResNet50 is keras.applications.ResNet50
    with pytest.raises(AttributeError, match="Lambda"):
        ops.ctc_decode  # noqa: B018


def drawn() -> Any:
    inputs = keras.Input((5,))
    x = layers.Dense(4, kernel_constraint="unit_norm", activity_regularizer="l1")(1.0 - inputs[:, :3] / 2.0)
    x = ops.concatenate([ops.maximum(x, 0.0), ops.mean(inputs, axis=-1, keepdims=True)], axis=-1)
    return keras.Model(inputs, ops.softmax(x))


def test_what_was_drawn_with_functions_is_saved(tmp_path: Path) -> None:
    model = drawn()
    model.save(tmp_path / "model.pyburn")
    again = keras.load_model(tmp_path / "model.pyburn")
    np.testing.assert_allclose(again.predict(ROWS, verbose=0), model.predict(ROWS, verbose=0), rtol=1e-6)
    dense = next(layer for layer in again.layers if isinstance(layer, keras.Dense))
    assert isinstance(dense._limits["kernel"], keras.UnitNorm) and isinstance(dense.activity_regularizer, keras.L1)
    twin = keras.models.model_from_json(model.to_json())
    twin.set_weights(model.get_weights())
    np.testing.assert_allclose(twin.predict(ROWS, verbose=0), model.predict(ROWS, verbose=0), rtol=1e-6)
    assert keras.models.clone_model(model).count_params() == model.count_params()
    with pytest.raises(pyburn.FormatError, match="JSON"):
        keras.models.model_from_json("{")


def test_unknown_constraints_are_refused() -> None:
    with pytest.raises(TypeError, match="'embeddings_constraint'"):
        layers.Dense(3, embeddings_constraint="non_neg")
    with pytest.raises(ValueError, match="did you mean 'non_neg'"):
        layers.Dense(3, kernel_constraint="non_neq")


def test_masks_end_where_a_layer_does_not_use_them() -> None:
    x = layers.Embedding(5, 3, mask_zero=True)(np.array([[1, 0, 2]]))
    with pytest.warns(UserWarning, match="Conv1D.*ends here"):
        layers.Conv1D(2, 2)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pooled = layers.GlobalAveragePooling1D()(layers.Dense(2)(x))
    assert tuple(pooled.shape) == (1, 2)


def test_states_are_carried_over_per_layer() -> None:
    layer = layers.GRU(3, stateful=True)
    series = pyburn.tensor(ROWS[:, None, :])
    first, second = layer(series), layer(series)
    assert not pyburn.equal(first, second)
    with pytest.raises(ValueError, match="reset_state"):
        layer(series[:4])
    layer.reset_state()
    assert pyburn.equal(layer(series), first)


def test_data_by_batches() -> None:
    class Parts(utils.PyDataset):
        ended = 0

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            return ROWS[4 * index : 4 * index + 4], ROWS[4 * index : 4 * index + 4, :1]

        def on_epoch_end(self) -> None:
            self.ended += 1

    model = keras.Sequential([keras.Input((5,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    data = Parts()
    model.fit(data, epochs=2, verbose=0)
    assert data.ended == 2 and model.predict(data, verbose=0).shape == (12, 1)
    windows = utils.timeseries_dataset_from_array(ROWS, ROWS[3:, 0], sequence_length=3, sampling_rate=2, batch_size=4)
    batches = list(windows)
    assert len(windows) == 2 and batches[0][0].shape == (4, 3, 5)
    np.testing.assert_array_equal(batches[1][0][0], ROWS[4:9:2])
    np.testing.assert_array_equal(batches[1][1], ROWS[7:11, 0])
    assert utils.to_categorical([[1], [0]]).tolist() == [[0, 1], [1, 0]]
    assert utils.pad_sequences([[1, 2, 3], [4]], maxlen=2, truncating="post").tolist() == [[1, 2], [0, 4]]
    with pytest.raises(ValueError, match="from 0 to 1"):
        utils.to_categorical([2], 2)


def test_steps_of_ones_own() -> None:
    class Counting(keras.Model):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.seen = keras.metrics.Sum(name="seen")

        def train_step(self, data: Any) -> Any:
            x, y = data
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            self.zero_grad()
            loss.backward()
            self.optimizer.apply([weight.grad for weight in self.trainable_weights], self.trainable_weights)
            self.seen.update_state(pyburn.ones(len(x)))
            return {"seen": self.seen.result(), "loss": loss}

    inputs = keras.Input((5,))
    model = Counting(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    history = model.fit(ROWS, ROWS[:, :1], batch_size=4, epochs=3, shuffle=False, verbose=0).history
    assert history["seen"] == [12.0, 12.0, 12.0] and history["loss"][-1] < history["loss"][0]


@pytest.mark.parametrize(
    "layer",
    [
        layers.RandomFlip(seed=0),
        layers.RandomRotation(0.3, fill_mode="constant", seed=0),
        layers.RandomZoom(0.3, seed=0),
        layers.RandomTranslation(0.3, 0.3, seed=0),
        layers.RandomContrast(0.5, seed=0),
        layers.RandomBrightness(0.5, seed=0),
        layers.RandomCrop(6, 5, seed=0),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_pictures_change_while_training_alone(layer: Any) -> None:
    pictures = pyburn.rand(3, 8, 7, 2) * 255
    changed, plain = layer(pictures, training=True), layer(pictures, training=False)
    expected = (3, 6, 5, 2) if isinstance(layer, keras.RandomCrop) else (3, 8, 7, 2)
    assert tuple(changed.shape) == tuple(plain.shape) == expected
    if expected == (3, 8, 7, 2):
        assert pyburn.equal(plain, pictures)
    assert not pyburn.equal(changed, plain)
    assert float(changed.min()) >= -1e-3 and float(changed.max()) <= 255.001


def test_turns_and_moves_go_the_right_way() -> None:
    picture = pyburn.zeros(1, 4, 4, 1)
    picture[0, 0, 1] = 1.0
    turned = layers.RandomRotation((0.25, 0.25))(picture, training=True)  # a quarter against the clock
    assert turned[0, :, :, 0].round().nonzero().tolist() == [[2, 0]]
    moved = layers.RandomTranslation((0.25, 0.25), (0.5, 0.5), fill_mode="constant")(picture, training=True)  # down 1, right 2
    assert moved[0, :, :, 0].round().nonzero().tolist() == [[1, 3]]


def test_what_programs_say_around_their_models() -> None:
    assert keras.__version__ == keras.version() == pyburn.__version__
    with keras.device("cpu:0"), keras.name_scope("part") as name:
        assert name == "part" and keras.layers.Dense(2)(pyburn.ones(1, 3)).device.type == "cpu"
    with pytest.raises(pyburn.DeviceError, match="available here: "):
        keras.device("tpu:0")


class Doubled(keras.Layer):
    def call(self, inputs: Any) -> Any:
        return 2 * inputs


def test_layers_are_recreated_from_a_config() -> None:
    a = keras.Input((5,))
    drawn = keras.Model(a, layers.Dense(2)(Doubled()(layers.Dense(3, kernel_regularizer=keras.regularizers.L2(0.1))(a))))
    row = keras.Sequential([keras.Input((5, 2)), layers.Bidirectional(layers.LSTM(3)), layers.Dense(2)])
    wrapper = layers.TimeDistributed(layers.Dense(4))
    for model in (drawn, row, wrapper):
        again = type(model).from_config(model.get_config())
        mine, other = ({id(part) for part in whole.modules()} for whole in (model, again))
        assert not mine & other and [type(part) for part in model.modules()] == [type(part) for part in again.modules()]
    again = keras.Model.from_config(drawn.get_config(), custom_objects={"Doubled": Doubled})
    again.set_weights(drawn.get_weights())
    before = drawn.get_weights()
    again.compile("sgd", "mse")
    again.fit(ROWS, ROWS[:, :2], verbose=0)
    np.testing.assert_array_equal(before[0], drawn.get_weights()[0])  # the first model is not trained with the second
    assert not np.array_equal(before[0], again.get_weights()[0])
    shared = keras.Sequential([keras.Input((5,)), layers.Lambda(lambda x: x + 1)])
    assert keras.Sequential.from_config(shared.get_config()).layers[0] is shared.layers[0]  # a function of one's own has no other form


def test_arguments_that_keras_has() -> None:
    truth, said = (ROWS[:, :4] > 0).astype("float32"), 1 / (1 + np.exp(-ROWS[:, 1:5]))
    for name in ("BinaryCrossentropy", "BinaryFocalCrossentropy"):
        loss = getattr(keras.losses, name)
        assert float(loss(axis=0)(truth, said)) == pytest.approx(float(loss()(truth.T.copy(), said.T.copy())), rel=1e-5)
    assert keras.losses.BinaryCrossentropy(False, 0.1, -1, "sum", "mine").name == "mine"
    left, right = keras.utils.split_dataset(ROWS, 0.5, shuffle=True, seed=3)
    same, _ = keras.utils.split_dataset(ROWS, 0.5, shuffle=True, seed=3)
    assert np.array_equal(left, same) and len(left) + len(right) == len(ROWS)
    assert keras.Layer.add_variable is keras.Layer.add_weight


def test_keras_files_raise_an_error(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((5,)), layers.Dense(2)])
    (tmp_path / "a.keras").write_bytes(b"PK\x03\x04" + bytes(60))
    (tmp_path / "a.weights.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(60))
    for read, name in ((keras.load_model, "a.keras"), (keras.load_model, "a.weights.h5"), (model.load_weights, "a.weights.h5")):
        with pytest.raises(pyburn.FormatError, match=r"is a file of Keras.*set_weights\(keras_model.get_weights"):
            read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        keras.load_model(tmp_path / "nowhere.keras")


class Tower(keras.Model):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.first = [layers.Dense(4, activation="relu"), layers.Dense(4)]
        self.more: list[Any] = []
        for _ in range(depth):
            self.more.append(layers.Dense(3))
        self.heads = {"a": layers.Dense(1)}
        self.heads["b"] = layers.Dense(2)
        self.pair = (layers.Dropout(0.0), [layers.LayerNormalization()])
        self.sizes = [1, 2, 3]
        self.head = self.more[-1]  # known already

    def call(self, inputs: Any) -> Any:
        x = inputs
        for layer in [*self.first, *self.more, *self.pair[1]]:
            x = layer(x)
        return {name: head(x) for name, head in self.heads.items()}


def test_layers_in_lists_and_dicts_are_parts() -> None:
    model = Tower(2)
    found = model(ROWS)
    assert {name: tuple(part.shape) for name, part in found.items()} == {"a": (12, 1), "b": (12, 2)}
    assert len(model.trainable_weights) == 2 * 6 + 2 and len(model.layers) == 8 and model.sizes == [1, 2, 3]
    before = model.get_weights()
    model.compile("sgd", {"a": "mse", "b": "mse"})
    model.fit(ROWS, {"a": ROWS[:, :1], "b": ROWS[:, :2]}, verbose=0)
    assert all(not np.array_equal(mine, old) for mine, old in zip(model.get_weights()[:4], before[:4]))
    copied = copy.deepcopy(model)
    assert copied.first[0] is copied.layers[0] and copied.first[0] is not model.first[0]
    model.more += [layers.Dense(3)]
    model.more.insert(0, layers.Dense(3))
    model.more[0:1] = [layers.Dense(3)]
    model.heads.update(c=layers.Dense(5))
    model.heads.setdefault("d", layers.Dense(5))
    assert len(model.layers) == 13


def test_operations_have_keras_arguments_and_defaults() -> None:
    x = pyburn.tensor([[1.0, -2.0], [3.0, 4.0]])
    assert ops.add(x1=1.0, x2=x).tolist() == [[2.0, -1.0], [4.0, 5.0]] and ops.abs(x=x).sum().item() == 10
    assert ops.tril(x, k=-1).tolist() == [[0, 0], [3, 0]] and ops.count_nonzero(x, axis=0).tolist() == [2, 2]
    assert keras.activations.relu6(x=x).tolist() == [[1, 0], [3, 4]]
    a, b = ops.meshgrid(pyburn.arange(2), pyburn.arange(3))
    expected = np.meshgrid(np.arange(2), np.arange(3))  # NumPy's order, which is Keras's default
    np.testing.assert_array_equal(a, expected[0])
    np.testing.assert_array_equal(b, expected[1])
    np.testing.assert_allclose(ops.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False))
    gaps = pyburn.tensor([[1.0, float("nan")], [3.0, 4.0]])
    for name in ("nansum", "nanmean", "nanprod", "nanstd", "nanvar", "nanmax", "nancumsum", "nancumprod", "nanargmax", "nanargmin"):
        for axis in (None, 0, 1):
            np.testing.assert_allclose(getattr(ops, name)(gaps, axis=axis), getattr(np, name)(gaps.numpy(), axis=axis), rtol=1e-6)
    inputs = keras.Input((3,))
    model = keras.Model(inputs, ops.add(x1=inputs, x2=ops.square(x=inputs)))
    assert model.predict(np.array([[1.0, 2.0, 3.0]]), verbose=0).tolist() == [[2, 6, 12]]
    assert layers.Cropping2D()(pyburn.ones(1, 3, 3, 1)).shape[1] == 3


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("Dice", "reduction name axis"),
        ("Tversky", "alpha beta reduction name axis"),
        ("SparseCategoricalCrossentropy", "from_logits ignore_class reduction axis name"),
        ("Circle", "gamma margin remove_diagonal reduction name"),
        ("Huber", "delta reduction name"),
    ],
)
def test_losses_have_keras_order_of_arguments(name: str, order: str) -> None:
    cls = getattr(keras.losses, name)
    assert list(inspect.signature(cls).parameters)[: len(order.split())] == order.split()
    loss = cls.from_config(cls().get_config())
    assert loss == cls() and keras.losses.Dice("sum", "overlap", -1).axis == -1
