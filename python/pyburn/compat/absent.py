"""Parts of PyTorch that pyburn does not have. Model files import them for other ways to run: they can be imported, and raise when used."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .. import _core

# Names below torch., and whatever is below them in turn.
_OTHERS = """
_VF _classes _custom_op _custom_ops _decomp _dispatch _guards _lazy _linalg_utils _lobpcg _logging _lowrank _meta_registrations _numpy
_python_dispatcher _utils_internal _vmap_internals _weights_only_unpickler contrib monitor mtia nativert numa quasirandom
backends.cusparselt backends.miopen backends.nnpack backends.quantized backends.xeon backends.xnnpack
cuda._sanitizer cuda._utils cuda.comm cuda.gds cuda.graphs cuda.jiterator cuda.memory cuda.nccl cuda.profiler cuda.sparse
cuda.streams cuda.tunable jit._script jit._trace jit.frontend jit.mobile jit.quantized
nn.attention.varlen nn.backends nn.parallel._functions nn.parallel.comm nn.intrinsic nn.qat nn.quantizable
profiler._memory_profiler profiler._utils profiler.itt profiler.profiler profiler.python_tracer
utils._cxx_pytree utils._device utils._mode_utils utils._python_dispatch utils._sympy utils._triton utils.backcompat utils.bundled_inputs
utils.collect_env utils.data.datapipes utils.hipify utils.mkldnn utils.model_dump utils.module_tracker
utils.throughput_benchmark utils.viz
_C _C._nn _dynamo _export _functorch _higher_order_ops _inductor _library _ops _prims _prims_common _refs _subclasses _tensor_str
_utils ao classes compiler distributed export fft futures fx library nested nn.quantized onnx ops package quantization
utils.cpp_extension utils.mobile_optimizer
"""
PLACES = (*(f"torch.{name}" for name in _OTHERS.split()), "torchaudio", "torchvision.prototype", "torchvision.tv_tensors")


def is_absent(name: str) -> bool:
    """Whether a module is one of these or below one."""
    if name.startswith("torchvision.models."):  # families that p_vision.models does not have
        return name.count(".") > 2 or importlib.util.find_spec("p_vision" + name.removeprefix("torchvision")) is None
    return any(name == place or name.startswith(place + ".") for place in PLACES)


class AbsentClass(type):
    """A name of an absent module. It may stand in annotations, in isinstance, as a base class and as a decorator; to call it, or
    what it decorates, raises."""

    place: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], FunctionType):  # a decorator: the module that has it can be imported
            return functools.wraps(args[0])(lambda *_, **__: cls())
        raise NotImplementedError(f"[compat] {cls.place} is not implemented in pyburn: docs/compat.md lists what is")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.place}.{name}")

    def __getitem__(cls, item: Any) -> AbsentClass:  # Future[int]
        return cls

    def __bool__(cls) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<{cls.place}, not implemented in pyburn>"


def absent(place: str) -> AbsentClass:
    """A placeholder for a missing name."""
    module, _, name = place.rpartition(".")
    return AbsentClass(name, (), {"__module__": module, "__doc__": f"{place} is not implemented in pyburn.", "place": place})


def absent_names(module: str, found: Callable[[str], Any] = lambda name: None) -> Callable[[str], Any]:
    """Returns the __getattr__ of a module: the attribute of `found`, or else a placeholder for a missing name."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = found(name)
        return absent(f"{module}.{name}") if value is None else value

    return __getattr__


class AbsentModule(ModuleType):
    """An absent module: modules below it are imported when they are asked for, other names are absent classes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        place = f"{self.__name__}.{name}"
        found = importlib.import_module(f"{self.__name__}.{name}") if place in PLACES else absent(place)
        setattr(self, name, found)
        return found


class AbsentDType:
    """A dtype that pyburn has no tensors of: it can be compared and looked up."""

    is_signed = True
    __class__ = property(lambda self: _core.DType)  # type: ignore[assignment]  # so that isinstance takes it for a dtype

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_complex, self.is_floating_point = "complex" in name, name.startswith("float")

    def __repr__(self) -> str:
        return f"torch.{self.name}"


_SIZES = {
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
}
_SIZES |= {"bcomplex32": 4, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1, "qint8": 1, "quint8": 1, "qint32": 4, "quint2x4": 1, "quint4x2": 1}
_SIZES |= {"bits1x8": 1, "bits2x4": 1, "bits4x2": 1, "bits8": 1, "bits16": 2}
DTYPES = {name: AbsentDType(name, size) for name, size in _SIZES.items()}
DTYPES |= {"chalf": DTYPES["complex32"], "cfloat": DTYPES["complex64"], "cdouble": DTYPES["complex128"]}
