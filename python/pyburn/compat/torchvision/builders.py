"""What files of torchvision's models import besides layers: the register of builders, weights by name, and their helpers.

It stands for torchvision.models._api, ._utils and ._meta, torchvision._utils and torchvision._internally_replaced_utils.
"""

from __future__ import annotations

import enum
import fnmatch
import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from p_vision.models.building import rounded_channels as _make_divisible  # noqa: F401

from ...nn import Module, ModuleDict
from ..hub import load_state_dict_from_url, load_url

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight", "list_models"]
__all__ += ["IntermediateLayerGetter", "handle_legacy_interface", "load_state_dict_from_url", "load_url", "register_model"]


@dataclass(eq=False)
class Weights:
    """A file of weights, the preprocessing of its model and what is known about it.

    >>> Weights("https://example.org/net.pth", transforms=None, meta={"num_params": 3}).meta
    {'num_params': 3}
    """

    url: str
    transforms: Callable[..., Any]
    meta: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        return (self.url, self.meta, _parts(self.transforms)) == (other.url, other.meta, _parts(other.transforms))

    __hash__ = None  # type: ignore[assignment]


def _parts(function: Callable[..., Any]) -> Any:
    """A partial function is equal to none but itself; what it is made of can be compared."""
    return (function.func, function.args, function.keywords) if isinstance(function, functools.partial) else function


class WeightsEnum(enum.Enum):
    """The available weights of a model: an enum of Weights.

    >>> class NetWeights(WeightsEnum):
    ...     V1 = Weights("https://example.org/net.pth", transforms=None, meta={})
    >>> NetWeights.verify("V1")
    NetWeights.V1
    """

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """Returns the member that is given or named.

        Args:
            obj: A member, the name of one, or None.

        Returns:
            The member; None for None.

        Raises:
            TypeError: obj is something else.
        """
        if isinstance(obj, str):
            return cls[obj.removeprefix(cls.__name__ + ".")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}.")
        return obj

    def get_state_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        return load_state_dict_from_url(self.url, *args, **options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self) -> str:
        return self.value.url  # type: ignore[no-any-return]

    @property
    def transforms(self) -> Any:
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        return self.value.meta  # type: ignore[no-any-return]


_registered: dict[str, Callable[..., Any]] = {}


