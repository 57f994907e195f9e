"""Layers whose arguments are declared as annotated class attributes, like the fields of a dataclass.

class LeakyReLU(DeclaredLayer):
    negative_slope: float = 0.3

`LeakyReLU(0.1, name="leaky")` stores the argument in an attribute of its name; the arguments of a base class come first. The shared table
`ARGUMENTS` checks and describes common arguments, the Args section of a class the others. The constructor, the signature, the
configuration and the docstring of a layer are made of these declarations.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .. import activations
from ..configured import arguments
from ..described import Signature, joined, parameter, parts_of
from ..layer import Layer
from .arguments import ARGUMENTS, Argument

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**options: Any) -> Any:  # in typing from Python 3.11 on
        return lambda cls: cls


_REQUIRED = inspect.Parameter.empty
_ANY = Argument("")
_OF_ALL = (
    "The arguments of every layer: name, trainable, dtype, input_shape, activity_regularizer, and a `kernel_constraint` for "
    "each `kernel_regularizer`."
)


class Declared(NamedTuple):
    """The default, the annotation and the kind of an argument."""

    default: Any
    annotation: str = "Any"
    kw_only: bool = False
    saved: bool = True  # whether the config has it

    @property
    def passed(self) -> bool:
        """Whether the argument is declared as InitVar: passed to `prepare`, not stored."""
        return self.annotation.startswith("InitVar")


def option(*, default: Any = _REQUIRED, kw_only: bool = False) -> Any:
    """Declares an argument that is given by name only, unless a subclass declares it again."""
    return Declared(default, kw_only=kw_only)


@dataclass_transform(field_specifiers=(option,))
class _Declaring(Layer):
    """Collects the declarations of its subclasses in this package; layers of users define `__init__` as usual."""

    checks: ClassVar[dict[str, Any]] = {}  # checks of arguments instead of those of ARGUMENTS; None for no check
    first: ClassVar[tuple[str, ...]] = ()  # arguments in front of those of the base classes
    declared: ClassVar[dict[str, Declared]] = {}  # of the class and its bases
    _own: ClassVar[dict[str, Declared]] = {}
    _meanings: ClassVar[dict[str, str]] = {}  # of the arguments that the class describes itself
    if not TYPE_CHECKING:
        __signature__ = Signature()

        def __init__(self, *args: Any, **options: Any) -> None:
            given = self._bound(args, options)
            super().__init__(**options)
            passed = {name: given.pop(name) for name, argument in self.declared.items() if argument.passed}
            for name, value in given.items():
                check = self.checks.get(name, ARGUMENTS.get(name, _ANY).check)
                skipped = check is None or (value is None and self.declared[name].default is None)
                setattr(self, name, value if skipped else check(self, name, value))
            if "activation" in given:
                self._activate = activations.get(self.activation)
            if "recurrent_activation" in given:
                self._gate = activations.get(self.recurrent_activation)
            self.prepare(**passed)

    def __init_subclass__(cls, **constants: Any) -> None:
        super().__init_subclass__(**constants)
        if not cls.__module__.startswith("p_vision."):
            return
        cls._own = {}
        for name, kind in inspect.get_annotations(cls).items():
            if name[0] != "_" and not kind.startswith("ClassVar"):
                value = vars(cls).get(name, _REQUIRED)
                read = isinstance(value, property)  # an InitVar with a property of its name is in the config
                if not read and value is not _REQUIRED:
                    delattr(cls, name)  # it would hide a layer or a weight of that name
                given = value if isinstance(value, Declared) else Declared(_REQUIRED if read else value)
                cls._own[name] = given._replace(annotation=kind, saved=read or not kind.startswith("InitVar"))
        found: dict[str, Declared] = {}
        for base in reversed(cls.__mro__):
            for name, argument in vars(base).get("_own", {}).items():
                if name in found and found[name].kw_only:
                    del found[name]  # the position is that of the new declaration
                found[name] = argument
        places = {name: at for at, name in enumerate(cls.first)}
        cls.declared = {n: found[n] for n in sorted(found, key=lambda n: (found[n].kw_only, places.get(n, len(places))))}
        cls._meanings = {name: text for base in reversed(cls.__mro__) for name, text in vars(base).get("_meanings", {}).items()}
        if cls.__doc__ and cls.is_declared():
            head, own, after = parts_of(cls.__doc__)
            cls._meanings.update(own)
            meanings = {name: cls._meanings.get(name) or ARGUMENTS.get(name, _ANY).meaning for name in cls.declared}
            cls.__doc__ = joined(head, {**meanings, "**options": _OF_ALL}, after)

    @classmethod
    def is_declared(cls) -> bool:
        """Returns whether the class has no constructor of its own."""
        return next(base for base in cls.__mro__ if "__init__" in vars(base)) is _Declaring

    @classmethod
    def constructor_parameters(cls) -> list[inspect.Parameter] | None:
        """Returns the parameters of the constructor; None if the class has its own."""
        if not cls.is_declared():
            return None
        rest = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Any")
        return [*(parameter(name, d.default, d.annotation, d.kw_only) for name, d in cls.declared.items()), rest]

    def prepare(self) -> None:
        """Checks and converts the arguments after all of them are stored; subclasses define it."""

    @classmethod
    def _bound(cls, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """Takes the declared arguments out of the options and returns all of them.

        Raises:
            TypeError: An argument is missing or given twice, or there are too many.
        """
        name, places = cls.__name__, [option for option, argument in cls.declared.items() if not argument.kw_only]
        if len(args) > len(places):
            raise TypeError(f"{name}() takes {len(places)} positional arguments ({', '.join(places)}): got {len(args)}")
        given = dict(zip(places, args))
        for option in cls.declared:
            if option in options:
                if option in given:
                    raise TypeError(f"{name}() got multiple values for argument {option!r}")
                given[option] = options.pop(option)
        missing = [option for option, argument in cls.declared.items() if argument.default is _REQUIRED and option not in given]
        if missing:
            raise TypeError(f"{name}() missing required argument{'s' * (len(missing) > 1)}: {', '.join(map(repr, missing))}")
        return {option: given.get(option, argument.default) for option, argument in cls.declared.items()}

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        """Returns the declared arguments, or those of the class's own constructor, with their defaults."""
        if not cls.is_declared():
            return arguments(cls)
        return {name: argument.default for name, argument in cls.declared.items() if argument.saved}

    def weight_of(self, kind: str, shape: Any) -> Any:
        """Creates a weight with the initializer and the regularizer of a kind, such as "kernel"."""
        return self.add_weight(shape, getattr(self, f"{kind}_initializer"), regularizer=getattr(self, f"{kind}_regularizer"))


class DeclaredLayer(_Declaring):
    """Base class of the layers of p_vision. The arguments of every layer are declared for type checkers; `Layer` takes them."""

    if TYPE_CHECKING:
        name: Any = option(default=None, kw_only=True)
        trainable: Any = option(default=True, kw_only=True)
        dtype: Any = option(default=None, kw_only=True)
        input_shape: Any = option(default=None, kw_only=True)
        activity_regularizer: Any = option(default=None, kw_only=True)
        kernel_constraint: Any = option(default=None, kw_only=True)
        bias_constraint: Any = option(default=None, kw_only=True)
        recurrent_constraint: Any = option(default=None, kw_only=True)
        embeddings_constraint: Any = option(default=None, kw_only=True)
        depthwise_constraint: Any = option(default=None, kw_only=True)
        pointwise_constraint: Any = option(default=None, kw_only=True)
        beta_constraint: Any = option(default=None, kw_only=True)
        gamma_constraint: Any = option(default=None, kw_only=True)
        alpha_constraint: Any = option(default=None, kw_only=True)
