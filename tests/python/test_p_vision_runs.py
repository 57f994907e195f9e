"""What programs in Keras's words use around a model: weights that assign, optimisers of one's own, callbacks, files, folders, plots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import p_vision as keras
import pyburn
from p_vision import layers, ops

X = np.random.default_rng(0).standard_normal((64, 4)).astype("float32")
Y = X[:, :1] * 2 + 1


def small(**options: Any) -> Any:
    model = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation=keras.activations.relu), layers.Dense(1)])
    model.compile(options.pop("optimizer", "adam"), "mse", **options)
    return model


def test_weights_assign_and_have_names() -> None:
    model = small()
    kernel, bias = model.layers[0].weights
    assert (kernel.name, bias.path) == ("kernel", "dense/bias") and kernel.trainable
    kernel.assign(np.ones((4, 8)))
    bias.assign_add(np.full(8, 2.0))
    bias.assign_sub(0.5)
    assert kernel.numpy().sum() == 32 and bias.numpy().tolist() == [1.5] * 8
    with pytest.raises(pyburn.ShapeError, match=r"\(4, 8\): got \(8, 4\)"):
        kernel.assign(np.ones((8, 4)))
    count = keras.Variable(0.0, trainable=False)
    assert float(count.assign_add(2.0)) == 2.0 and not count.trainable
    norm = layers.BatchNormalization()
    norm.build_for((None, 3))
    norm.moving_mean.assign([1.0, 2.0, 3.0])
    assert [name for name, _ in norm.named_buffers()] == ["moving_mean", "moving_variance"] and norm.get_weights()[2].tolist() == [1, 2, 3]


class Masked(keras.Layer):
    """A convolution that hides a part of its kernel, and a normalisation that it calls twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = layers.Conv1D(3, 2), layers.LayerNormalization()

    def build(self, input_shape: Any) -> None:
        self.conv.build_for(input_shape)
        self.mask = np.zeros(tuple(self.conv.kernel.shape), "float32")
        self.mask[0] = 1

    def call(self, inputs: Any) -> Any:
        self.conv.kernel.assign(self.conv.kernel * pyburn.tensor(self.mask, device=self.conv.kernel.device))
        return self.norm(self.norm(self.conv(inputs)))


def test_layers_of_ones_own_assign_and_call_parts_twice() -> None:
    inputs = keras.Input((5, 2))
    layer = Masked()
    model = keras.Model(inputs, layer(inputs))
    assert model(np.ones((1, 5, 2), "float32")).shape == (1, 4, 3) and not layer.conv.kernel[1].any()


class Plain(keras.optimizers.Optimizer):
    """Gradient descent with momentum, written as Keras has it."""

    def __init__(self, learning_rate: float = 0.01, **options: Any) -> None:
        super().__init__(learning_rate, **options)

    def build(self, variables: Any) -> None:
        self.speeds = {id(v): self.add_variable_from_reference(v, "speed") for v in variables}

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        speed = self.speeds[id(variable)]
        self.assign(speed, 0.9 * speed - learning_rate * gradient)
        self.assign_add(variable, speed)


