"""p_vision: models are built, drawn, moved, frozen, printed, saved and loaded."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision
import pyburn
from p_vision import Concatenate, Dense, Input, Model, Sequential, backend
from pyburn import nn


def test_as_its_users_wrote_it_down() -> None:
    model = Sequential(backend="NdArray")
    assert model.weights == []
    model.add(Dense(4))
    assert model.weights == []  # nothing is known about the inputs yet
    model = Sequential(backend="NdArray")
    model.add(Input(shape=(16,)))
    model.add(Dense(8))
    assert len(model.weights) == 2
    model.backend = "NdArray"
    assert model.backend == pyburn.device("ndarray")


@pytest.mark.parametrize("name", ["numpy", "Fusion(NdArray)", backend.NDARRAY, backend.FUSIONJITBACKEND, pyburn.device("ndarray")])
def test_backends_change_at_any_time(name: Any) -> None:
    model = Sequential([Input((3,)), Dense(2)])
    x, y = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
    model.compile("adam", "mse")
    before = model.predict(x, verbose=0)
    model.fit(x, y, verbose=0)
    model.set_weights(model.get_weights())
    model.backend = name
    assert all(weight.device == pyburn.device(name) for weight in model.weights)
    model.add(Dense(2))
    assert model.weights[-1].device == pyburn.device(name)
    losses = model.fit(x, y, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0] and before.shape == model.predict(x, verbose=0).shape


@pytest.mark.parametrize("name", ["wgpu", "no such thing", backend.PYTORCH])
def test_a_backend_that_is_not_here_names_those_that_are(name: Any) -> None:
    try:
        pyburn.device(name)
    except pyburn.DeviceError:
        with pytest.raises(pyburn.DeviceError, match="available here: ndarray"):
            Sequential(backend=name)
    else:
        assert Sequential([Input((1,)), Dense(1)], backend=name).backend == pyburn.device(name)


def test_layers_are_built_without_computing() -> None:
    huge = Input((40_000, 40_000, 3))
    drawn = p_vision.MaxPooling2D(10)(p_vision.Conv2D(8, 3, padding="same")(huge))  # terabytes, if it were computed
    assert drawn.shape == (None, 4_000, 4_000, 8)
    text = p_vision.GRU(5, return_sequences=True)(p_vision.Embedding(10, 4)(Input((None,), dtype="int32")))
    assert text.shape == (None, None, 5)
    for layer in (p_vision.LSTM(2), p_vision.GRU(2, reset_after=False, return_sequences=True)):
        assert layer(Input((10**9, 3))).shape[-1] == 2
    assert p_vision.Conv2D(4, 3, strides=2).compute_output_shape((None, 9, None, 1)) == (None, 4, None, 4)


def test_sequential_builds_with_data_or_a_shape() -> None:
    model = Sequential([Dense(4, activation="relu"), Dense(2)])
    assert model(pyburn.ones(3, 5)).shape == (3, 2) and len(model.weights) == 4
    other = Sequential([Dense(4)])
    other.build((None, 7))
    assert other.output_shape == (None, 4)
    assert Sequential([Dense(4, input_shape=(3,))]).input_shape == (None, 3)
    with pytest.raises(pyburn.ShapeError, match="expected an input of the shape"):
        other(pyburn.ones(2, 8))


def test_layers_are_popped_and_replaced() -> None:
    model = Sequential([Input((3,)), Dense(4), Dense(2)])
    last = model.pop()
    assert isinstance(last, Dense) and model.output_shape == (None, 4) and len(model) == 1
    model.add(Dense(5))
    assert model(pyburn.ones(1, 3)).shape == (1, 5)
    before = len(model.layers)
    with pytest.raises(ValueError, match="expected inputs of 4 axes"):
        model.add(p_vision.Conv2D(1, 1))
    assert len(model.layers) == before  # a layer that does not fit is not in the model


def test_a_layer_of_pyburn_is_a_layer() -> None:
    model = Sequential([Input((3,)), Dense(4), nn.Tanh(), nn.Linear(4, 2)])
    assert model.output_shape == (None, 2) and len(model.weights) == 4


def branches() -> Any:
    a, b = Input((4,), name="left"), Input((2,), name="right")
    shared = Dense(3, activation="relu", name="shared")
    first, second = shared(a), shared(p_vision.Dense(4)(b))
    joined = Concatenate()([first, second, first + second])
    return Model([a, b], {"score": Dense(1, name="score")(joined), "kind": Dense(2, activation="softmax", name="kind")(joined)})


def test_functional_models_share_layers_and_have_many_ends() -> None:
    model = branches()
    x = [np.ones((5, 4), np.float32), np.ones((5, 2), np.float32)]
    out = model.predict(x, verbose=0)
    assert out["score"].shape == (5, 1) and out["kind"].shape == (5, 2)
    assert len(model.weights) == 8
    np.testing.assert_array_equal(model.predict({"left": x[0], "right": x[1]}, verbose=0)["kind"], out["kind"])
    model.compile(
        "adam", {"score": "mse", "kind": "sparse_categorical_crossentropy"}, metrics={"kind": ["accuracy"]}, loss_weights={"kind": 2}
    )
    history = model.fit(x, {"score": np.ones((5, 1)), "kind": np.zeros(5, int)}, epochs=2, verbose=0).history
    assert set(history) == {"loss", "score_loss", "kind_loss", "kind_accuracy"}
    np.testing.assert_allclose(history["loss"], np.add(history["score_loss"], np.multiply(2, history["kind_loss"])), rtol=1e-5)


def test_part_of_a_drawing_is_a_model() -> None:
    model = Sequential([Input((3,)), Dense(4, name="features"), Dense(2)])
    part = Model(model.inputs, model.get_layer("features")(model.inputs[0]))
    assert part.output_shape == (None, 4) and part.weights[0] is model.weights[0]
    nested = Model(x := Input((3,)), Dense(1)(part(x, training=False)))
    assert len(nested.weights) == 4
    with pytest.raises(ValueError, match="not among the inputs"):
        Model(Input((3,)), Dense(1)(Input((3,))))


def test_models_may_be_classes() -> None:
    class Net(Model):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.head = Dense(4, activation="relu"), Dense(1)

        def call(self, inputs: Any, training: bool = False) -> Any:
            self.told = training
            return self.head(self.hidden(inputs))

    net = Net()
    losses = net.train(np.ones((8, 3)), np.ones((8, 1)), epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0] and net.told and len(net.weights) == 4
    net.predict(np.ones((2, 3)), verbose=0)
    assert not net.told
    with pytest.raises(NotImplementedError, match="save_weights"):
        net.save("net.pyburn")


def test_frozen_parts_stay() -> None:
    model = Sequential([Input((6,)), Dense(4), p_vision.BatchNormalization(), Dense(2)])
    model.layers[0].trainable = False
    model.layers[1].trainable = False
    before = model.get_weights()
    assert len(model.trainable_weights) == 2 and len(model.non_trainable_weights) == 6
    model.compile("adam", "mse")
    model.fit(np.random.rand(8, 6), np.random.rand(8, 2), verbose=0)
    same = [np.array_equal(a, b) for a, b in zip(before, model.get_weights())]
    assert same == [True] * 6 + [False] * 2  # the averages of a frozen normalisation too
    model.trainable = True
    model.fit(np.random.rand(8, 6), np.random.rand(8, 2), verbose=0)
    assert not any(np.array_equal(a, b) for a, b in zip(before, model.get_weights()))
    lazy = Dense(3, trainable=False)
    lazy(pyburn.ones(1, 2))
    assert lazy.trainable_weights == []


def test_any_module_gets_the_face() -> None:
    net = p_vision.as_model(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)), "ndarray")
    assert isinstance(net, nn.Sequential) and len(net.weights) == 8  # counters are no weights
    images, labels = pyburn.rand(12, 1, 8, 8), pyburn.arange(12) % 3
    assert net.train() is net and net.training and not net.train(False).training
    history = net.train([(images[:6], labels[:6]), (images[6:], labels[6:])], epochs=8, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0] and not net.training
    net.trainable = False
    net[4] = nn.Linear(144, 2)
    means = net[1].running_mean.clone()
    net.train((images, labels % 2), epochs=2, verbose=0)
    assert pyburn.equal(means, net[1].running_mean) and len(net.trainable_weights) == 2


def test_everything_prints() -> None:
    model = branches()
    assert "shared" in repr(model) and "Dense(3, activation='relu')" in repr(model)
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    assert "score (Dense)" in lines[0] and "Total params" in lines[0] and "shared, add" in lines[0]
    assert repr(Input((3,))) == "<Symbol shape=(None, 3), dtype=float32>"
    assert repr(p_vision.Conv2D(8, 3, padding="same")) == "Conv2D(8, (3, 3), padding='same')"
    assert repr(p_vision.Adam(0.5)) == "Adam(learning_rate=0.5)"


def test_models_are_saved_and_loaded(tmp_path: Path) -> None:
    model = branches()
    model.compile(p_vision.SGD(0.1, momentum=0.9), ["mse", p_vision.CategoricalCrossentropy(label_smoothing=0.1)], metrics=["mae"])
    model.layers[2].trainable = False
    model.save(tmp_path / "model.pyburn")
    again = p_vision.load_model(tmp_path / "model.pyburn", backend="numpy")
    x = [np.random.rand(5, 4), np.random.rand(5, 2)]
    np.testing.assert_allclose(again.predict(x, verbose=0)["kind"], model.predict(x, verbose=0)["kind"], rtol=1e-5)
    assert again.backend == pyburn.device("numpy") and repr(again.optimizer) == "SGD(learning_rate=0.1, momentum=0.9)"
    assert [w.requires_grad for w in again.weights] == [w.requires_grad for w in model.weights]
    wide = Sequential(
        [
            Input((8, 8, 1)),
            p_vision.Conv2D(4, 3, kernel_initializer=p_vision.HeNormal(), kernel_regularizer=p_vision.L2(0.1)),
            p_vision.BatchNormalization(),
            nn.ReLU(),
            p_vision.Reshape((-1, 4)),
            p_vision.Bidirectional(p_vision.LSTM(3)),
            Sequential([Dense(2)]),
            nn.Linear(2, 5),
        ]
    )
    file = io.BytesIO()
    wide.save(file)
    again = p_vision.load_model(io.BytesIO(file.getvalue()))
    assert repr(again) == repr(wide) and again.layers[0].losses[0] == wide.layers[0].losses[0]
    images = np.random.rand(3, 8, 8, 1)
    np.testing.assert_array_equal(again.predict(images, verbose=0), wide.predict(images, verbose=0))


def test_weights_are_saved_and_loaded(tmp_path: Path) -> None:
    one, other = (Sequential([Input((3,)), Dense(4), Dense(2, name=name)]) for name in ("a", "b"))
    one.save_weights(tmp_path / "weights.pyburn")
    other.load_weights(tmp_path / "weights.pyburn")  # in their order: the names are others
    assert all(pyburn.equal(a, b) for a, b in zip(one.weights, other.weights))
    pyburn.io.safetensors.save_file(one.state_dict(), tmp_path / "weights.safetensors")
    one.load_weights(tmp_path / "weights.safetensors")
    with pytest.raises(pyburn.FormatError, match=r"b\.kernel"):
        other.load_weights(tmp_path / "weights.safetensors")
    with pytest.raises(pyburn.FormatError, match="weights"):
        Sequential([Input((3,)), Dense(4)]).load_weights(tmp_path / "weights.pyburn")
    with pytest.raises(pyburn.FormatError, match="no model of p_vision"):
        p_vision.load_model(tmp_path / "weights.pyburn")


def saved(config: Any, tensors: Any = ()) -> io.BytesIO:
    file = io.BytesIO()
    pyburn.io.Bundle.save(file, dict(tensors), config={"p_vision": 1, "model": config})
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize(
    "config",
    [
        None,
        {"class": "os.system", "config": {}},
        {"class": "load_model", "config": {}},
        {"class": "Dense", "config": {"units": 3}},
        {"class": "Sequential", "config": {"layers": [{"class": "Dense", "config": {"units": -1}}]}},
        {"class": "Sequential", "config": {"layers": [{"class": "Dense", "config": {"units": 2, "no": 1}}]}},
        {"class": "Sequential", "config": {"layers": 7}},
        {"class": "Model", "config": {"parts": [], "calls": [[0, [], {}]], "inputs": {}, "outputs": {}}},
        {"class": "Model", "config": {"parts": [], "calls": [], "inputs": {"symbol": [4, 4]}, "outputs": {}}},
        {"class": "PlainLayer", "config": {"kind": "Module", "options": {}}},
        {
            "class": "Sequential",
            "config": {
                "layers": [
                    {"class": "InputLayer", "config": {"batch_shape": [None, 10**9]}},
                    {"class": "Dense", "config": {"units": 10**9}},  # more memory than there is: not taken before it is found
                ]
            },
        },
    ],
)
def test_files_are_not_trusted(config: Any) -> None:
    with pytest.raises(pyburn.FormatError):
        p_vision.load_model(saved(config))


def test_layers_of_ones_own_are_saved() -> None:
    class Scale(p_vision.Layer):
        def __init__(self, start: float = 1.0, **options: Any) -> None:
            super().__init__(**options)
            self.start = start

        def build(self, input_shape: Any) -> None:
            self.factor = self.add_weight(shape=input_shape[-1:], initializer=p_vision.Constant(self.start))

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    model = Sequential([Input((2,)), Scale(3.0)])
    file = io.BytesIO()
    model.save(file)
    with pytest.raises(pyburn.FormatError, match="custom_objects"):
        p_vision.load_model(io.BytesIO(file.getvalue()))
    again = p_vision.load_model(io.BytesIO(file.getvalue()), custom_objects={"Scale": Scale})
    np.testing.assert_array_equal(again.predict(np.ones((1, 2)), verbose=0), [[3, 3]])


def test_names_are_found_and_typed() -> None:
    models = pytest.importorskip("p_vision.models")
    for name in p_vision.__all__:
        assert getattr(p_vision, name) is not None
    assert {name for name, place in p_vision.names.PLACES.items() if place == "zoo"} == set(models.list_models())


# `backend` is an enumeration in the place of its module; the models are tested in test_models.py.
@pytest.mark.parametrize(
    "name", sorted(m.name for m in pkgutil.walk_packages(p_vision.__path__, "p_vision.") if m.name != "p_vision.backend")
)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), extraglobs={"p_vision": p_vision, "pyburn": pyburn})
    assert not result.failed


LAYERS = [name for name in p_vision.layers.__dir__() if isinstance(getattr(p_vision.layers, name), type)]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_describe_all_of_their_arguments(name: str) -> None:
    cls = getattr(p_vision.layers, name)
    if not issubclass(cls, p_vision.Layer):
        return
    args = inspect.getdoc(cls).split("Args:", 1)[-1]
    for parameter in inspect.signature(cls).parameters.values():
        assert re.search(rf"^    (\*\*)?{parameter.name}: \S", args, re.MULTILINE), f"{name}: {parameter.name}"


def test_declared_layers_take_their_arguments_as_functions_do() -> None:
    assert list(inspect.signature(Dense).parameters)[:3] == ["units", "activation", "use_bias"]
    assert list(inspect.signature(p_vision.LSTM).parameters)[:4] == ["units", "activation", "recurrent_activation", "use_bias"]
    assert inspect.signature(p_vision.RandomRotation).parameters["fill_mode"].kind is inspect.Parameter.KEYWORD_ONLY
    assert p_vision.Conv2D(2, 3, 2, "same").strides == (2, 2) and p_vision.MixUp(0.3, None, 7).seed == 7
    with pytest.raises(TypeError, match=r"Dense\(\) missing required argument: 'units'"):
        Dense(activation="relu")
    with pytest.raises(TypeError, match="multiple values for argument 'units'"):
        Dense(3, units=4)
    with pytest.raises(TypeError, match="takes 3 positional arguments"):
        p_vision.Dropout(0.5, None, 1, 2)
    with pytest.raises(TypeError, match="'activaton'; did you mean 'activation'"):
        Dense(3, activaton="relu")

    class Wide(Dense):  # a subclass with a constructor of its own, as users write them
        def __init__(self, factor: int, **options: object) -> None:
            super().__init__(4 * factor, **options)
            self.factor = factor

    layer = Wide(2, activation="relu", name="wide")
    assert layer.units == 8 and list(inspect.signature(Wide).parameters) == ["factor", "options"]
    assert layer.get_config() == {"factor": 2, "name": "wide"}


def test_mistakes_are_named() -> None:
    with pytest.raises(AttributeError):
        p_vision.no_such_name  # noqa: B018
    with pytest.raises(ValueError, match="did you mean 'relu'"):
        Dense(3, activation="rleu")
    with pytest.raises(ValueError, match="positive integer"):
        Dense(0)
