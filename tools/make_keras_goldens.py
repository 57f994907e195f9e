"""Writes tests/golden/keras.npz, keras_programs.npz, keras_pictures.npz and keras_networks.npz: what Keras gives, for
tests/python/test_p_vision_*.py.

--layers, --programs, --pictures and --networks write one of them; names behind --programs only these.

Run it with an environment that has Keras. Its backend is JAX unless KERAS_BACKEND says otherwise: with PyTorch underneath, transposed
convolutions and pools with padding="same" are approximations.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

TARGET = Path(__file__).resolve().parents[1] / "tests" / "golden" / "keras.npz"

LINES, FILM = (2, 4, 6, 2), (2, 4, 6, 5, 2)
IMAGE, FIRST, STEPS, VOLUME, ROWS = (2, 6, 7, 4), (2, 4, 6, 7), (2, 7, 4), (1, 4, 5, 4, 2), (3, 5)

# The class, its arguments, the shapes of its inputs.
LAYERS: list[Any] = [
    ("Dense", {"units": 4}, [ROWS]),
    ("Dense", {"units": 3, "activation": "relu", "use_bias": False}, [STEPS]),
    *[
        ("Dense", {"units": 4, "activation": name}, [ROWS])
        for name in ("softmax", "gelu", "selu", "silu", "hard_sigmoid", "softplus", "elu")
    ],
    *[
        ("Activation", {"activation": name}, [ROWS])
        for name in (
            *("tanh", "sigmoid", "leaky_relu", "exponential", "mish", "log_softmax", "relu6"),
            *("sparse_plus", "sparse_sigmoid", "squareplus", "hard_shrink", "soft_shrink", "tanh_shrink"),
        )
    ],
    ("Conv1D", {"filters": 3, "kernel_size": 3}, [STEPS]),
    ("Conv1D", {"filters": 3, "kernel_size": 3, "padding": "causal", "dilation_rate": 2}, [STEPS]),
    ("Conv1D", {"filters": 4, "kernel_size": 4, "padding": "same", "strides": 2, "groups": 2}, [STEPS]),
    ("Conv2D", {"filters": 3, "kernel_size": 3, "activation": "relu"}, [IMAGE]),
    ("Conv2D", {"filters": 3, "kernel_size": (3, 2), "strides": 2, "padding": "same"}, [IMAGE]),
    ("Conv2D", {"filters": 4, "kernel_size": 2, "padding": "same", "dilation_rate": 2, "groups": 2}, [IMAGE]),
    ("Conv3D", {"filters": 2, "kernel_size": 2, "strides": (1, 2, 1), "padding": "same"}, [VOLUME]),
    ("Conv1DTranspose", {"filters": 3, "kernel_size": 3, "strides": 2}, [STEPS]),
    ("Conv2DTranspose", {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"}, [IMAGE]),
    ("Conv2DTranspose", {"filters": 3, "kernel_size": 2, "strides": 3}, [IMAGE]),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 4, "strides": 2, "padding": "same", "use_bias": False}, [IMAGE]),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same", "output_padding": 1}, [IMAGE]),
    ("Conv3DTranspose", {"filters": 2, "kernel_size": 2, "strides": 2}, [VOLUME]),
    ("DepthwiseConv1D", {"kernel_size": 3, "depth_multiplier": 2}, [STEPS]),
    ("DepthwiseConv2D", {"kernel_size": 3, "depth_multiplier": 2, "padding": "same", "strides": 2}, [IMAGE]),
    ("SeparableConv1D", {"filters": 3, "kernel_size": 3, "padding": "same"}, [STEPS]),
    ("SeparableConv2D", {"filters": 3, "kernel_size": 3, "depth_multiplier": 2, "activation": "tanh"}, [IMAGE]),
    ("MaxPooling1D", {}, [STEPS]),
    ("MaxPooling2D", {"pool_size": 3, "strides": 2, "padding": "same"}, [IMAGE]),
    ("MaxPooling3D", {"padding": "same"}, [VOLUME]),
    ("AveragePooling1D", {"pool_size": 3, "padding": "same", "strides": 2}, [STEPS]),
    ("AveragePooling2D", {"pool_size": (2, 3)}, [IMAGE]),
    ("AveragePooling2D", {"pool_size": 2, "padding": "same"}, [IMAGE]),
    ("AveragePooling3D", {"pool_size": 2}, [VOLUME]),
    *[(f"Global{kind}Pooling{rank}D", {}, [shape]) for kind in ("Max", "Average") for rank, shape in ((1, STEPS), (2, IMAGE), (3, VOLUME))],
    ("GlobalAveragePooling2D", {"data_format": "channels_first", "keepdims": True}, [FIRST]),
    ("BatchNormalization", {}, [IMAGE]),
    ("BatchNormalization", {"axis": 1, "momentum": 0.9, "scale": False}, [FIRST]),
    ("BatchNormalization", {"epsilon": 0.01, "center": False}, [ROWS]),
    ("LayerNormalization", {}, [STEPS]),
    ("LayerNormalization", {"axis": [1, 2], "epsilon": 1e-5}, [STEPS]),
    ("LayerNormalization", {"axis": 1}, [STEPS]),
    ("GroupNormalization", {"groups": 2}, [IMAGE]),
    ("GroupNormalization", {"groups": -1, "axis": 1}, [FIRST]),
    ("Dropout", {"rate": 0.5}, [ROWS]),
    *[(f"SpatialDropout{rank}D", {"rate": 0.5}, [shape]) for rank, shape in ((1, STEPS), (2, IMAGE), (3, VOLUME))],
    ("Flatten", {}, [IMAGE]),
    ("Flatten", {"data_format": "channels_first"}, [FIRST]),
    ("Reshape", {"target_shape": [-1, 4]}, [IMAGE]),
    ("Permute", {"dims": [3, 1, 2]}, [IMAGE]),
    ("RepeatVector", {"n": 3}, [ROWS]),
    ("Rescaling", {"scale": 0.5, "offset": 1.0}, [ROWS]),
    ("ReLU", {"max_value": 1.0, "negative_slope": 0.1, "threshold": 0.2}, [ROWS]),
    ("LeakyReLU", {}, [ROWS]),
    ("PReLU", {"shared_axes": [1, 2]}, [IMAGE]),
    ("PReLU", {}, [ROWS]),
    ("ELU", {"alpha": 0.5}, [ROWS]),
    ("Softmax", {"axis": 1}, [STEPS]),
    ("ZeroPadding1D", {"padding": [1, 2]}, [STEPS]),
    ("ZeroPadding2D", {"padding": [[1, 0], [2, 1]]}, [IMAGE]),
    ("ZeroPadding3D", {"padding": 1}, [VOLUME]),
    ("Cropping1D", {"cropping": 1}, [STEPS]),
    ("Cropping2D", {"cropping": [[1, 2], [0, 1]]}, [IMAGE]),
    ("Cropping3D", {"cropping": [1, 1, 1]}, [VOLUME]),
    ("UpSampling1D", {"size": 3}, [STEPS]),
    ("UpSampling2D", {"size": [2, 3]}, [IMAGE]),
    ("UpSampling2D", {"size": 2, "interpolation": "bilinear"}, [IMAGE]),
    ("UpSampling3D", {}, [VOLUME]),
    ("LSTM", {"units": 3}, [STEPS]),
    ("LSTM", {"units": 3, "return_sequences": True, "return_state": True, "go_backwards": True}, [STEPS]),
    ("LSTM", {"units": 3, "activation": "relu", "recurrent_activation": "hard_sigmoid", "return_sequences": True}, [STEPS]),
    ("LSTM", {"units": 3, "use_bias": False}, [STEPS]),
    ("GRU", {"units": 3, "return_sequences": True}, [STEPS]),
    ("GRU", {"units": 3, "reset_after": False, "return_state": True}, [STEPS]),
    ("GRU", {"units": 3, "activation": "elu"}, [STEPS]),
    ("SimpleRNN", {"units": 3, "return_sequences": True}, [STEPS]),
    ("SimpleRNN", {"units": 3, "activation": "relu"}, [STEPS]),
    *[(name, {}, [ROWS, ROWS]) for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate")],
    ("Add", {}, [STEPS, STEPS, STEPS]),
    ("Concatenate", {"axis": 1}, [STEPS, STEPS]),
    ("Dot", {"axes": 1}, [ROWS, ROWS]),
    ("Dot", {"axes": [2, 2], "normalize": True}, [STEPS, STEPS]),
    ("ConvLSTM1D", {"filters": 3, "kernel_size": 3, "padding": "same", "return_sequences": True}, [LINES]),
    ("ConvLSTM2D", {"filters": 2, "kernel_size": [3, 2], "return_state": True}, [FILM]),
    ("ConvLSTM2D", {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same", "use_bias": False, "go_backwards": True}, [FILM]),
    ("ConvLSTM3D", {"filters": 2, "kernel_size": 2, "padding": "same", "recurrent_activation": "hard_sigmoid"}, [(1, 3, 4, 3, 4, 2)]),
    ("EinsumDense", {"equation": "abc,cd->abd", "output_shape": [None, 5], "bias_axes": "d", "activation": "relu"}, [STEPS]),
    ("EinsumDense", {"equation": "...x,xyz->...yz", "output_shape": [2, 3], "bias_axes": "yz"}, [STEPS]),
    ("AdaptiveAveragePooling2D", {"output_size": [2, 3]}, [IMAGE]),
    ("AdaptiveMaxPooling1D", {"output_size": 3}, [STEPS]),
]
# What takes pictures, with options that leave nothing to chance.
PICTURES: list[tuple[str, dict[str, Any]]] = [
    ("RMSNormalization", {}),
    ("AdaptiveMaxPooling2D", {"output_size": [2, 4]}),
    ("AutoContrast", {}),
    ("RandomGrayscale", {"factor": 1.0}),
    ("RandomHue", {"factor": [1.0, 1.0]}),
    ("RandomInvert", {"factor": [1.0, 1.0]}),
    ("RandomPosterization", {"factor": [4, 4]}),
    ("RandomSaturation", {"factor": [0.2, 0.2]}),
    ("RandomSharpness", {"factor": [0.9, 0.9]}),
    ("RandomSharpness", {"factor": [0.2, 0.2]}),
    ("RandomColorDegeneration", {"factor": [0.4, 0.4]}),
    ("RandomBrightness", {"factor": [0.2, 0.2]}),
    ("RandomColorJitter", {"brightness_factor": [0.1, 0.1], "saturation_factor": [0.3, 0.3]}),
    ("RandomGaussianBlur", {"factor": [1.0, 1.0], "kernel_size": 3, "sigma": [1.0, 1.0]}),
    ("RandomRotation", {"factor": [0.1, 0.1], "fill_mode": "constant"}),
    ("RandomZoom", {"height_factor": [0.2, 0.2], "fill_mode": "constant"}),
    ("RandomZoom", {"height_factor": [-0.2, -0.2], "width_factor": [0.1, 0.1], "fill_mode": "nearest"}),
    ("RandomTranslation", {"height_factor": [0.2, 0.2], "width_factor": [-0.1, -0.1], "fill_mode": "reflect"}),
    ("RandomTranslation", {"height_factor": [0.2, 0.2], "width_factor": [-0.1, -0.1], "fill_mode": "constant"}),
    ("Equalization", {}),
    ("Equalization", {"bins": 16}),
    ("Resizing", {"height": 5, "width": 4, "crop_to_aspect_ratio": True}),
    ("Resizing", {"height": 8, "width": 4, "pad_to_aspect_ratio": True, "fill_value": 7.0}),
]
ATTENTION: list[tuple[dict[str, Any], list[tuple[int, ...]], dict[str, Any]]] = [  # arguments, inputs, options of the call
    ({"num_heads": 2, "key_dim": 3}, [STEPS, (2, 5, 6)], {}),
    ({"num_heads": 2, "key_dim": 3, "value_dim": 5, "output_shape": [3, 2], "dropout": 0.1}, [STEPS, STEPS], {"use_causal_mask": True}),
    ({"num_heads": 2, "key_dim": 3, "attention_axes": [2]}, [(2, 3, 5, 4), (2, 3, 6, 4)], {"return_attention_scores": True}),
    ({"num_heads": 2, "key_dim": 3, "attention_axes": 1, "use_bias": False}, [(2, 3, 5, 4), (2, 6, 5, 4)], {}),
    ({"num_heads": 3, "key_dim": 2}, [(2, 3, 2, 4), (2, 2, 3, 4)], {"return_attention_scores": True}),
    ({"num_heads": 2, "key_dim": 3, "sliding_window": 2}, [STEPS, STEPS], {"use_causal_mask": True, "return_attention_scores": True}),
    ({"num_heads": 2, "key_dim": 3, "value_dim": 4, "use_gate": True, "dropout": 0.1}, [STEPS, STEPS], {}),
]
RENORM: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"renorm": True, "renorm_clipping": {"rmin": 0.7, "rmax": 1.2, "dmax": 0.3}, "renorm_momentum": 0.9}, IMAGE),
    ({"renorm": True, "scale": False}, ROWS),
]
METRICS: list[tuple[str, dict[str, Any], str]] = [
    ("IoU", {"num_classes": 3, "target_class_ids": [0, 2], "ignore_class": 1}, "classes"),
    ("MeanIoU", {"num_classes": 4, "ignore_class": -1}, "classes"),
    ("R2Score", {"class_aggregation": None}, "numbers"),
    ("R2Score", {"class_aggregation": "variance_weighted_average"}, "numbers"),
    ("R2Score", {"num_regressors": 2}, "numbers"),
]
NETWORKS = ("VGG16", "ResNet50", "ResNet50V2", "MobileNetV2", "DenseNet121", "EfficientNetB0")
WRAPPED: list[tuple[str, dict[str, Any], str, dict[str, Any], tuple[int, ...]]] = [
    ("Bidirectional", {}, "LSTM", {"units": 3, "return_sequences": True}, STEPS),
    ("Bidirectional", {"merge_mode": "sum"}, "GRU", {"units": 3}, STEPS),
    ("Bidirectional", {"merge_mode": "ave"}, "SimpleRNN", {"units": 2, "return_sequences": True}, STEPS),
    ("TimeDistributed", {}, "Dense", {"units": 3}, STEPS),
    ("RNN", {"return_sequences": True}, "LSTMCell", {"units": 3}, STEPS),
    ("RNN", {"return_state": True}, "GRUCell", {"units": 3, "reset_after": False}, STEPS),
    ("RNN", {"go_backwards": True, "return_sequences": True}, "SimpleRNNCell", {"units": 3, "activation": "relu"}, STEPS),
]
LOSSES: list[tuple[str, dict[str, Any], str]] = [  # the name, its arguments, the kind of targets
    *[(name, {}, "numbers") for name in ("mean_squared_error", "mean_absolute_error", "huber", "log_cosh", "cosine_similarity")],
    *[(name, {}, "positive") for name in ("mean_absolute_percentage_error", "mean_squared_logarithmic_error", "poisson")],
    *[(name, {}, "binary") for name in ("hinge", "squared_hinge", "categorical_hinge")],
    ("binary_crossentropy", {}, "binary probabilities"),
    ("binary_crossentropy", {"from_logits": True, "label_smoothing": 0.1}, "binary"),
    ("binary_focal_crossentropy", {"apply_class_balancing": True}, "binary probabilities"),
    ("categorical_crossentropy", {"label_smoothing": 0.1}, "probabilities"),
    ("categorical_crossentropy", {"from_logits": True}, "one-hot"),
    ("kl_divergence", {}, "probabilities"),
    ("sparse_categorical_crossentropy", {}, "classes of probabilities"),
    ("sparse_categorical_crossentropy", {"from_logits": True}, "classes"),
    ("categorical_generalized_cross_entropy", {"q": 0.7}, "classes of probabilities"),
    ("ctc", {}, "sequences"),
    ("circle", {}, "embeddings"),
]
OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True, "clipnorm": 0.5}),
    ("Adam", {"learning_rate": 0.01}),
    ("AdamW", {"learning_rate": 0.01, "weight_decay": 0.1}),
    ("Adamax", {"learning_rate": 0.01}),
    ("RMSprop", {"learning_rate": 0.01, "momentum": 0.5}),
    ("Adagrad", {"learning_rate": 0.1}),
    ("Adadelta", {"learning_rate": 1.0}),
    ("Nadam", {"learning_rate": 0.01}),
    ("Lion", {"learning_rate": 0.01}),
    ("Lamb", {"learning_rate": 0.01, "weight_decay": 0.01}),
    ("Adafactor", {"learning_rate": 0.05}),
    ("Ftrl", {"learning_rate": 0.1, "l1_regularization_strength": 0.01, "l2_regularization_strength": 0.1, "beta": 0.2}),
    ("Muon", {"learning_rate": 0.01}),
]
FUNCTIONS: list[tuple[str, list[Any], dict[str, Any]]] = [  # of ops; tuples are shapes of random inputs
    ("quantile", [(4, 5)], {"q": 0.3, "axis": 1}),
    ("quantile", [(2, 3, 4)], {"q": [0.25, 0.5], "axis": [0, 2], "keepdims": True}),
    ("median", [(4, 5)], {"axis": 0}),
    ("average", [(4, 5)], {"axis": 0, "weights": [1.0, 2.0, 0.5, 3.0]}),
    ("digitize", [(4, 5)], {"bins": [-0.5, 0.0, 0.5]}),
    ("diff", [(4, 5)], {"axis": 0}),
    ("segment_sum", [(5, 2)], {"segment_ids": [0, 0, 1, 3, 3], "num_segments": 4}),
    ("segment_max", [(5, 2)], {"segment_ids": [0, 0, 1, 2, 2], "num_segments": 3}),
    ("in_top_k", [[1, 2, 0, 3], (4, 5)], {"k": 2}),
    ("trace", [(3, 4, 4)], {"axis1": 1, "axis2": 2}),
    ("ptp", [(4, 5)], {"axis": 1}),
    ("conv", [IMAGE, (3, 3, 4, 5)], {"padding": "same", "strides": 2}),
    ("conv", [IMAGE, (3, 2, 2, 6)], {}),
    ("depthwise_conv", [IMAGE, (3, 3, 4, 2)], {"padding": "same"}),
    ("separable_conv", [IMAGE, (3, 3, 4, 2), (1, 1, 8, 3)], {}),
    ("conv_transpose", [IMAGE, (3, 3, 5, 4)], {"strides": 2, "padding": "same"}),
    ("max_pool", [IMAGE], {"pool_size": [2, 2], "strides": [2, 2], "padding": "same"}),
    ("average_pool", [IMAGE], {"pool_size": [2, 2], "strides": [2, 2]}),
    ("batch_normalization", [(4, 5), (5,)], {"variance": [1.0, 2.0, 0.5, 1.5, 3.0], "axis": -1}),
    ("layer_normalization", [(4, 5)], {}),
    ("rms_normalization", [(4, 5)], {}),
    ("dot_product_attention", [(2, 4, 3, 5), (2, 6, 3, 5), (2, 6, 3, 5)], {}),
    ("dot_product_attention", [(2, 4, 3, 5), (2, 4, 3, 5), (2, 4, 3, 5)], {"is_causal": True}),
    ("image.resize", [IMAGE], {"size": [3, 5]}),
    ("image.rgb_to_grayscale", [(2, 4, 5, 3)], {}),
    ("image.pad_images", [IMAGE], {"top_padding": 1, "left_padding": 2, "target_height": 10, "target_width": 11}),
    ("image.crop_images", [IMAGE], {"top_cropping": 1, "left_cropping": 2, "target_height": 3, "target_width": 4}),
    ("image.extract_patches", [IMAGE], {"size": [3, 2], "padding": "same"}),
    ("image.extract_patches", [IMAGE], {"size": 2, "strides": [1, 3]}),
]


def main() -> None:
    import keras  # type: ignore[import-not-found]
    import numpy as np

    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    index: dict[str, list[Any]] = {"layers": [], "losses": [], "functions": [], "training": []}

    def normal(shape: Any) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    def flat(value: Any) -> list[Any]:
        return [np.asarray(part) for part in value] if isinstance(value, (list, tuple)) else [np.asarray(value)]

    def layer_case(layer: Any, entry: dict[str, Any], shapes: Any) -> None:
        key = f"layer{len(index['layers'])}"
        inputs = [normal(shape) for shape in shapes]
        given = inputs[0] if len(inputs) == 1 else inputs
        layer(given)
        layer.set_weights([np.abs(normal(w.shape)) + 0.5 if "variance" in w.path else normal(w.shape) for w in layer.weights])
        weights = layer.get_weights()
        for kind, values in (("input", inputs), ("weight", weights), ("output", flat(layer(given, training=False)))):
            arrays.update({f"{key}/{kind}{i}": value for i, value in enumerate(values)})
        if entry["class"] == "BatchNormalization":
            arrays.update({f"{key}/trained{i}": v for i, v in enumerate(flat(layer(given, training=True)))})
            arrays.update({f"{key}/moved{i}": v for i, v in enumerate(layer.get_weights())})
        index["layers"].append({"key": key, **entry})

    for name, arguments, shapes in LAYERS:
        layer_case(getattr(keras.layers, name)(**arguments), {"class": name, "arguments": arguments}, shapes)
    for name, arguments, inner, options, shape in WRAPPED:
        layer = getattr(keras.layers, name)(getattr(keras.layers, inner)(**options), **arguments)
        layer_case(layer, {"class": name, "arguments": arguments, "inner": [inner, options]}, [shape])

    for name, arguments, kind in LOSSES:
        key = f"loss{len(index['losses'])}"
        predicted, target = normal((4, 5)), normal((4, 5))
        if "probabilities" in kind:
            predicted = np.exp(predicted) / np.exp(predicted).sum(-1, keepdims=True)
        if kind == "positive":
            predicted, target = np.abs(predicted), np.abs(target)
        elif kind == "sequences":
            predicted, target = normal((4, 7, 5)), np.array([[1, 2, 0], [3, 3, 4], [4, 0, 0], [2, 1, 2]])
        elif kind == "embeddings":
            predicted, target = predicted / np.linalg.norm(predicted, axis=1, keepdims=True), np.array([0, 1, 0, 1])
        elif "classes" in kind:
            target = rng.integers(0, 5, 4)
        elif "binary" in kind:
            target = (target > 0).astype(np.float32)
        elif kind in ("one-hot", "probabilities"):
            target = np.eye(5, dtype=np.float32)[rng.integers(0, 5, 4)]
        values = getattr(keras.losses, name)(target, predicted, **arguments)
        arrays.update({f"{key}/target": target, f"{key}/predicted": predicted, f"{key}/values": np.asarray(values)})
        index["losses"].append({"key": key, "name": name, "arguments": arguments})

    for name, inputs, arguments in FUNCTIONS:
        key, function = f"function{len(index['functions'])}", keras.ops
        for part in name.split("."):
            function = getattr(function, part)
        given = [normal(shape) if isinstance(shape, tuple) else np.asarray(shape) for shape in inputs]
        as_arrays = ("weights", "variance", "q", "segment_ids", "bins")
        options = {k: np.asarray(v) if k in as_arrays else tuple(v) if isinstance(v, list) else v for k, v in arguments.items()}
        arrays.update({f"{key}/input{i}": value for i, value in enumerate(given)})
        arrays[f"{key}/output0"] = np.asarray(function(*given, **options))
        index["functions"].append({"key": key, "name": name, "arguments": arguments})

    x, y = normal((12, 6, 6, 1)), rng.integers(0, 3, 12)
    weight = rng.random(12).astype(np.float32)
    arrays.update({"training/x": x, "training/y": y, "training/weight": weight})
    start: list[Any] = []
    for name, arguments in OPTIMIZERS:
        model = keras.Sequential(
            [
                keras.Input((6, 6, 1)),
                keras.layers.Conv2D(2, 3, activation="relu", padding="same", kernel_regularizer="l2"),
                keras.layers.BatchNormalization(momentum=0.9),
                keras.layers.MaxPooling2D(),
                keras.layers.Flatten(),
                keras.layers.Dense(3, activation="softmax"),
            ]
        )
        if not start:
            start = model.get_weights()
            arrays.update({f"training/start{i}": value for i, value in enumerate(start)})
        model.set_weights(start)
        optimizer = getattr(keras.optimizers, name)(**arguments)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        by_class = len(index["training"]) % 2 == 1
        weights = {"class_weight": {0: 2.0}} if by_class else {"sample_weight": weight}
        fitted = model.fit(x, y, batch_size=5, epochs=3, shuffle=False, verbose=0, validation_split=0.25, **weights)
        entry = {"optimizer": name, "arguments": arguments, "by_class": by_class, "history": fitted.history}
        index["training"].append(entry)

    arrays["index"] = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(TARGET, **arrays)
    print(f"{TARGET}: {len(index['layers'])} layers, {TARGET.stat().st_size / 1e3:.0f} kB")


def pictures() -> None:
    """What layers for pictures give on Keras."""
    import keras  # type: ignore[import-not-found]
    import numpy as np

    arrays: dict[str, Any] = {"pictures": (np.random.default_rng(0).random((2, 6, 7, 3)) * 255).astype(np.float32)}
    entries: list[dict[str, Any]] = [
        {"key": f"picture{i}", "class": name, "arguments": arguments} for i, (name, arguments) in enumerate(PICTURES)
    ]
    for entry in entries:
        layer = getattr(keras.layers, entry["class"])(**entry["arguments"])
        apart = entry["class"] == "Equalization"  # which Keras does for a whole batch at once
        given = np.stack([layer(picture) for picture in arrays["pictures"]]) if apart else layer(arrays["pictures"], training=True)
        arrays[entry["key"]] = keras.ops.convert_to_numpy(given)
    arrays["index"] = np.frombuffer(json.dumps(entries).encode(), np.uint8)
    target = TARGET.with_name("keras_pictures.npz")
    np.savez_compressed(target, **arrays)
    print(f"{target}: {len(entries)} layers, {target.stat().st_size / 1e3:.0f} kB")


def programs() -> None:
    """What the programs of tests/python/keras_programs.py and keras_guides.py give on Keras, and the weights that they start from."""
    import keras  # type: ignore[import-not-found]
    import numpy as np

    sys.path.insert(0, str(TARGET.parents[1] / "python"))
    import keras_guides  # type: ignore[import-not-found]  # noqa: F401  (adds to the programs)
    from keras_programs import PROGRAMS  # type: ignore[import-not-found]

    target = TARGET.with_name("keras_programs.npz")
    wanted = [name for name in PROGRAMS if name in sys.argv] or list(PROGRAMS)
    arrays: dict[str, Any] = {}
    results: dict[str, Any] = {}
    if target.exists():  # those that are not named stay as they are
        before = np.load(target, allow_pickle=False)
        results = {name: found for name, found in json.loads(before["results"].tobytes()).items() if name in PROGRAMS}
        arrays = {key: before[key] for key in before.files if key.partition("/")[0] in results and key.partition("/")[0] not in wanted}
    for name in wanted:
        run, given = PROGRAMS[name], list[Any]()

        def start(model: Any, given: list[Any] = given) -> None:
            given.extend([] if given else model.get_weights())
            model.set_weights(given)

        keras.utils.set_random_seed(0)
        results[name] = run(keras, start)
        arrays.update({f"{name}/{i}": weight for i, weight in enumerate(given)})
    arrays["results"] = np.frombuffer(json.dumps(results, default=float).encode(), np.uint8)
    np.savez_compressed(target, **arrays)
    print(f"{target}: {len(results)} programs, {target.stat().st_size / 1e3:.0f} kB")


def networks() -> None:
    """What attention, renormalised batches, some metrics and the networks of `applications` give on Keras, with weights from a rule."""
    import keras  # type: ignore[import-not-found]
    import numpy as np

    sys.path.insert(0, str(TARGET.parents[1] / "python"))
    from network_weights import drawn  # type: ignore[import-not-found]

    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    index: dict[str, list[Any]] = {"attention": [], "renorm": [], "metrics": [], "networks": []}

    def normal(shape: Any) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    def keep(key: str, **values: Any) -> None:
        for kind, found in values.items():
            parts = found if isinstance(found, (list, tuple)) else [found]
            arrays.update({f"{key}/{kind}{i}": keras.ops.convert_to_numpy(part) for i, part in enumerate(parts)})

    for i, (arguments, shapes, options) in enumerate(ATTENTION):
        inputs, layer = [normal(shape) for shape in shapes], keras.layers.MultiHeadAttention(**arguments)
        layer(*inputs)
        layer.set_weights([normal(w.shape) for w in layer.weights])
        keep(f"attention{i}", input=inputs, weight=layer.get_weights(), output=layer(*inputs, **options))
        index["attention"].append({"key": f"attention{i}", "arguments": arguments, "options": options})
    for i, (arguments, shape) in enumerate(RENORM):
        layer, x = keras.layers.BatchNormalization(**arguments), normal(shape)
        layer(x)
        layer.set_weights([np.abs(normal(w.shape)) + 0.5 for w in layer.weights])
        weights = layer.get_weights()
        keep(f"renorm{i}", input=x, weight=weights, output=layer(x, training=False), trained=layer(x, training=True))
        keep(f"renorm{i}", moved=layer.get_weights())
        index["renorm"].append({"key": f"renorm{i}", "arguments": arguments})
    for i, (name, arguments, kind) in enumerate(METRICS):
        classes = arguments.get("num_classes", 0)
        batches = [(rng.integers(-1, classes + 1, 40), rng.integers(0, classes, 40)) for _ in range(2)] if kind == "classes" else None
        batches = batches or [(normal((6, 3)), normal((6, 3)) * np.float32(0.3)) for _ in range(2)]
        metric = getattr(keras.metrics, name)(**arguments)
        for truth, said in batches:
            metric.update_state(truth, said)
        keep(f"metric{i}", truth=[truth for truth, _ in batches], said=[said for _, said in batches], result=metric.result())
        index["metrics"].append({"key": f"metric{i}", "class": name, "arguments": arguments})
    for name in NETWORKS:
        model = getattr(keras.applications, name)(include_top=False, weights=None, input_shape=(64, 48, 3), pooling="avg")
        model.set_weights(drawn([w.shape for w in model.weights]))
        x = np.random.default_rng(1).random((1, 64, 48, 3), np.float32) * 255
        keep(name, output=model(x, training=False))
        names = [layer.name for layer in model.layers if layer.weights]
        index["networks"].append({"name": name, "layers": names, "parameters": model.count_params()})
    arrays["index"] = np.frombuffer(json.dumps(index).encode(), np.uint8)
    target = TARGET.with_name("keras_networks.npz")
    np.savez_compressed(target, **arrays)
    print(f"{target}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    parts = {"--layers": main, "--programs": programs, "--pictures": pictures, "--networks": networks}
    for name, write in parts.items():
        if name in sys.argv or not set(parts) & set(sys.argv):
            write()