def test_an_optimiser_of_ones_own_is_that_of_keras() -> None:
    keras.utils.set_random_seed(0)
    own, known = small(optimizer=Plain(0.01)), small(optimizer=keras.optimizers.SGD(0.01, momentum=0.9))
    known.set_weights(own.get_weights())
    for model in (own, known):
        model.fit(X, Y, epochs=2, shuffle=False, verbose=0)
    for a, b in zip(own.get_weights(), known.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_scaled_loss_gives_the_same_steps_and_leaves_out_bad_ones() -> None:
    inner = small(optimizer="sgd")
    scaled = small(optimizer=keras.optimizers.LossScaleOptimizer("sgd", initial_scale=1024.0, dynamic_growth_steps=3))
    fixed = small(optimizer=keras.optimizers.SGD(loss_scale_factor=64.0))
    for model in (scaled, fixed):
        model.set_weights(inner.get_weights())
    for model in (inner, scaled, fixed):
        model.fit(X, Y, epochs=2, batch_size=32, shuffle=False, verbose=0)
    for a, b, c in zip(inner.get_weights(), scaled.get_weights(), fixed.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(a, c, rtol=1e-4, atol=1e-6)
    assert scaled.optimizer.dynamic_scale == 2048.0
    before = scaled.get_weights()
    scaled.train_on_batch(X * np.float32("inf"), Y)
    assert scaled.optimizer.dynamic_scale == 1024.0
    for a, b in zip(before, scaled.get_weights()):
        assert (a == b).all()


def test_weights_do_not_decay_where_told() -> None:
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    model = small(optimizer=optimizer)
    model.layers[0].bias.assign(np.ones(8))
    model.layers[0].kernel.assign(np.ones((4, 8)))
    optimizer.apply([pyburn.zeros_like(w) for w in model.trainable_weights], model.trainable_weights)
    assert model.layers[0].bias.numpy().tolist() == [1.0] * 8 and abs(model.layers[0].kernel.numpy()[0, 0] - 0.95) < 1e-6


class Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == 1:
            raise KeyboardInterrupt


def test_a_backup_resumes_an_interrupted_fit(tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    whole, broken = small(), small()
    start = whole.get_weights()
    broken.set_weights(start)
    whole.fit(X, Y, epochs=4, shuffle=False, verbose=0)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(
            X, Y, epochs=4, shuffle=False, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(backup, delete_checkpoint=False), Stop()]
        )
    again = small()
    history = again.fit(X, Y, epochs=4, shuffle=False, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(backup)])
    assert history.epoch == [2, 3] and not (backup / "backup.pyburn").exists()
    for a, b in zip(again.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_tensorboard_files_and_averages(tmp_path: Path) -> None:
    model = small(optimizer=keras.optimizers.Adam(use_ema=True, ema_momentum=0.5))
    board = keras.callbacks.TensorBoard(tmp_path / "logs", update_freq="batch")
    model.fit(X, Y, epochs=2, verbose=0, validation_data=(X, Y), callbacks=[board, keras.callbacks.SwapEMAWeights()])
    written = {path.parent.name: path.read_bytes() for path in (tmp_path / "logs").rglob("events.*")}
    assert set(written) == {"train", "validation"}
    assert b"epoch_loss" in written["train"] and b"batch_loss" in written["train"] and b"epoch_loss" in written["validation"]
    with pytest.raises(ValueError, match="use_ema"):
        small().fit(X, Y, verbose=0, validation_data=(X, Y), callbacks=[keras.callbacks.SwapEMAWeights()])


@keras.saving.register_keras_serializable(package="tests")
class Twice(keras.Layer):
    def call(self, inputs: Any) -> Any:
        return 2 * inputs


@keras.saving.register_keras_serializable(package="tests")
def half(x: Any) -> Any:
    return x / 2


def test_registered_classes_are_found_in_files(tmp_path: Path) -> None:
    model = keras.Sequential(
        [keras.Input((4,)), Twice(), layers.Dense(2, activation=half), layers.Dense(1, activation=keras.activations.gelu)]
    )
    model.save(tmp_path / "model.pyburn")
    again = keras.load_model(tmp_path / "model.pyburn")
    np.testing.assert_allclose(again.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-5)
    config = layers.serialize(layers.Dense(3, kernel_regularizer=keras.regularizers.l2(0.1)))
    assert repr(layers.deserialize(json.loads(json.dumps(config)))) == "Dense(3, kernel_regularizer=L2(l2=0.1))"
    assert isinstance(keras.optimizers.deserialize({"class_name": "SGD", "config": {"learning_rate": 0.5}}), keras.optimizers.SGD)
    with pytest.raises(pyburn.FormatError, match="no class 'Thrice'"):
        layers.deserialize({"class_name": "Thrice", "config": {}})


@keras.saving.register_keras_serializable(package="tests")
class Renamed(keras.Layer):
    """Keeps an argument under another name, and a model in it."""

    def __init__(self, units: int, inner: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.hidden_units = units
        self.inner = inner if inner is not None else keras.Sequential([keras.Input((4,)), layers.Dense(units)])

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs) * self.hidden_units

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.update({"units": self.hidden_units, "inner": self.inner})
        return config


def test_a_layer_that_says_its_own_config_is_saved(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), Renamed(3)])
    model.save(tmp_path / "model.pyburn")
    again = keras.load_model(tmp_path / "model.pyburn")
    np.testing.assert_allclose(again.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-6)


