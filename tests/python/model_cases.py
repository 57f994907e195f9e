"""What tools/make_model_goldens.py records of PyTorch's models and test_models.py asks of pyburn's: weights, inputs, cases. Only numpy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

# The stream of RandomState is frozen by numpy's policy. A prime number of values, so that the rows of a matrix differ.
_TABLE = np.random.RandomState(20).standard_normal(65537).astype(np.float32)


def numbers(name: str, shape: Iterable[int]) -> np.ndarray:
    """Normal numbers that depend on the name alone: the table, from a place that the name says, over and over."""
    shape = tuple(shape)
    return np.resize(np.roll(_TABLE, -(crc32(name.encode()) % len(_TABLE))), shape)


def weight(name: str, shape: Iterable[int]) -> np.ndarray:
    """The values of a parameter or buffer, such that activations of deep networks stay near 1."""
    shape = tuple(shape)
    values = numbers(name, shape)
    last = name.rpartition(".")[2]
    if last == "num_batches_tracked":
        return np.zeros(shape, np.int64)
    if last == "running_var":
        return np.exp(0.3 * values)
    if len(shape) >= 2:
        if last not in ("weight", "original", "in_proj_weight") and not last.startswith("weight_"):
            return 0.2 * values  # positions, class tokens
        gain = math.sqrt(2) if len(shape) == 4 else 1.0
        return values * np.float32(gain / math.sqrt(math.prod(shape[1:])))
    return 1 + 0.1 * values if last == "weight" else 0.1 * values


def picture(*shape: int) -> np.ndarray:
    """Noise that is coarse and fine: of fine noise alone, deep networks see the mean only."""
    coarse = numbers("coarse", (*shape[:-2], -(-shape[-2] // 16), -(-shape[-1] // 16)))
    coarse = coarse.repeat(16, -2).repeat(16, -1)[..., : shape[-2], : shape[-1]]
    return coarse + 0.5 * numbers("fine", shape)


def tokens(vocabulary: int, *shape: int) -> np.ndarray:
    return (np.abs(numbers("tokens", shape)) * 1000003).astype(np.int64) % vocabulary


def sampled(output: np.ndarray, count: int = 200) -> list[float]:
    """A few numbers of an output, from all over it."""
    flat = output.reshape(-1)
    return flat[:: max(1, -(-len(flat) // count))].tolist()


@dataclass(frozen=True)
class Case:
    """A model: where it comes from, how it is made, what it is given, and whether it is trained for a step."""

    source: str  # "torchvision"; "transformers"; else the file of our own that also runs with torch
    builder: str
    inputs: tuple[np.ndarray, ...]
    options: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] | None = None  # options of the other library, where they are called otherwise
    train: bool = False


# Options that take the chance out of training.
_STEADY = {"dropout": 0.0, "dropout_aux": 0.0}
_WHOLE = {"stochastic_depth_prob": 0.0}
_SMALL_SWIN = {"patch_size": [4, 4], "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": [5, 4], "num_classes": 10}
_TINY_GPT2 = {"vocab_size": 97, "n_positions": 32, "n_embd": 64, "n_layer": 2, "n_head": 4}
_TINY_BERT = {"vocab_size": 97, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
_PADDED = np.array([[1] * 9, [1] * 5 + [0] * 4])

CASES = {
    "resnet18": Case("torchvision", "resnet18", (picture(4, 3, 64, 64),), train=True),
    "resnet50": Case("torchvision", "resnet50", (picture(2, 3, 64, 64),)),
    "resnet50_dilated": Case(
        "torchvision", "resnet50", (picture(1, 3, 64, 64),), {"replace_stride_with_dilation": [False, True, True], "num_classes": 7}
    ),
    "googlenet": Case("torchvision", "googlenet", (picture(4, 3, 64, 64),), {"transform_input": True, **_STEADY}, train=True),
    "mobilenet_v3_small": Case("torchvision", "mobilenet_v3_small", (picture(2, 3, 64, 64),)),
    "mobilenet_v3_large": Case(
        "torchvision", "mobilenet_v3_large", (picture(2, 3, 64, 64),), {"width_mult": 0.5, "reduced_tail": True, "dilated": True}
    ),
    "efficientnet_b0": Case("torchvision", "efficientnet_b0", (picture(2, 3, 64, 64),)),
    "efficientnet_v2_s": Case("torchvision", "efficientnet_v2_s", (picture(1, 3, 64, 64),), {"num_classes": 10}),
    "vit_b_16": Case("torchvision", "vit_b_16", (picture(1, 3, 224, 224),)),
    "vit_small_pictures": Case(
        "torchvision", "vit_b_32", (picture(2, 3, 64, 64),), {"image_size": 64, "representation_size": 32, "num_classes": 10}
    ),
    "unet": Case("pyburn/imaging/models.py", "UNet", (picture(1, 3, 37, 50),), {"n_channels": 3, "n_classes": 2, "width": 16}),
    "alexnet": Case("torchvision", "alexnet", (picture(2, 3, 96, 96),)),
    "vgg11_bn": Case("torchvision", "vgg11_bn", (picture(2, 3, 64, 64),), {"num_classes": 10}),
    "densenet121": Case("torchvision", "densenet121", (picture(4, 3, 64, 64),), {"num_classes": 10, "memory_efficient": True}, train=True),
    "squeezenet1_0": Case("torchvision", "squeezenet1_0", (picture(2, 3, 96, 96),)),
    "squeezenet1_1": Case("torchvision", "squeezenet1_1", (picture(2, 3, 64, 64),), {"num_classes": 10}),
    "inception_v3": Case("torchvision", "inception_v3", (picture(2, 3, 128, 128),), {"transform_input": True, "num_classes": 10}),
    "mobilenet_v2": Case("torchvision", "mobilenet_v2", (picture(2, 3, 64, 64),), {"width_mult": 1.4}),
    "shufflenet_v2_x1_0": Case("torchvision", "shufflenet_v2_x1_0", (picture(4, 3, 64, 64),), train=True),
    "regnet_y_400mf": Case("torchvision", "regnet_y_400mf", (picture(2, 3, 64, 64),)),
    "regnet_x_800mf": Case("torchvision", "regnet_x_800mf", (picture(2, 3, 64, 64),), {"num_classes": 10}),
    "convnext_tiny": Case("torchvision", "convnext_tiny", (picture(2, 3, 64, 64),), {"layer_scale": 1.0, **_WHOLE}, train=True),
    "swin_t": Case("torchvision", "swin_t", (picture(2, 3, 120, 97),)),
    "swin_v2_t": Case("torchvision", "swin_v2_t", (picture(2, 3, 120, 97),)),
    "swin_small": Case("torchvision", "SwinTransformer", (picture(4, 3, 60, 50),), {**_SMALL_SWIN, **_WHOLE}, train=True),
    "unet_bilinear": Case(
        "pyburn/imaging/models.py", "UNet", (picture(1, 1, 32, 48),), {"n_channels": 1, "n_classes": 3, "bilinear": True, "width": 16}
    ),
    "eegnet": Case(
        "pyburn/eeg/models.py",
        "EEGNet",
        (picture(6, 22, 257),),
        {"n_chans": 22, "n_outputs": 4, "n_times": 257, "drop_prob": 0.0},
        train=True,
    ),
    "eegnet_constrained": Case(
        "pyburn/eeg/models.py",
        "EEGNet",
        (picture(6, 8, 128),),
        {"n_chans": 8, "n_outputs": 3, "n_times": 128, "drop_prob": 0.0, "final_layer_with_constraint": True},
        train=True,
    ),
    "lstm_tagger": Case(
        "lstm_tagger.py",
        "LSTMTagger",
        (tokens(50, 12),),
        {"embedding_dim": 16, "hidden_dim": 24, "vocab_size": 50, "tagset_size": 5},
        train=True,
    ),
    "gpt2": Case("transformers", "GPT2LMHeadModel", (tokens(50257, 1, 12),), reference={}),
    "gpt2_tiny": Case("transformers", "GPT2LMHeadModel", (tokens(97, 2, 9),), _TINY_GPT2, reference=_TINY_GPT2),
    "bert": Case("transformers", "BertModel", (tokens(30522, 1, 12),), reference={}),
    "bert_tiny": Case("transformers", "BertModel", (tokens(97, 2, 9), _PADDED), _TINY_BERT, reference=_TINY_BERT),
}

# Every model of p_vision that torchvision has, whose parameters are compared by name and shape.
TORCHVISION = [
    *(f"resnet{depth}" for depth in (18, 34, 50, 101, 152)),
    *("resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2"),
    *("alexnet", "googlenet", "inception_v3", "squeezenet1_0", "squeezenet1_1"),
    *("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"),
    *(f"vgg{depth}{norm}" for depth in (11, 13, 16, 19) for norm in ("", "_bn")),
    *(f"densenet{depth}" for depth in (121, 161, 169, 201)),
    *(f"shufflenet_v2_x{width}" for width in ("0_5", "1_0", "1_5", "2_0")),
    *(f"regnet_{kind}_{size}" for kind in "xy" for size in ("400mf", "800mf", "1_6gf", "3_2gf", "8gf", "16gf", "32gf")),
    "regnet_y_128gf",
    *(f"convnext_{size}" for size in ("tiny", "small", "base", "large")),
    *(f"swin_{version}{size}" for version in ("", "v2_") for size in "tsb"),
    *(f"efficientnet_b{k}" for k in range(8)),
    *(f"efficientnet_v2_{size}" for size in "sml"),
    *(f"vit_{size}" for size in ("b_16", "b_32", "l_16", "l_32", "h_14")),
]


def labels(case: Case, classes: int) -> np.ndarray:
    """Targets of the training step: one for each row of the output."""
    return tokens(classes, len(case.inputs[0]))


def loss(output: Any, target: Any, functional: Any) -> Any:
    """Cross entropy; the heads of GoogLeNet count three tenths, and a tagger gives logarithms already."""
    if isinstance(output, tuple):
        return sum((weight * functional.cross_entropy(part, target) for weight, part in zip((1.0, 0.3, 0.3), output)), 0.0)
    return functional.cross_entropy(output, target)
