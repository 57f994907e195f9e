"""Parts of PyTorch that are not there. Model files import them for other ways to run: they can be imported, and raise when used."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

from .. import _core

# Whatever is below these names is absent, too.
PLACES = (
    "torch._C",
    "torch._custom_ops",
    "torch._dynamo",
    "torch._export",
    "torch._functorch",
    "torch._higher_order_ops",
    "torch._inductor",
    "torch._library",
    "torch._ops",
    "torch._prims",
    "torch._prims_common",
    "torch._refs",
    "torch._subclasses",
    "torch._tensor_str",
    "torch._utils",
    "torch.ao",
    "torch.classes",
    "torch.compiler",
    "torch.distributed",
    "torch.export",
    "torch.fft",
    "torch.futures",
    "torch.fx",
    "torch.library",
    "torch.nested",
    "torch.nn.quantized",
    "torch.onnx",
    "torch.ops",
    "torch.package",
    "torch.quantization",
    "torch.utils.benchmark",
    "torch.utils.cpp_extension",
    "torch.utils.mobile_optimizer",
    "torchvision.io",
    "torchvision.prototype",
    "torchvision.tv_tensors",
)


def is_absent(name: str) -> bool:
    """Whether a module is one of these or below one."""
    if name.startswith("torchvision.models."):  # families that p_vision.models does not have
        return importlib.util.find_spec("p_vision" + name.removeprefix("torchvision")) is None if name.count(".") == 2 else True
    return any(name == place or name.startswith(place + ".") for place in PLACES)


class AbsentClass(type):
    """A name of an absent module. It may stand in annotations, in isinstance and as a base class; to call it raises."""

    place: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"[compat] {cls.place} is not there in pyburn")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.place}.{name}")

    def __bool__(cls) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<{cls.place}, which is not there in pyburn>"


def absent(place: str) -> AbsentClass:
    """What stands for a name that is not there."""
    module, _, name = place.rpartition(".")
    return AbsentClass(name, (), {"__module__": module, "__doc__": f"{place} is not there in pyburn.", "place": place})


class AbsentModule(ModuleType):
    """An absent module: modules below it are imported when they are asked for, other names are absent classes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        place = f"{self.__name__}.{name}"
        found = importlib.import_module(place) if place in PLACES else absent(place)
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