OPTIMIZERS = {
    "adam": lambda: keras.optimizers.Adam(0.01, amsgrad=True),
    "sgd": lambda: keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.8), momentum=0.9),
    "averaged": lambda: keras.optimizers.RMSprop(0.01, use_ema=True, ema_momentum=0.8),
    "gathering": lambda: keras.optimizers.Adam(0.01, gradient_accumulation_steps=3),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01), dynamic_growth_steps=3),
    "adafactor": lambda: keras.optimizers.Adafactor(0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_model_from_a_file_is_trained_on(name: str, tmp_path: Path) -> None:
    pyburn.manual_seed(0)
    model = small(optimizer=OPTIMIZERS[name]())
    model.layers[0].trainable = False  # thawed later, so that the optimizer meets it last
    model.fit(X, Y, shuffle=False, verbose=0)
    model.layers[0].trainable = True
    model.fit(X, Y, shuffle=False, verbose=0)
    model.save(tmp_path / "model.pyburn")
    again = keras.load_model(tmp_path / "model.pyburn", None, True, False)
    rows = [part.fit(X, Y, epochs=2, shuffle=False, verbose=0).history["loss"] for part in (model, again)]
    assert rows[0] == rows[1] and again.optimizer.iterations == model.optimizer.iterations == 8
    for ours, theirs in zip(again.get_weights(), model.get_weights()):
        np.testing.assert_array_equal(ours, theirs)
    fresh = small()
    fresh.load_weights(tmp_path / "model.pyburn")  # the weights alone
    uncompiled = keras.load_model(tmp_path / "model.pyburn", compile=False)
    assert not uncompiled.compiled and [w.shape for w in uncompiled.weights] == [w.shape for w in model.weights]


def test_the_state_of_an_optimizer_is_not_trusted(tmp_path: Path) -> None:
    model = small()
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "model.pyburn")
    bundle = pyburn.io.Bundle(tmp_path / "model.pyburn")
    tensors = {name: tensor.load() for name, tensor in bundle.tensors.items()}
    for change in ({"trained": ["nobody"]}, {"trained": 3}, {"iterations": "many"}, {"state": {"optimizer.x.step": 1}}, {"state": 3}):
        config = {**bundle.config, "optimizer": {**bundle.config["optimizer"], **change}}
        pyburn.io.Bundle.save(tmp_path / "bad.pyburn", tensors, config=config)
        with pytest.raises(pyburn.FormatError, match="the state of the optimizer is damaged"):
            keras.load_model(tmp_path / "bad.pyburn")
    state = next(name for name in tensors if name.startswith("/optimizer.0.exp"))
    pyburn.io.Bundle.save(tmp_path / "bad.pyburn", {**tensors, state: pyburn.ones(3)}, config=bundle.config)
    with pytest.raises((pyburn.FormatError, pyburn.ShapeError)):
        keras.load_model(tmp_path / "bad.pyburn").fit(X, Y, verbose=0)


def test_a_backup_keeps_averages(tmp_path: Path) -> None:
    def interrupted(model: Any, epoch: int) -> None:
        if epoch == 1:
            raise KeyboardInterrupt

    found = []
    for stops in (False, True):
        pyburn.manual_seed(0)
        model = small(optimizer=OPTIMIZERS["averaged"]())
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
        options = {"epochs": 3, "shuffle": False, "verbose": 0}
        if stops:
            stop = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: interrupted(model, epoch))  # noqa: B023
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, Y, callbacks=[backup, stop], **options)
            pyburn.manual_seed(5)
            model = small(optimizer=OPTIMIZERS["averaged"]())
        model.fit(X, Y, callbacks=[backup], **options)
        found.append(model.get_weights())
    for ours, theirs in zip(*found):
        np.testing.assert_array_equal(ours, theirs)


