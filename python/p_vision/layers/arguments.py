"""The arguments that several layers share: what each means, and which values it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Extent = Any  # int | Sequence[int]: one number, or one for each dimension; it is stored as a tuple


def positive(layer: str, name: str, value: Any) -> int:
    """Returns value if it is a positive integer.

    Raises:
        ValueError: It is not; the message names the argument.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**40:
        raise ValueError(f"[{layer}] {name} must be a positive integer: got {value!r}")
    return value


def probability(layer: str, name: str, value: float) -> float:
    """Returns value if it is at least 0 and below 1.

    Raises:
        ValueError: It is not; the message names the argument.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"[{layer}] {name} must be at least 0 and below 1: got {value!r}")
    return value


def extents(layer: str, name: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """Returns a tuple with one number per dimension, from one number or a sequence.

    Raises:
        ValueError: The numbers are not integers of at least `least`, or there are not `rank` of them.
    """
    values = (value,) * rank if isinstance(value, int) else tuple(value) if isinstance(value, Sequence) else ()
    if len(values) != rank or not all(isinstance(v, int) and not isinstance(v, bool) and least <= v < 2**31 for v in values):
        raise ValueError(f"[{layer}] {name} must be an integer of at least {least}, or {rank} of them: got {value!r}")
    return values


def pairs(layer: str, name: str, value: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Returns a pair (before, after) per dimension, from one number, one number per dimension, or one pair per dimension.

    Raises:
        ValueError: The value has none of these forms.
    """
    items = [value] * rank if isinstance(value, int) else value
    if rank == 1 and isinstance(value, Sequence) and len(value) == 2 and all(isinstance(v, int) for v in value):
        items = [value]
    found = [(item, item) if isinstance(item, int) else tuple(item) for item in items]
    if len(found) != rank or not all(len(pair) == 2 and all(isinstance(n, int) and 0 <= n < 2**31 for n in pair) for pair in found):
        raise ValueError(f"[{layer}] {name} must be an integer, or {rank} integers or pairs of integers: got {value!r}")
    return tuple(found)  # type: ignore[arg-type]


