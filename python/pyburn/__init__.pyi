# What `import pyburn` offers. Dtypes are called float, int and bool here, so that annotations must stand elsewhere.
from . import amp as amp
from . import autograd as autograd
from . import backend as backend
from . import cuda as cuda
from . import data as data
from . import jit as jit
from . import linalg as linalg
from . import lr_scheduler as lr_scheduler
from . import return_types as return_types
from . import special as special
from . import utils as utils
from ._cmake import cmake_dir as cmake_dir
from ._core import get_default_dtype as get_default_dtype
from ._core import get_float32_conv_precision as get_float32_conv_precision
from ._core import get_num_threads as get_num_threads
from ._core import promote_types as promote_types
from ._core import set_default_dtype as set_default_dtype
from ._core import set_float32_conv_precision as set_float32_conv_precision
from ._core import set_num_threads as set_num_threads
from ._device import BackendKind as BackendKind
from ._device import backends as backends
from ._device import device as device
from ._device import get_default_device as get_default_device
from ._device import set_default_device as set_default_device
from ._functions import *
from ._random import default_generator as default_generator
from ._random import get_rng_state as get_rng_state
from ._random import initial_seed as initial_seed
from ._random import manual_seed as manual_seed
from ._random import seed as seed
from ._random import set_rng_state as set_rng_state
from ._types import ArgumentError as ArgumentError
from ._types import CaptureError as CaptureError
from ._types import Device as Device
from ._types import DeviceError as DeviceError
from ._types import DType as DType
from ._types import DTypeError as DTypeError
from ._types import FormatError as FormatError
from ._types import Generator as Generator
from ._types import GradientError as GradientError
from ._types import IndexOutOfRange as IndexOutOfRange
from ._types import OutOfMemoryError as OutOfMemoryError
from ._types import PyburnError as PyburnError
from ._types import RemoteError as RemoteError
from ._types import ShapeError as ShapeError
from ._types import Size as Size
from ._types import Tensor as Tensor
from ._types import UnsupportedOp as UnsupportedOp
from .amp.autocast_mode import autocast as autocast
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .io.checkpoint import load as load
from .io.checkpoint import save as save
from .plugins import load_library as load_library
from .tensor.creation import as_tensor as as_tensor
from .tensor.creation import from_dlpack as from_dlpack
from .tensor.creation import from_numpy as from_numpy
from .tensor.creation import is_tensor as is_tensor
from .tensor.creation import numel as numel
from .tensor.creation import rand as rand
from .tensor.methods import nonzero as nonzero
from .tensor.creation import random_tensor as random_tensor
from .tensor.creation import tensor as tensor
from .tensor.distribution import Distribution as Distribution
from .tensor.number_info import finfo as finfo
from .tensor.number_info import iinfo as iinfo
from .tensor.printing import get_printoptions as get_printoptions
from .tensor.printing import printoptions as printoptions
from .tensor.printing import set_printoptions as set_printoptions
from .tensor.unique import unique as unique
from .tensor.unique import unique_consecutive as unique_consecutive
from .tensor.products import einsum as einsum
from .tensor.products import tensordot as tensordot
from .tensor.creation import asarray as asarray
from .tensor.queries import broadcast_shapes as broadcast_shapes
from .tensor.queries import can_cast as can_cast
from .tensor.queries import conj as conj
from .tensor.creation import empty_permuted as empty_permuted
from .tensor.creation import empty_strided as empty_strided
from .tensor.creation import frombuffer as frombuffer
from .tensor.queries import is_complex as is_complex
from .tensor.queries import is_floating_point as is_floating_point
from .tensor.queries import is_nonzero as is_nonzero
from .tensor.queries import is_same_size as is_same_size
from .tensor.queries import is_signed as is_signed
from .tensor.queries import isreal as isreal
from .tensor.queries import real as real
from .tensor.queries import result_type as result_type
from .tensor.creation import scalar_tensor as scalar_tensor

from .script_names import BFloat16Tensor as BFloat16Tensor
from .script_names import BoolTensor as BoolTensor
from .script_names import ByteTensor as ByteTensor
from .script_names import CharTensor as CharTensor
from .script_names import DoubleTensor as DoubleTensor
from .script_names import FloatTensor as FloatTensor
from .script_names import HalfTensor as HalfTensor
from .script_names import IntTensor as IntTensor
from .script_names import LongTensor as LongTensor
from .script_names import ShortTensor as ShortTensor
from .script_names import dtype as dtype
from .script_names import e as e
from .script_names import inf as inf
from .script_names import is_storage as is_storage
from .script_names import nan as nan
from .script_names import newaxis as newaxis
from .script_names import pi as pi
from .script_names import spmm as spmm
from .script_names import typename as typename

TensorPy = Tensor
__version__: str

float64: DType
float32: DType
float16: DType
bfloat16: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
double: DType
float: DType
half: DType
short: DType
int: DType
long: DType
bool: DType
