"""Small programs in the words of Keras's guides.

They run on Keras (by tools/make_keras_goldens.py) and on p_vision from the same weights, and give numbers that must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.standard_normal((48, 12, 12, 1)).astype("float32")
ROWS = IMAGES.reshape(48, 144)
CLASSES = RANDOM.integers(0, 10, 48)
WORDS = RANDOM.integers(1, 30, (24, 9)) * (np.arange(9) < RANDOM.integers(2, 10, (24, 1)))  # zeros behind
ANSWERS = RANDOM.integers(0, 2, 24)
SERIES = RANDOM.standard_normal((16, 7, 3)).astype("float32") * (RANDOM.random((16, 7, 1)) > 0.3)

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}
Start = Callable[[Any], None]  # gives a model the weights that it has on both sides


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


def fitted(model: Any, x: Any, y: Any = None, **options: Any) -> dict[str, list[float]]:
    history = model.fit(x, y, **{"batch_size": 16, "epochs": 2, "shuffle": False, "verbose": 0, **options}).history
    return {name: [float(value) for value in values] for name, values in history.items()}


@program
def convnet(keras: Any, start: Start) -> Any:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input(shape=(12, 12, 1)),
            layers.Conv2D(4, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    start(model)
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    targets = keras.utils.to_categorical(CLASSES, 10)
    return [fitted(model, IMAGES, targets, validation_split=0.25), model.evaluate(IMAGES, targets, verbose=0)]


@program
def several_inputs_and_outputs(keras: Any, start: Start) -> Any:
    layers = keras.layers
    title, body, tags = keras.Input((None,), name="title"), keras.Input((None,), name="body"), keras.Input((4,), name="tags")
    read = layers.LSTM(5)(layers.Embedding(30, 6)(title)), layers.LSTM(3)(layers.Embedding(30, 6)(body))
    joined = layers.concatenate([*read, tags])
    outputs = {"priority": layers.Dense(1, name="priority")(joined), "kind": layers.Dense(3, name="kind")(joined)}
    model = keras.Model(inputs=[title, body, tags], outputs=outputs)
    start(model)
    losses = {
        "priority": keras.losses.BinaryCrossentropy(from_logits=True),
        "kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    }
    model.compile(keras.optimizers.RMSprop(1e-3), losses, loss_weights={"priority": 1.0, "kind": 0.2})
    inputs = {"title": WORDS, "body": WORDS[::-1].copy(), "tags": SERIES[:, :4, 0].repeat(2, 0)[:24]}
    return fitted(model, inputs, {"priority": ANSWERS[:, None].astype("float32"), "kind": CLASSES[:24] % 3})


@program
def features_of_a_layer(keras: Any, start: Start) -> Any:
    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(4, name="first"), keras.layers.Dense(3, name="second")])
    start(model)
    features = keras.Model(model.inputs, [layer.output for layer in model.layers])
    first = keras.Model(model.inputs[0], model.get_layer("first").output)
    return [part.tolist() for part in [*features.predict(ROWS[:2], verbose=0), first.predict(ROWS[:2], verbose=0)]]


@program
def masked_words(keras: Any, start: Start) -> Any:
    layers = keras.layers
    words = keras.Input((None,), dtype="int32")
    x = layers.Embedding(30, 6, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(x)
    x = layers.LayerNormalization()(layers.Dropout(0.0)(x))
    x = layers.Concatenate()([x, layers.GRU(3, return_sequences=True)(x)])
    x = layers.Concatenate()([layers.LSTM(4)(x), layers.GlobalAveragePooling1D()(x), layers.SimpleRNN(3)(x)])
    model = keras.Model(words, layers.Dense(1, activation="sigmoid")(x))
    start(model)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    in_front = keras.utils.pad_sequences([row[row > 0].tolist() for row in WORDS], maxlen=7)
    return [fitted(model, WORDS, ANSWERS), fitted(model, in_front, ANSWERS, epochs=1), in_front.tolist()]


@program
def masked_steps(keras: Any, start: Start) -> Any:
    layers = keras.layers
    steps = [layers.Masking(mask_value=0.0), layers.GRU(5, return_sequences=True), layers.BatchNormalization(momentum=0.9)]
    model = keras.Sequential([keras.Input((7, 3)), *steps, layers.TimeDistributed(layers.Dense(4, activation="softmax"))])
    start(model)
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return [
        fitted(model, SERIES, CLASSES[:16, None].repeat(7, 1) % 4),
        model.evaluate(SERIES, CLASSES[:16, None].repeat(7, 1) % 4, verbose=0),
    ]


@program
def stateful_layer(keras: Any, start: Start) -> Any:
    model = keras.Sequential([keras.Input(batch_shape=(4, 7, 3)), keras.layers.LSTM(5, stateful=True), keras.layers.Dense(1)])
    start(model)
    first, second = (model.predict(SERIES[:4], batch_size=4, verbose=0).tolist() for _ in range(2))
    model.layers[0].reset_state()
    return [first, second, model.predict(SERIES[:4], batch_size=4, verbose=0).tolist()]


@program
def states_of_another_layer(keras: Any, start: Start) -> Any:
    layers = keras.layers
    read, write = keras.Input((None, 3)), keras.Input((None, 3))
    _, *states = layers.LSTM(4, return_state=True)(read)
    model = keras.Model([read, write], layers.LSTM(4, return_sequences=True)(write, initial_state=states))
    start(model)
    return model.predict([SERIES, SERIES[:, :3].copy()], verbose=0).tolist()


@program
def attention(keras: Any, start: Start) -> Any:
    layers = keras.layers
    read, write = keras.Input((7, 3)), keras.Input((4, 3))
    x = layers.MultiHeadAttention(num_heads=2, key_dim=4)(write, read)
    x = layers.MultiHeadAttention(num_heads=2, key_dim=3, value_dim=5)(x, x, use_causal_mask=True)
    x = layers.Add()(
        [layers.Attention()([x, read]), layers.AdditiveAttention()([x, read]), layers.Attention(score_mode="concat")([x, read])]
    )
    model = keras.Model([read, write], layers.UnitNormalization()(x))
    start(model)
    return model.predict([SERIES, SERIES[:, :4].copy()], verbose=0).tolist()


@program
def limits_on_weights(keras: Any, start: Start) -> Any:
    layers, limits = keras.layers, keras.constraints
    model = keras.Sequential(
        [
            keras.Input((144,)),
            layers.Dense(8, kernel_constraint=limits.MaxNorm(0.5), bias_constraint="non_neg"),
            layers.Dense(6, kernel_constraint=limits.UnitNorm(axis=0)),
            layers.Dense(1, kernel_constraint=limits.MinMaxNorm(0.2, 0.6, rate=0.7)),
        ]
    )
    start(model)
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return [fitted(model, ROWS, CLASSES / 10), [weight.tolist() for weight in model.get_weights()[1:]]]


@program
def penalties(keras: Any, start: Start) -> Any:
    inputs = keras.Input((144,))
    code = keras.layers.Dense(8, activation="relu", activity_regularizer=keras.regularizers.L1(1e-2))(inputs)
    model = keras.Model(inputs, keras.layers.Dense(144, kernel_regularizer="l2")(code))
    start(model)
    model.compile("adam", "mse")
    return fitted(model, ROWS, ROWS)


@program
def loss_in_a_layer(keras: Any, start: Start) -> Any:
    class Endpoint(keras.layers.Layer):
        def call(self, targets: Any, logits: Any) -> Any:
            self.add_loss(keras.losses.BinaryCrossentropy(from_logits=True)(targets, logits))
            return keras.ops.softmax(logits)

    inputs, targets = keras.Input((144,), name="inputs"), keras.Input((3,), name="targets")
    model = keras.Model([inputs, targets], Endpoint()(targets, keras.layers.Dense(3)(inputs)))
    start(model)
    model.compile(optimizer="adam")
    return fitted(model, {"inputs": ROWS, "targets": ROWS[:, :3] > 0})


@program
def weighted_examples(keras: Any, start: Start) -> Any:
    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(10, activation="softmax")])
    start(model)
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy"])
    by_class = fitted(model, ROWS, CLASSES, class_weight={k: 2.0 if k == 5 else 1.0 for k in range(10)})
    by_example = fitted(model, ROWS, CLASSES, sample_weight=np.linspace(0.5, 1.5, 48))
    return [by_class, by_example, model.evaluate(ROWS, CLASSES, sample_weight=np.linspace(0, 1, 48), verbose=0, return_dict=True)]


@program
def own_metric_and_loss(keras: Any, start: Start) -> Any:
    ops = keras.ops

    class Right(keras.metrics.Metric):
        def __init__(self, name: str = "right", **options: Any) -> None:
            super().__init__(name=name, **options)
            self.count = self.add_variable(shape=(), name="count", initializer="zeros")

        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
            said = ops.reshape(ops.argmax(y_pred, axis=1), (-1, 1))
            self.count.assign_add(ops.sum(ops.cast(ops.equal(ops.cast(y_true, "int32"), ops.cast(said, "int32")), "float32")))

        def result(self) -> Any:
            return self.count

        def reset_state(self) -> None:
            self.count.assign(0)

    class Careful(keras.losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return ops.mean(ops.square(ops.one_hot(ops.squeeze(ops.cast(y_true, "int32"), -1), 10) - y_pred), axis=-1) + 0.1 * ops.max(
                y_pred, axis=-1
            )

    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(10, activation="softmax")])
    start(model)
    model.compile(keras.optimizers.SGD(0.1), Careful(), metrics=[Right()])
    return fitted(model, ROWS, CLASSES[:, None])


@program
def own_layer_and_arithmetic(keras: Any, start: Start) -> Any:
    ops = keras.ops

    class Linear(keras.layers.Layer):
        def __init__(self, units: int = 8) -> None:
            super().__init__()
            self.units = units

        def build(self, input_shape: Any) -> None:
            self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True, name="w")
            self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True, name="b")

        def call(self, inputs: Any) -> Any:
            return ops.matmul(inputs, self.w) + self.b

    class Block(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.parts = keras.Sequential([Linear(6), keras.layers.Activation("relu")])
            self.last = Linear(4)

        def call(self, inputs: Any) -> Any:
            return self.last(self.parts(inputs)) + ops.cast(ops.arange(4), "float32")

    inputs = keras.Input((144,))
    x = Block()(1.0 - inputs / 2.0)
    x = ops.maximum(x, 0.1)[:, :3] ** 2
    x = ops.sum(x * ops.softmax(x), axis=-1, keepdims=True)
    model = keras.Model(inputs, ops.concatenate([x, ops.mean(inputs, axis=1, keepdims=True)], axis=-1))
    start(model)
    model.compile("adam", "mse")
    return [fitted(model, ROWS, ROWS[:, :2]), model.predict(ROWS[:3], verbose=0).tolist()]


@program
def calls_of_callbacks(keras: Any, start: Start) -> Any:
    names = [f"on_{what}_{end}" for what in ("train", "epoch", "test", "predict") for end in ("begin", "end")]
    names += [f"on_{what}_batch_{end}" for what in ("train", "test", "predict") for end in ("begin", "end")]
    log: list[Any] = []

    def noted(name: str) -> Any:
        def note(self: Any, *args: Any, logs: Any = None) -> None:
            given = [part for part in (*args, logs) if isinstance(part, dict)]
            log.append([name, sorted(given[0]) if given else []])

        return note

    spy = type("Spy", (keras.callbacks.Callback,), {name: noted(name) for name in names})()
    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(ROWS, CLASSES, batch_size=24, epochs=1, validation_split=0.5, verbose=0, callbacks=[spy])
    model.evaluate(ROWS, CLASSES, batch_size=24, verbose=0, callbacks=[spy])
    model.predict(ROWS, batch_size=24, verbose=0, callbacks=[spy])
    return log


@program
def optimizers_and_their_options(keras: Any, start: Start) -> Any:
    made = [
        *(getattr(keras.optimizers, name)(0.01) for name in ("Nadam", "Lion", "Adadelta", "Adamax")),
        keras.optimizers.Adam(0.01, amsgrad=True, gradient_accumulation_steps=2),
        keras.optimizers.SGD(0.01, use_ema=True, ema_momentum=0.5),
        keras.optimizers.SGD(keras.optimizers.schedules.CosineDecayRestarts(0.02, 2)),
        keras.optimizers.SGD(keras.optimizers.schedules.InverseTimeDecay(0.02, 2, 0.5)),
    ]
    found = []
    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(2)])
    for optimizer in made:
        start(model)
        model.compile(optimizer, "mse")
        found.append([fitted(model, ROWS, ROWS[:, :2]), model.evaluate(ROWS, ROWS[:, :2], verbose=0)])
    return found


@program
def numbers_of_metrics(keras: Any, start: Start) -> Any:
    m = keras.metrics
    truth, said = (ROWS[:, :1] > 0).astype("float32"), 1 / (1 + np.exp(-ROWS[:, 1:2]))
    found = {}
    kinds = [
        m.Precision(),
        m.Recall(),
        m.AUC(),
        m.AUC(curve="PR", name="pr"),
        m.BinaryAccuracy(threshold=0.4),
        m.TruePositives(),
        m.FalseNegatives(),
    ]
    for metric in [*kinds, m.MeanSquaredError(), m.RootMeanSquaredError(), m.BinaryCrossentropy()]:
        metric.update_state(truth[:30], said[:30])
        metric.update_state(truth[30:], said[30:])
        plain = float(metric.result())
        metric.reset_state()
        metric.update_state(truth, said, sample_weight=np.linspace(0, 1, 48).astype("float32"))
        found[metric.name] = [plain, float(metric.result())]
    one_hot, scores = np.eye(4, dtype="float32")[CLASSES % 4], np.abs(ROWS[:, :4])
    averages = [m.F1Score(average=kind) for kind in ("macro", "weighted")] + [m.F1Score(average="micro", threshold=0.5)]
    several = [
        *averages,
        m.FBetaScore(average="macro", beta=2.0),
        m.CategoricalAccuracy(),
        m.TopKCategoricalAccuracy(k=2),
        m.CosineSimilarity(),
    ]
    for number, metric in enumerate([*several, m.R2Score()]):
        metric.update_state(one_hot, scores)
        found[f"{metric.name} {number}"] = float(metric.result())
    for metric in (m.MeanIoU(num_classes=4), m.IoU(num_classes=4, target_class_ids=[1])):
        metric.update_state(CLASSES % 4, CLASSES // 3)
        found[type(metric).__name__] = float(metric.result())
    return found


@program
def numbers_of_losses(keras: Any, start: Start) -> Any:
    one_hot, scores = np.eye(5, dtype="float32")[CLASSES % 5], 1 / (1 + np.exp(-ROWS[:, :5]))
    names = ["Hinge", "SquaredHinge", "CategoricalHinge", "KLDivergence", "Poisson", "LogCosh", "CosineSimilarity"]
    found = {}
    for name in [*names, "CategoricalFocalCrossentropy", "BinaryFocalCrossentropy"]:
        for reduction in ("sum", "sum_over_batch_size"):
            loss = getattr(keras.losses, name)(reduction=reduction)
            found[f"{name} {reduction}"] = [float(loss(one_hot, scores)), float(loss(one_hot, scores, sample_weight=np.arange(48.0)))]
    for name in ("Dice", "Tversky"):
        found[name] = float(getattr(keras.losses, name)()(one_hot, scores))
    return found


@program
def prepared_data(keras: Any, start: Start) -> Any:
    layers, to_numpy = keras.layers, keras.ops.convert_to_numpy
    scaled = layers.Normalization(axis=-1)
    scaled.adapt(ROWS[:, :5].copy())
    made = [scaled(ROWS[:3, :5].copy()), layers.Resizing(6, 9)(IMAGES[:1]), layers.CenterCrop(6, 8)(IMAGES[:1])]
    return [np.asarray(to_numpy(part)).tolist() for part in made]
