"""More programs in the words of Keras's guides: what people do around a model. As keras_programs.py, which says how they are run."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from keras_programs import ANSWERS, CLASSES, IMAGES, ROWS, SERIES, WORDS, Start, fitted, program


@program
def residual_network(keras: Any, start: Start) -> Any:
    layers = keras.layers
    inputs = keras.Input(shape=(12, 12, 1), name="img")
    x = layers.Conv2D(4, 3, activation="relu")(inputs)
    block_1 = layers.MaxPooling2D(2)(layers.Conv2D(6, 3, activation="relu")(x))
    x = layers.Conv2D(6, 3, activation="relu", padding="same")(block_1)
    x = layers.BatchNormalization()(layers.Conv2D(6, 3, padding="same", use_bias=False)(x))
    x = layers.add([x, block_1])
    x = layers.Activation("relu")(layers.SeparableConv2D(5, 3, padding="same")(x))
    x = layers.GlobalAveragePooling2D()(layers.ZeroPadding2D(1)(x))
    model = keras.Model(inputs, layers.Dense(10)(layers.Dense(8, activation="gelu")(x)), name="toy_resnet")
    start(model)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.RMSprop(1e-3), loss, metrics=["acc", keras.metrics.SparseTopKCategoricalAccuracy(3, name="top3")])
    return [fitted(model, IMAGES, CLASSES, validation_split=0.2), model.count_params(), list(model.output_shape[1:])]


@program
def encoder_and_decoder(keras: Any, start: Start) -> Any:
    """Models that are called as layers, and one that is made of parts of another."""
    layers = keras.layers
    picture = keras.Input((12, 12, 1))
    x = layers.MaxPooling2D(2)(layers.Conv2D(4, 3, activation="relu", padding="same")(picture))
    encoder = keras.Model(picture, layers.Conv2D(3, 3, strides=2, padding="same")(x), name="encoder")
    code = keras.Input((3, 3, 3))
    x = layers.Conv2DTranspose(4, 3, strides=2, activation="relu", padding="same")(code)
    decoder = keras.Model(code, layers.Conv2D(1, 3, activation="sigmoid", padding="same")(layers.UpSampling2D(2)(x)), name="decoder")
    whole = keras.Input((12, 12, 1))
    model = keras.Model(whole, decoder(encoder(whole)), name="autoencoder")
    start(model)
    model.compile("adam", "binary_crossentropy")
    targets = 1 / (1 + np.exp(-IMAGES))
    found = fitted(model, IMAGES, targets)
    return [found, encoder.predict(IMAGES[:1], verbose=0).tolist(), [layer.name for layer in model.layers[1:]]]


@program
def the_best_epoch(keras: Any, start: Start) -> Any:
    """ModelCheckpoint, EarlyStopping, ReduceLROnPlateau and CSVLogger on a training that becomes worse."""
    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(1)])
    start(model)
    model.compile(keras.optimizers.SGD(0.02, momentum=0.9), "mse", metrics=["mae"])
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder, "{epoch:02d}.weights.h5")
        watching = [
            keras.callbacks.ModelCheckpoint(str(saved), monitor="val_mae", save_best_only=True, save_weights_only=True),
            keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.3, patience=1, min_lr=1e-4, cooldown=1),
            keras.callbacks.CSVLogger(str(Path(folder, "log.csv"))),
            keras.callbacks.EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True),
        ]
        history = fitted(model, ROWS, ROWS[:, :1] * 3, epochs=12, validation_split=0.3, callbacks=watching)
        files = sorted(path.name for path in Path(folder).glob("*.h5"))
        with open(Path(folder, "log.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
    return [history, files, sorted(rows[0]), len(rows), model.evaluate(ROWS, ROWS[:, :1] * 3, verbose=0)]


@program
def batches_from_programs(keras: Any, start: Start) -> Any:
    """A generator that never ends, a PyDataset, batches one by one."""
    model = keras.Sequential([keras.Input((144,)), keras.layers.Dense(10, activation="softmax")])
    start(model)
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])

    def endless() -> Iterator[Any]:
        while True:
            for at in range(0, 48, 8):
                yield ROWS[at : at + 8], CLASSES[at : at + 8]

    class Pieces(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            place = slice(index * 12, index * 12 + 12)
            return ROWS[place], CLASSES[place], np.linspace(0.5, 1.5, 12).astype("float32")

    checked = (ROWS[:20], CLASSES[:20])
    found = [model.fit(endless(), steps_per_epoch=4, epochs=2, verbose=0, validation_data=checked, validation_batch_size=8).history]
    found.append(model.fit(Pieces(), epochs=2, verbose=0, shuffle=False).history)
    found.append(model.evaluate(Pieces(), verbose=0, return_dict=True))
    single = [model.train_on_batch(ROWS[:9], CLASSES[:9], return_dict=True) for _ in range(2)]
    single.append(model.test_on_batch(ROWS[9:], CLASSES[9:], return_dict=True))
    return [found, single, model.predict_on_batch(ROWS[:2]).tolist(), model.predict(endless(), steps=2, verbose=0).shape[0]]


@program
def frozen_parts(keras: Any, start: Start) -> Any:
    """The guide on transfer learning: a base whose normalisation stays as it is, then all of it with a small rate."""
    layers = keras.layers
    parts = [layers.Conv2D(4, 3), layers.BatchNormalization(momentum=0.5), layers.ReLU(), layers.Flatten()]
    base = keras.Sequential([keras.Input((12, 12, 1)), *parts], name="base")
    inputs = keras.Input((12, 12, 1))
    model = keras.Model(inputs, layers.Dense(1)(base(inputs, training=False)))
    start(model)
    base.trainable = False
    counts = [len(model.trainable_weights), len(model.non_trainable_weights)]
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.BinaryCrossentropy(from_logits=True), metrics=[keras.metrics.BinaryAccuracy()])
    kernels = [float(np.abs(weight).sum()) for weight in base.get_weights()]
    targets = (CLASSES > 4).astype("float32")[:, None]
    first = fitted(model, IMAGES, targets)
    same = [float(np.abs(weight).sum()) for weight in base.get_weights()]
    base.trainable = True
    model.compile(keras.optimizers.Adam(1e-4), keras.losses.BinaryCrossentropy(from_logits=True), metrics=[keras.metrics.BinaryAccuracy()])
    return [counts, first, [a - b for a, b in zip(kernels, same)], len(model.trainable_weights)]


@program
def files_of_models(keras: Any, start: Start) -> Any:
    """What comes out of a file gives the same numbers, and is trained on from where it was."""
    layers = keras.layers
    a, b = keras.Input((144,), name="a"), keras.Input((3,), name="b")
    x = layers.Concatenate()([layers.Dense(5, activation="tanh", kernel_regularizer=keras.regularizers.L2(1e-3))(a), b])
    model = keras.Model({"a": a, "b": b}, layers.Dense(1, name="score")(x))
    start(model)
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    given = {"a": ROWS, "b": ROWS[:, :3].copy()}
    first = fitted(model, given, ROWS[:, :1])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model.keras"))
        again = keras.models.load_model(Path(folder, "model.keras"))
        model.save_weights(Path(folder, "model.weights.h5"))
        other = keras.models.clone_model(model)
        other.load_weights(Path(folder, "model.weights.h5"))
    assert np.allclose(again.predict(given, verbose=0), model.predict(given, verbose=0), atol=1e-6)
    assert np.allclose(other.predict(given, verbose=0), model.predict(given, verbose=0), atol=1e-6)
    same = keras.Model.from_config(model.get_config())
    same.set_weights(model.get_weights())
    assert np.allclose(same.predict(given, verbose=0), model.predict(given, verbose=0), atol=1e-6)
    return [first, fitted(again, given, ROWS[:, :1]), fitted(model, given, ROWS[:, :1])]


@program
def class_of_ones_own(keras: Any, start: Start) -> Any:
    """A model that is a class, with models and lists of layers in it, and what it does only while it is trained."""
    layers = keras.layers

    class Block(layers.Layer):
        def __init__(self, width: int, **options: Any) -> None:
            super().__init__(**options)
            self.wide, self.norm, self.drop = layers.Dense(width, activation="swish"), layers.LayerNormalization(), layers.Dropout(0.0)

        def call(self, inputs: Any, training: bool = False) -> Any:
            x = self.drop(self.wide(self.norm(inputs)), training=training)
            return x * (2.0 if training else 1.0)

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [Block(6), Block(6)]
            self.head = layers.Dense(3)

        def call(self, inputs: Any, training: bool = False) -> Any:
            x = inputs
            for block in self.blocks:
                x = block(x, training=training)
            return self.head(x)

    model = Net()
    model(ROWS[:1])
    start(model)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    found = fitted(model, ROWS, CLASSES % 3)
    return [found, model.predict(ROWS[:2], verbose=0).tolist(), len(model.trainable_variables)]


@program
def shared_network_and_distance(keras: Any, start: Start) -> Any:
    """Siamese: one network for two inputs, a function in a layer, a loss that is a function."""
    layers, ops = keras.layers, keras.ops
    net = keras.Sequential([keras.Input((144,)), layers.BatchNormalization(momentum=0.7), layers.Dense(6, activation="tanh")])
    left, right = keras.Input((144,), name="left"), keras.Input((144,), name="right")

    def distance(pair: Any) -> Any:
        x, y = pair
        return ops.sqrt(ops.maximum(ops.sum(ops.square(x - y), axis=1, keepdims=True), 1e-7))

    merged = layers.Lambda(distance, output_shape=(1,))([net(left), net(right)])
    model = keras.Model(inputs=[left, right], outputs=layers.Dense(1, activation="sigmoid")(layers.BatchNormalization()(merged)))
    start(model)

    def contrastive(y_true: Any, y_pred: Any) -> Any:
        return ops.mean((1 - y_true) * ops.square(y_pred) + y_true * ops.square(ops.maximum(1.0 - y_pred, 0)))

    model.compile(loss=contrastive, optimizer="RMSprop", metrics=["accuracy"])
    same = (CLASSES[::-1] == CLASSES).astype("float32")[:, None]
    return fitted(model, [ROWS, ROWS[::-1].copy()], same, validation_split=0.25)


@program
def transformer_block(keras: Any, start: Start) -> Any:
    """The example on text classification with a transformer."""
    layers, ops = keras.layers, keras.ops

    class Transformer(layers.Layer):
        def __init__(self, size: int, heads: int, wide: int) -> None:
            super().__init__()
            self.att = layers.MultiHeadAttention(num_heads=heads, key_dim=size)
            self.ffn = keras.Sequential([layers.Dense(wide, activation="relu"), layers.Dense(size)])
            self.norm1, self.norm2 = layers.LayerNormalization(epsilon=1e-6), layers.LayerNormalization(epsilon=1e-6)

        def call(self, inputs: Any) -> Any:
            x = self.norm1(inputs + self.att(inputs, inputs))
            return self.norm2(x + self.ffn(x))

    class Tokens(layers.Layer):
        def __init__(self, length: int, count: int, size: int) -> None:
            super().__init__()
            self.tokens = layers.Embedding(input_dim=count, output_dim=size)
            self.places = layers.Embedding(input_dim=length, output_dim=size)

        def call(self, x: Any) -> Any:
            return self.tokens(x) + self.places(ops.arange(start=0, stop=ops.shape(x)[-1], step=1))

    inputs = keras.Input(shape=(9,))
    x = layers.GlobalAveragePooling1D()(Transformer(8, 2, 12)(Tokens(9, 30, 8)(inputs)))
    x = layers.Dense(6, activation="relu")(layers.Dropout(0.0)(x))
    model = keras.Model(inputs=inputs, outputs=layers.Dense(2, activation="softmax")(x))
    start(model)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return fitted(model, WORDS.astype("float32"), ANSWERS)


@program
def weather_of_tomorrow(keras: Any, start: Start) -> Any:
    """Windows of a series, recurrent layers on each other, a schedule of the learning rate and clipped gradients."""
    layers = keras.layers
    series = np.sin(np.arange(90.0) / 3).astype("float32")[:, None] + 0.1 * ROWS.reshape(-1)[:90, None]
    starts = np.arange(70)
    windows, targets = series[starts[:, None] + 2 * np.arange(6)], series[starts + 14]
    model = keras.Sequential(
        [
            keras.Input((6, 1)),
            layers.Bidirectional(layers.GRU(4, return_sequences=True), merge_mode="sum"),
            layers.LSTM(5, return_sequences=True, go_backwards=True),
            layers.Conv1D(3, 2, padding="causal", activation="elu"),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    start(model)
    rate = keras.optimizers.schedules.PiecewiseConstantDecay([3, 6], [0.02, 0.01, 0.002])
    model.compile(keras.optimizers.Adam(rate, clipnorm=0.1, weight_decay=0.01), "huber", metrics=[keras.metrics.RootMeanSquaredError()])
    return fitted(model, windows, targets, epochs=3)


@program
def ends_with_names(keras: Any, start: Start) -> Any:
    """Several outputs with losses, weights and metrics of their own, in lists and by name; weights of examples for each."""
    layers = keras.layers
    inputs = keras.Input((144,))
    x = layers.Dense(6, activation="relu")(inputs)
    age, kind = layers.Dense(1, name="age")(x), layers.Dense(3, activation="softmax", name="kind")(x)
    model = keras.Model(inputs, [age, kind])
    start(model)
    targets = [CLASSES.astype("float32")[:, None], np.eye(3, dtype="float32")[CLASSES % 3]]
    model.compile("sgd", ["mse", "categorical_crossentropy"], loss_weights=[0.05, 1.0], metrics=[["mae"], ["accuracy"]])
    found = [fitted(model, ROWS, targets, validation_data=(ROWS[:8], [part[:8] for part in targets]))]
    model.compile(
        keras.optimizers.SGD(0.01),
        loss={"age": keras.losses.Huber(), "kind": keras.losses.CategoricalCrossentropy(label_smoothing=0.1)},
        metrics={"age": [keras.metrics.MeanAbsolutePercentageError(), "mae"], "kind": "accuracy"},
    )
    weights = [np.linspace(0, 2, 48), np.ones(48)]
    found.append(fitted(model, ROWS, [targets[0] + 1, targets[1]], sample_weight=weights))
    return [found, [part.tolist() for part in model.predict(ROWS[:2], verbose=0)]]


@program
def columns_of_a_table(keras: Any, start: Start) -> Any:
    """Preprocessing of columns inside of a model."""
    layers, to_numpy = keras.layers, keras.ops.convert_to_numpy
    ages, places = ROWS[:, :1] * 10 + 40, (CLASSES % 4)[:, None]
    scaled = layers.Normalization(axis=None)
    scaled.adapt(ages)
    binned = layers.Discretization(bin_boundaries=[25.0, 40.0, 55.0], output_mode="one_hot")
    age, place, even = keras.Input((1,), name="age"), keras.Input((1,), name="place", dtype="int32"), keras.Input((1,), name="even")
    x = layers.concatenate([even, binned(age), layers.CategoryEncoding(num_tokens=4, output_mode="multi_hot")(place)])
    model = keras.Model({"age": age, "place": place, "even": even}, layers.Dense(1, activation="sigmoid")(x))
    start(model)
    model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.AUC()])
    counted = layers.CategoryEncoding(num_tokens=4, output_mode="count")(np.array([[0, 1, 1], [3, 3, 3]]))
    given = {"age": ages, "place": places, "even": np.asarray(to_numpy(scaled(ages)))}
    found = fitted(model, given, (CLASSES > 4).astype("float32"))
    (a, b), (c, d) = ages[:2, 0], given["even"][:2, 0]
    deviation = (a - b) / (c - d)
    return [found, np.asarray(to_numpy(counted)).tolist(), [float(a - c * deviation), float(deviation**2)]]  # the mean and the variance


@program
def sequences_with_gates(keras: Any, start: Start) -> Any:
    """Convolutions over time, gates by multiplication, pools of several kinds, one model inside of another for each step."""
    layers = keras.layers
    inputs = keras.Input((7, 3))
    gate = layers.Conv1D(4, 3, padding="same", activation="sigmoid")(inputs)
    x = layers.Multiply()([layers.Conv1D(4, 3, padding="same", activation="tanh", dilation_rate=2)(inputs), gate])
    x = layers.Subtract()([x, layers.Average()([gate, layers.Maximum()([x, gate])])])
    each = keras.Sequential([keras.Input((4,)), layers.Dense(5, activation="leaky_relu"), layers.Reshape((5, 1)), layers.Flatten()])
    x = layers.TimeDistributed(each)(layers.SpatialDropout1D(0.0)(x))
    pooled = [layers.GlobalMaxPooling1D()(x), layers.Flatten()(layers.AveragePooling1D(3)(x)), layers.Flatten()(layers.Cropping1D(3)(x))]
    turned = layers.Dot(axes=2, normalize=True)([x, layers.Permute((1, 2))(x)])
    x = layers.Concatenate()([*pooled, layers.Flatten()(layers.RepeatVector(2)(layers.GlobalAveragePooling1D()(turned)))])
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    start(model)
    model.compile("nadam", keras.losses.CategoricalFocalCrossentropy(), metrics=[keras.metrics.F1Score(average="macro")])
    return fitted(model, SERIES, np.eye(2, dtype="float32")[CLASSES[:16] % 2])


@program
def attention_in_groups(keras: Any, start: Start) -> Any:
    layers = keras.layers
    read, write = keras.Input((7, 3)), keras.Input((4, 3))
    x = layers.GroupQueryAttention(head_dim=4, num_query_heads=4, num_key_value_heads=2)(write, read)
    x = layers.GroupQueryAttention(3, 2, 1, use_bias=False, use_gate=True)(x, x, use_causal_mask=True)
    model = keras.Model([read, write], layers.RMSNormalization()(x))
    start(model)
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    given = [SERIES, SERIES[:, :4].copy()]
    assert np.allclose(again.predict(given, verbose=0), model.predict(given, verbose=0), atol=1e-6)
    return [model.predict(given, verbose=0).tolist(), [list(weight.shape) for weight in model.get_weights()]]
