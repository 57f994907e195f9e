"""The import hook: maps modules of PyTorch to modules of pyburn."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType
from typing import Any

_HERE = __package__

ROOTS = ("torch", "torchaudio", "torchvision")
VERSIONS = {"torch": "2.15.0", "torchvision": "0.29.2"}  # those whose names and behaviour are taken

# The replacement of a module; `+` is this package. The longest matching name is used, and the rest is looked up below that module.
# With a `!` every name below it is the module itself: PyTorch has a file per class there.
_TABLE = """
torch                          +.torch_module
torch._tensor                  pyburn
torch.amp                      pyburn.amp
torch.autograd                 pyburn.autograd
torch.autograd.grad_mode       pyburn
torch.autograd.variable        pyburn.autograd
torch.distributions            +.distributions !
torch.func                     pyburn.func
torch.hub                      +.hub
torch.linalg                   pyburn.linalg
torch.masked                   pyburn.masked
torch.nn                       pyburn.nn
torch.nn.attention.flex_attention   +.flex_attention
torch.nn.parallel              pyburn.nn.parallel !
torch.optim                    pyburn.optim
torch.return_types             pyburn.return_types
torch.signal                   pyburn.signal
torch.special                  pyburn.special
torch.storage                  pyburn.tensor.storage
torch.testing                  pyburn.testing
torch.utils._pytree            +.pytree
torch.utils.benchmark          +.benchmark !
torch.utils.checkpoint         pyburn.utils.checkpoint
torch.utils.data               pyburn.utils.data !
torch.utils.model_zoo          +.hub
torch.utils.tensorboard        +.tensorboard !
torchvision                    +.torchvision
torchvision._internally_replaced_utils  +.torchvision.builders
torchvision._utils             +.torchvision.builders
torchvision.datasets           +.torchvision.datasets !
torchvision.datasets.utils     +.torchvision.dataset_files !
torchvision.io                 +.torchvision.io !
torchvision.models             p_vision.models
torchvision.models._api        +.torchvision.builders
torchvision.models._meta       +.torchvision.builders
torchvision.models._utils      +.torchvision.builders
torchvision.models.alexnet     p_vision.models.alex_net
torchvision.models.googlenet   p_vision.models.google_net
torchvision.models.mobilenet   p_vision.models
torchvision.models.utils       +.torchvision.builders
torchvision.ops                +.torchvision.ops !
torchvision.transforms         +.torchvision.transforms !
torchvision.transforms._presets        +.torchvision.presets
torchvision.transforms.functional      pyburn.data.transforms.functional
torchvision.transforms.v2.functional   pyburn.data.transforms.functional
torchvision.utils              +.torchvision.utils
"""
_ROWS = {row.split()[0]: row.split()[1:] for row in _TABLE.strip().splitlines()}
_PLACES = {name: row[0].replace("+", _HERE) for name, row in _ROWS.items()}
_WHOLE = {name for name, row in _ROWS.items() if row[1:]}
_OPTIMISERS = "_adafactor _muon adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd sparse_adam"
_PLACES |= {f"torch.optim.{name}": "pyburn.optim" for name in _OPTIMISERS.split()}


def place_of(name: str) -> str | None:
    """The replacement module for a name, or None if it is one of the small ones of `namespaces`."""
    from .namespaces import is_small

    if name.startswith("torch.nn.modules."):
        importlib.import_module("pyburn.nn.modules")  # which has the files that PyTorch has
        if "pyburn" + name.removeprefix("torch") in sys.modules:
            return "pyburn" + name.removeprefix("torch")
    if name == "torchvision.models":
        return f"{_HERE}.torchvision.models"
    if name not in _PLACES and is_small(name):
        return None
    head = name
    while head not in _PLACES:
        head = head.rpartition(".")[0]
    if head in ("torch", "torchvision") and head != name:
        raise ModuleNotFoundError(f"pyburn.compat does not provide {name!r}", name=name)
    return _PLACES[head] + (name[len(head) :] if head not in _WHOLE else "")


class _Package(Distribution):
    """The importlib.metadata of a replaced package: libraries query its version before they import."""

    def __init__(self, package: str, version: str) -> None:
        self.text = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\nSummary: pyburn.compat\n"

    def read_text(self, filename: str) -> str | None:
        return self.text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: pyburn.compat replaces {self.metadata['Name']}, which has no files here")


class TorchFinder(DistributionFinder):
    """The import hook: an entry of sys.meta_path that finds the modules of PyTorch in pyburn.

    Args:
        packages: The packages that it answers for.

    >>> TorchFinder(["torch"]).find_spec("numpy", None) is None
    True
    """

    def __init__(self, packages: Sequence[str] = ROOTS) -> None:
        self.packages = packages

    def find_distributions(self, context: Any = DistributionFinder.Context()) -> Iterator[Distribution]:  # noqa: B008
        return (_Package(name, version) for name, version in VERSIONS.items() if name in self.packages and context.name in (None, name))

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.packages:
            return None
        place = place_of(fullname)
        return ModuleSpec(fullname, _Loader(place), origin=place, is_package=True)


class _Loader(Loader):
    """Gives the module of pyburn itself, untouched."""

    def __init__(self, place: str | None) -> None:
        self.place = place
        self.spec: Any = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if self.place is None:
            from .namespaces import namespace

            return namespace(spec.name)
        try:
            module = importlib.import_module(self.place)
        except ModuleNotFoundError as error:
            if error.name is None or not self.place.startswith(error.name):
                raise
            raise ModuleNotFoundError(f"pyburn.compat does not provide {spec.name!r}", name=spec.name) from None
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if self.spec is not None:
            module.__spec__ = self.spec  # the import system has put the one of PyTorch's name there
