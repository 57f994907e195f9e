# The extension module. Names with an underscore are between the package and its core, and not described.
from typing import Any

from ._functions import *
from ._types import *
from ._types import DType, Generator

default_generator: Generator
_nn: Any

def _current_generator() -> Generator: ...
def _use_generator(generator: Generator | None) -> Generator | None: ...

def promote_types(type1: DType, type2: DType) -> DType:
    """The dtype in which two dtypes meet."""
    ...
def get_default_dtype() -> DType:
    """The dtype of new floating tensors."""
    ...
def set_default_dtype(d: DType) -> None:
    """Sets the dtype of new floating tensors."""
    ...
def set_num_threads(n: int) -> None:
    """How many threads large operations may use."""
    ...
def get_num_threads() -> int:
    """How many threads large operations may use."""
    ...
def set_float32_conv_precision(precision: str) -> None:
    """How precisely convolutions of float32 are computed: 'highest', or 'high' for faster algorithms."""
    ...
def get_float32_conv_precision() -> str:
    """The setting of set_float32_conv_precision."""
    ...
def __getattr__(name: str) -> Any: ...