def test_pictures_in_folders(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    for number in range(6):
        folder = tmp_path / "data" / ("cats" if number % 2 else "dogs")
        folder.mkdir(parents=True, exist_ok=True)
        keras.utils.save_img(folder / f"{number}.png", np.full((8, 6, 3), number * 40.0), scale=False)
    (tmp_path / "torn.png").write_bytes((tmp_path / "data/cats/1.png").read_bytes()[:40])
    with pytest.raises(OSError, match=r"torn\.png"):
        keras.utils.load_img(tmp_path / "torn.png")
    with pytest.raises(FileNotFoundError):
        keras.utils.load_img(tmp_path / "nowhere.png")
    array = keras.utils.img_to_array(keras.utils.load_img(tmp_path / "data/cats/1.png", target_size=(4, 4)))
    assert array.shape == (4, 4, 3) and array[0, 0, 0] == 40
    train, rest = keras.utils.image_dataset_from_directory(
        tmp_path / "data", image_size=(4, 4), batch_size=2, validation_split=0.5, subset="both", seed=1, verbose=False
    )
    assert train.class_names == ["cats", "dogs"] and len(train) == 2 and set(train.file_paths).isdisjoint(rest.file_paths)
    scaled = train.map(lambda x, y: (x / 255.0, y)).cache().prefetch(2)
    shapes = [tuple(x.shape) for x, _ in scaled]
    assert shapes == [(2, 4, 4, 3), (1, 4, 4, 3)] and len(scaled.take(1)) == 1
    model = keras.Sequential([keras.Input((4, 4, 3)), layers.Flatten(), layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    assert len(model.fit(scaled, validation_data=rest, epochs=2, verbose=0).history["val_loss"]) == 2
    with pytest.raises(ValueError, match="seed is needed"):
        keras.utils.image_dataset_from_directory(tmp_path / "data", validation_split=0.5, subset="training", verbose=False)


def test_initializers_take_seeds_and_random_numbers_repeat() -> None:
    for kind in ("RandomNormal", "HeNormal", "GlorotUniform", "Orthogonal", "TruncatedNormal"):
        make = getattr(keras.initializers, kind)
        assert pyburn.equal(make(seed=3)((4, 3)), make(seed=3)((4, 3))) and not pyburn.equal(make(seed=3)((4, 3)), make(seed=4)((4, 3)))
    random = keras.random
    assert pyburn.equal(random.normal((3,), seed=1), random.normal((3,), seed=1))
    source = random.SeedGenerator(1)
    assert not pyburn.equal(random.uniform((3,), seed=source), random.uniform((3,), seed=source))
    draws = random.gamma((4000,), 2.5, seed=0)
    assert abs(float(draws.mean()) - 2.5) < 0.1 and abs(float(draws.var()) - 2.5) < 0.3
    assert abs(float(random.beta((4000,), 2.0, 3.0, seed=0).mean()) - 0.4) < 0.02
    assert abs(float(random.binomial((4000,), 10, 0.3, seed=0).mean()) - 3.0) < 0.1
    assert random.categorical(np.array([[0.0, 50.0]]), 5, seed=0).tolist() == [[1] * 5]
    assert sorted(random.shuffle(np.arange(5), seed=0).tolist()) == [0, 1, 2, 3, 4]


def test_trees_plots_and_bars(tmp_path: Path, capsys: Any) -> None:
    nested = {"b": [1, (2, 3)], "a": 4}
    assert keras.tree.flatten(nested) == [4, 1, 2, 3]
    assert keras.tree.map_structure(lambda x: x + 1, nested) == {"b": [2, (3, 4)], "a": 5}
    assert keras.tree.pack_sequence_as(nested, [0, 1, 2, 3]) == {"b": [1, (2, 3)], "a": 0}
    path = keras.utils.plot_model(small(), tmp_path / "model.dot", show_shapes=True)
    assert path is not None and "(None, 8)" in Path(path).read_text() and "->" in Path(path).read_text()
    bar = keras.utils.Progbar(2, verbose=2)
    bar.update(1, [("loss", 1.0)])
    bar.update(2, [("loss", 3.0)])
    assert "loss: 2.0000" in capsys.readouterr().out


def test_a_last_axis_of_one_may_be_left_out() -> None:
    model = keras.Sequential([keras.Input((4, 4, 1)), layers.Flatten(), layers.Dense(1)])
    pictures = np.random.default_rng(0).random((3, 4, 4)).astype("float32")
    np.testing.assert_allclose(model.predict(pictures, verbose=0), model.predict(pictures[..., None], verbose=0))
    assert float(ops.mean(ops.greater(np.array([1.0, 3.0]), 2.0))) == 0.5
    real, imaginary = ops.fft2((X, X * 0))
    expected = np.fft.fft2(X)
    np.testing.assert_allclose(real, expected.real, atol=1e-4)
    np.testing.assert_allclose(imaginary, expected.imag, atol=1e-4)


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    # From Martins and Astudillo, 2016. Rows of Keras 3.15's own do not sum to one, so there is no golden.
    rows = keras.activations.sparsemax(pyburn.tensor(X))
    np.testing.assert_allclose(rows.sum(-1), np.ones(64), rtol=1e-5)
    np.testing.assert_allclose(keras.activations.sparsemax(pyburn.tensor([[0.5, 0.3, -1.0]])), [[0.6, 0.4, 0.0]], rtol=1e-5)


def test_files_are_replaced_and_weights_left_out_when_told(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="body"), layers.Dense(2, name="head")])
    path = tmp_path / "weights.pyburn"
    model.save_weights(path)
    for write in (model.save_weights, model.save):
        with pytest.raises(FileExistsError, match="overwrite is False"):
            write(path, overwrite=False)
    other = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="body"), layers.Dense(5, name="head")])
    head = other.layers[1].get_weights()
    with pytest.raises(pyburn.ShapeError, match=r"head\.kernel"):
        other.load_weights(path)
    with pytest.warns(UserWarning, match=r"head\.kernel, head\.bias"):
        other.load_weights(path, skip_mismatch=True)
    np.testing.assert_array_equal(other.layers[0].get_weights()[0], model.layers[0].get_weights()[0])
    np.testing.assert_array_equal(other.layers[1].get_weights()[0], head[0])