def one_of(layer: str, name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Returns value if it is one of the choices.

    Raises:
        ValueError: It is not; the message lists the choices.
    """
    if value not in choices:
        raise ValueError(f"[{layer}] {name} must be {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}: got {value!r}")
    return value


def checked_format(layer: str, data_format: str | None) -> str:
    """Returns the data format; None is channels_last.

    Raises:
        ValueError: The format is unknown.
    """
    return one_of(layer, "data_format", data_format or "channels_last", ("channels_last", "channels_first"))


def checked_padding(layer: str, padding: Any, causal: bool = False) -> str:
    """Returns the padding in lower case.

    Raises:
        ValueError: The padding is unknown.
    """
    choices = ("valid", "same", "causal") if causal else ("valid", "same")
    return one_of(layer, "padding", padding.lower() if isinstance(padding, str) else padding, choices)


def spread_of(layer: str, name: str, factor: Any) -> tuple[float, float]:
    """Returns the range (low, high) of a factor; a single number f is (-f, f).

    Raises:
        ValueError: The lower limit is above the upper limit.
    """
    low, high = (-abs(factor), abs(factor)) if isinstance(factor, (int, float)) else tuple(factor)
    return _ordered(layer, name, low, high)


def share_of(layer: str, name: str, factor: Any) -> tuple[float, float]:
    """Returns the range (low, high) of a factor; a single number f is (0, f).

    Raises:
        ValueError: The lower limit is above the upper limit.
    """
    low, high = (0.0, factor) if isinstance(factor, (int, float)) else tuple(factor)
    return _ordered(layer, name, low, high)


def contrast_of(layer: str, name: str, factor: Any) -> tuple[float, float]:
    """Returns the range of a contrast factor: f is (1 - f, 1 + f), and (a, b) is (1 - a, 1 + b).

    Raises:
        ValueError: A factor is not between 0 and 1.
    """
    below, above = (factor, factor) if isinstance(factor, (int, float)) else tuple(factor)
    if not (0 <= below <= 1 and 0 <= above <= 1):
        raise ValueError(f"[{layer}] the factor of contrast is a number from 0 to 1, or two: got {factor!r}")
    return 1.0 - below, 1.0 + above


def _ordered(layer: str, name: str, low: float, high: float) -> tuple[float, float]:
    if low > high:
        raise ValueError(f"[{layer}] {name} is a number or (lowest, highest): got {(low, high)!r}")
    return float(low), float(high)


class Argument(NamedTuple):
    """What an argument means, for the docstrings of all layers that have it, and a check (layer, name, value) that returns the value."""

    meaning: str
    check: Callable[[Any, str, Any], Any] | None = None


def _named(check: Callable[..., Any], *more: str) -> Callable[[Any, str, Any], Any]:
    """Makes a check of a function of the class name, the argument, the value and some attributes of the layer."""
    return lambda layer, name, value: check(type(layer).__name__, name, value, *(getattr(layer, attribute) for attribute in more))


def _format(layer: Any, name: str, value: Any) -> Any:
    return checked_format(type(layer).__name__, value)


def _padding(layer: Any, name: str, value: Any) -> Any:
    return checked_padding(type(layer).__name__, value, getattr(layer, "causal", False))


def _weights(of: str, what: str) -> dict[str, Argument]:
    return {
        f"{of}_initializer": Argument(f"The initializer of {what}: a name or an Initializer."),
        f"{of}_regularizer": Argument(f"A penalty on {what} that is added to the loss: a name or a Regularizer."),
    }


_count, _rate, _sizes = _named(positive), _named(probability), _named(extents, "rank")
ARGUMENTS: dict[str, Argument] = {
    "units": Argument("The number of outputs.", _count),
    "filters": Argument("The number of output channels.", _count),
    "groups": Argument("The number of groups that the channels are divided into.", _count),
    "depth_multiplier": Argument("The number of outputs of each input channel of the depthwise convolution.", _count),
    "kernel_size": Argument("The size of the kernel: one number, or one for each spatial dimension.", _sizes),
    "strides": Argument("The step of the window: one number, or one for each spatial dimension.", _sizes),
    "dilation_rate": Argument("The distance between the elements of the kernel: one number, or one for each spatial dimension.", _sizes),
    "pool_size": Argument("The size of the window: one number, or one for each spatial dimension.", _sizes),
    "output_size": Argument("The size of the output: one number, or one for each spatial dimension.", _sizes),
    "size": Argument("How often elements are repeated: one number, or one for each spatial dimension.", _sizes),
    "padding": Argument('"valid" (no padding) or "same" (zero padding, with which the output size is ceil(size / stride)).', _padding),
    "data_format": Argument('"channels_last" (N, ..., channels) or "channels_first" (N, channels, ...).', _format),
    "activation": Argument("The activation function: a name, a function, or None for none."),
    "recurrent_activation": Argument("The activation function of the gates."),
    "use_bias": Argument("Whether to add a bias."),
    **_weights("kernel", "the kernel"),
    **_weights("recurrent", "the recurrent kernel"),
    **_weights("depthwise", "the depthwise kernel"),
    **_weights("pointwise", "the pointwise kernel"),
    **_weights("bias", "the bias"),
    **_weights("embeddings", "the embedding table"),
    **_weights("gamma", "the scale"),
    **_weights("beta", "the offset"),
    **_weights("alpha", "the slopes"),
    "center": Argument("Whether to add a learned offset `beta`."),
    "scale": Argument("Whether to multiply by a learned scale `gamma`."),
    "epsilon": Argument("A small number that is added to the variance."),
    "rate": Argument("The probability of dropping an element.", _rate),
    "dropout": Argument("The dropout rate.", _rate),
    "recurrent_dropout": Argument("The dropout rate of the recurrent state.", _rate),
    "noise_shape": Argument("The shape of the dropout mask, which is broadcast; None for the size of the input."),
    "seed": Argument("The seed of the layer's own random generator; None uses the default generator."),
    "unit_forget_bias": Argument("Whether the bias of the forget gate starts at 1."),
    "return_sequences": Argument("Whether to return the outputs of all steps instead of that of the last one."),
    "return_state": Argument("Whether to return the last states after the output."),
    "go_backwards": Argument("Whether to process the steps in reverse order."),
    "stateful": Argument("Whether a batch starts with the last states of the previous batch, until `reset_state()`."),
    "unroll": Argument("Accepted for compatibility; has no effect."),
    "use_cudnn": Argument("Accepted for compatibility; has no effect."),
    "flash_attention": Argument("Accepted for compatibility; has no effect."),
    "zero_output_for_mask": Argument("Whether the output of masked steps is 0 instead of the previous output."),
    "value_range": Argument("The range (low, high) of the values of the images."),
    "interpolation": Argument('The resampling method, such as "nearest" or "bilinear".'),
    "fill_mode": Argument('What fills pixels from outside of the image: "constant", "nearest" or "reflect".'),
    "fill_value": Argument('The value of pixels from outside of the image with fill_mode="constant".'),
    "height": Argument("The height of the output in pixels.", _count),
    "width": Argument("The width of the output in pixels.", _count),
    "output_mode": Argument('The form of the output: "int" (indices), "one_hot", "multi_hot" or "count" (vectors).'),
    "sparse": Argument("Must be False: there are no sparse tensors."),
    "max_tokens": Argument("The maximum size of the vocabulary, including the special tokens; None for no limit."),
    "num_oov_indices": Argument("The number of indices for tokens out of the vocabulary."),
    "mask_token": Argument("The token of padding, which gets index 0; None for no such token."),
    "oov_token": Argument("The token that stands for those out of the vocabulary."),
    "vocabulary": Argument("The vocabulary: a list, an array, or the path of a text file with one token per line."),
    "idf_weights": Argument('The inverse document frequencies of the vocabulary, for output_mode="tf_idf".'),
    "invert": Argument("Whether to compute the inverse mapping."),
    "pad_to_max_tokens": Argument("Whether vectors have max_tokens elements even if the vocabulary is smaller."),
    "encoding": Argument("The encoding of texts given as bytes."),
}