def register_model(name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a builder known to get_model."""

    def register(builder: Callable[..., Any]) -> Callable[..., Any]:
        _registered[(name or builder.__name__).lower()] = builder
        return builder

    return register


def _builders() -> dict[str, Callable[..., Any]]:
    """Those of p_vision, and those that were registered."""
    from p_vision import models

    return {**{name: models.get_model_builder(name) for name in models.list_models()}, **_registered}


def list_models(module: Any = None, include: str | Iterable[str] | None = None, exclude: str | Iterable[str] | None = None) -> list[str]:
    """Returns the names of the available models, sorted.

    Args:
        module: Only models whose builders are defined in this module.
        include: Only names that match one of these patterns.
        exclude: No names that match one of these patterns.

    >>> list_models(include="resnet*", exclude="*5*")
    ['resnet101', 'resnet18', 'resnet34']
    """
    names = {name for name, builder in _builders().items() if module is None or builder.__module__.startswith(module.__name__)}
    wanted, unwanted = ([p] if isinstance(p, str) else list(p or ()) for p in (include, exclude))
    if wanted:
        names = {name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in wanted)}
    return sorted(name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in unwanted))


def get_model_builder(name: str) -> Callable[..., Any]:
    """Returns the function that builds a model.

    Args:
        name: The name of the model.

    >>> get_model_builder("resnet18").__name__
    'resnet18'
    """
    from p_vision import models

    return _registered[name.lower()] if name.lower() in _registered else models.get_model_builder(name)


def get_model(name: str, **config: Any) -> Module:
    """Builds a model by name.

    Args:
        name: The name of the model.
        **config: The options of its builder.

    Returns:
        The model.

    >>> type(get_model("squeezenet1_1", num_classes=3)).__name__
    'SqueezeNet'
    """
    return get_model_builder(name)(**config)  # type: ignore[no-any-return]


def get_model_weights(name: Callable[..., Any] | str) -> Any:
    """Returns the WeightsEnum of a model, which annotates the argument `weights` of its builder.

    Args:
        name: The builder or its name.

    Raises:
        ValueError: The model has no weights by name.

    >>> get_model_weights("resnet18")
    Traceback (most recent call last):
    ValueError: The model resnet18 has no weights by name: give weights= the path of a file
    """
    import typing

    builder = get_model_builder(name) if isinstance(name, str) else name
    kinds = typing.get_args(typing.get_type_hints(inspect.unwrap(builder)).get("weights"))
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, WeightsEnum):
            return kind
    raise ValueError(f"The model {builder.__name__} has no weights by name: give weights= the path of a file")


def get_weight(name: str) -> Any:
    """Returns weights by their full name.

    Args:
        name: The name, such as "ResNet50_Weights.IMAGENET1K_V1".

    Raises:
        ValueError: There are no such weights.

    >>> get_weight("ResNet50_Weights.IMAGENET1K_V1")
    Traceback (most recent call last):
    ValueError: The weight enum 'ResNet50_Weights' for the specific method couldn't be retrieved.
    """
    kind, _, member = name.partition(".")
    for builder in _registered.values():
        try:
            weights = get_model_weights(builder)
        except ValueError:
            continue
        if weights.__name__ == kind:
            return weights[member]
    raise ValueError(f"The weight enum '{kind}' for the specific method couldn't be retrieved.")


class IntermediateLayerGetter(ModuleDict):
    """Runs the children of a model in order, up to the last requested output; returns the outputs by their new names."""

    def __init__(self, model: Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if not set(return_layers) <= set(children):
            raise ValueError("return_layers are not present in model")
        last = max(list(children).index(name) for name in return_layers)
        super().__init__(OrderedDict(list(children.items())[: last + 1]))
        self.return_layers = return_layers

    def forward(self, x: Any) -> OrderedDict[str, Any]:
        found = OrderedDict()
        for name, layer in self.items():
            x = layer(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found


def kwonly_to_pos_or_kw(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose keywords may be given by position, with a warning."""
    kinds = inspect.signature(fn).parameters
    plain = [name for name, p in kinds.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = [name for name, p in kinds.items() if p.kind is p.KEYWORD_ONLY]

    @functools.wraps(fn)
    def called(*args: Any, **named: Any) -> Any:
        beyond = dict(zip(keywords, args[len(plain) :], strict=False))
        if beyond:
            warnings.warn(f"Using {sequence_to_str(tuple(beyond), 'and ')} as positional parameter(s) is deprecated", stacklevel=2)
        return fn(*args[: len(plain)], **named, **beyond)

    return called


def handle_legacy_interface(**weights: tuple[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of builders that still understand `pretrained=True`, for which the default weights stand."""

    def decorate(builder: Callable[..., Any]) -> Callable[..., Any]:
        @kwonly_to_pos_or_kw
        @functools.wraps(builder)
        def called(*args: Any, **named: Any) -> Any:
            for new, (old, default) in weights.items():
                if old in named:
                    warnings.warn(f"The parameter '{old}' is deprecated, please use '{new}' instead.", stacklevel=2)
                elif isinstance(named.get(new), bool) or named.get(new) == "legacy":
                    named[old] = named.pop(new)
                else:
                    continue
                usual = (default(named) if callable(default) else default) if named[old] else None
                if named.pop(old) and not isinstance(usual, WeightsEnum):
                    raise ValueError(f"No weights available for model {builder.__name__}")
                named[new] = usual
            return builder(*args, **named)

        return called

    return decorate


def _ovewrite_value_param(param: str, actual: Any, expected: Any) -> Any:
    """The value that weights ask for; another one raises. (The name is torchvision's.)"""
    if actual is not None and actual != expected:
        raise ValueError(f"The parameter '{param}' expected value {expected} but got {actual} instead.")
    return expected


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    kwargs[param] = _ovewrite_value_param(param, kwargs[param], new_value) if param in kwargs else new_value


def sequence_to_str(seq: Sequence[Any], separate_last: str = "") -> str:
    """'a', 'b', and 'c'."""
    if len(seq) < 2:
        return f"'{seq[0]}'" if seq else ""
    comma = "" if separate_last and len(seq) == 2 else ","
    return f"{', '.join(repr(str(item)) for item in seq[:-1])}{comma} {separate_last}'{seq[-1]}'"


_ModelURLs = dict

# How many categories sets of data have. Their names come with torchvision.
_IMAGENET_CATEGORIES = [f"class {i}" for i in range(1000)]
_COCO_CATEGORIES = [f"class {i}" for i in range(91)]
_COCO_PERSON_CATEGORIES = ["no person", "person"]
_COCO_PERSON_KEYPOINT_NAMES = [f"keypoint {i}" for i in range(17)]
_VOC_CATEGORIES = [f"class {i}" for i in range(21)]
_KINETICS400_CATEGORIES = [f"class {i}" for i in range(400)]