def test_tables_show_what_is_nested_and_trained() -> None:
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="hidden")], name="inner")
    inner.trainable = False
    model = keras.Sequential([keras.Input((4,)), inner, layers.Dense(2), layers.ReLU()])
    lines: list[str] = []
    model.summary(print_fn=lines.append, expand_nested=True, show_trainable=True)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines[0].splitlines() if line.startswith("│")]
    assert [(row[0], row[-1]) for row in rows[1:]] == [
        ("inner (Sequential)", "N"),
        ("└ hidden (Dense)", "N"),
        ("dense (Dense)", "Y"),
        ("re_lu (ReLU)", "-"),
    ]
    model.summary(print_fn=lines.append)
    assert "Trainable │" not in lines[1] and "hidden" not in lines[1]


def test_steps_for_predictions() -> None:
    class Doubled(keras.Model):
        def predict_step(self, data: Any) -> Any:
            return 2 * super().predict_step(data)

    inputs = keras.Input((3,))
    model = Doubled(inputs, layers.ReLU()(inputs))
    np.testing.assert_allclose(model.predict(np.ones((2, 3)), verbose=0), 2.0)
    model.compile(loss="mse", metrics=["mae"])
    model.evaluate(np.ones((2, 3)), np.zeros((2, 3)), verbose=0)
    assert model.get_metrics_result() == {"loss": 1.0, "mae": 1.0} and model.trainable_variables == []
