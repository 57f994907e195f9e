"""VGG-19."""

from __future__ import annotations

from functools import partial

from .frame import network
from .imagenet_utils import preprocess_input
from .vgg16 import features, head

__all__ = ["VGG19", "preprocess_input"]

VGG19 = network("VGG19", "VGG-19: 16 convolutions in five blocks and three dense layers.", partial(features, (2, 2, 4, 4, 4)), head=head)
