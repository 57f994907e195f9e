"""Layer: a module that creates its weights from the shape of its first input."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import Any

import pyburn
from pyburn import DType, Tensor
from pyburn._nested import leaves, mapped, single
from pyburn.nn import Module, Parameter

from . import constraints, initializers, regularizers, variables
from .configured import Configured, snake_case, suggestion
from .conversion import as_input, dtype_of, is_shape, mapped_shapes
from .dtype_policies import DTypePolicy, policy_of
from .input_spec import check_inputs
from .symbolic.calls import outermost_call
from .symbolic.masks import hand_on, masks_of, takes_mask
from .symbolic.symbol import Node, Shape, Symbol, drawing_device, has_symbol, is_drawing, mode, symbolic_call, without_values
from .tracking import tracked
from .weights import WeightMethods

_OPTIONS = ("name", "trainable", "dtype", "input_shape", "activity_regularizer")


class Layer(WeightMethods, Configured, Module):
    """Base class of layers: a subclass creates its weights in `build(input_shape)` and computes the output in `call(inputs)`.

    Args:
        name: The name of the layer, without "." and "/".
        trainable: False freezes the weights.
        dtype: The dtype or dtype policy of the layer.
        input_shape: The input shape without the batch dimension, for the first layer of a model without Input.
        activity_regularizer: A penalty on the output, added to the loss.
        **constraints_by_weight: `kernel_constraint` and so on, for each weight that has a regularizer argument.

    Raises:
        ValueError: The name contains "." or "/".

    >>> class Scale(p_vision.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight(shape=input_shape[-1:], initializer="ones", name="factor")
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> Scale()(pyburn.ones(2, 3)).shape
    pyburn.Size([2, 3])
    """

    converts = True  # whether inputs are cast to the compute dtype; models leave this to their layers
    trains_by_itself = False  # whether a call without `training` runs in training mode
    input_spec: Any = None  # InputSpec checked on each call
    supports_masking = False  # whether the output has the mask of the input, unless compute_mask is overridden

    def __init__(
        self,
        *,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
        input_shape: Any = None,
        activity_regularizer: Any = None,
        **constraints_by_weight: Any,
    ) -> None:
        super().__init__()
        if name is not None and (not isinstance(name, str) or not name or "." in name or "/" in name):
            raise ValueError(f"the name of a layer is text without '.' and '/': got {name!r}")
        self._name = name
        self._trainable = bool(trainable)
        self._policy = policy_of(dtype)
        self._input_shape = input_shape  # for a first layer in a model without Input
        self._made: list[tuple[Tensor, str | None, Any, Any]] = []  # weights created in build, with their regularizers and constraints
        self._penalties: dict[str, Any] = {}
        self._limits: dict[str, Any] = {}  # constraints by weight name
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self._constraints = self._constraint_options(constraints_by_weight)
        self._added_losses: list[Tensor] = []
        self.training = False  # direct calls run in inference mode, as in Keras; `fit` and `train()` change it
        self._calls: list[Node] = []  # calls with symbols
        self.built = False
        self.built_for: Any = None  # the input shapes

    def __init_subclass__(cls, **constants: Any) -> None:
        """Sets constants of a class from its keywords: `class Conv2D(_Conv, rank=2)`."""
        super().__init_subclass__()
        for name, value in constants.items():
            setattr(cls, name, value)
        if cls.__module__.partition(".")[0] != "p_vision" and cls.__setattr__ is Module.__setattr__:
            cls.__setattr__ = _set_tracked  # type: ignore[method-assign, assignment]

    def _constraint_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Accepts `<weight>_constraint` for each `<weight>_regularizer` argument of the layer."""
        known = self.config_arguments()
        for option in given:
            if not option.endswith("_constraint") or option.replace("_constraint", "_regularizer") not in known:
                hint = suggestion(option, [*known, *_OPTIONS])
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {option!r}{hint}")
        return {option: constraints.get(value) for option, value in given.items() if value is not None}

    # ---- to override

    def build(self, input_shape: Any) -> None:
        """Creates the weights.

        Args:
            input_shape: The shape of the input with None for the batch dimension; a list of shapes for several inputs.
        """

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output; subclasses define it.

        Args:
            *args: The inputs.
            **kwargs: Options of the call, such as training and mask.

        Returns:
            The output: a tensor, or nested tensors.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes: define call(self, inputs)")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs `call`, and passes `training` if it has that argument. A subclass may define `forward` instead of `call`.

        Args:
            *args: The inputs.
            **kwargs: Options of the call.

        Returns:
            The output.
        """
        if "training" not in kwargs and _takes_training(type(self)):
            kwargs["training"] = self.training
        return self.call(*args, **kwargs)

    @classmethod
    def computed_by(cls) -> Any:
        """Returns the method that the subclass overrides: `forward` or `call`."""
        return cls.call if cls.forward is Layer.forward else cls.forward

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the mask of the output for the mask of the inputs.

        Args:
            inputs: The inputs.
            mask: Their mask, or masks.
        """
        return mask if self.supports_masking else None

    def makes_masks(self) -> bool:
        """Returns whether the output can have a mask."""
        return self.supports_masking or type(self).compute_mask is not Layer.compute_mask

    def add_loss(self, loss: Any) -> None:
        """Adds a tensor to the loss of the model; call it in `call`. Added losses are reset at each outermost call.

        Args:
            loss: The tensor, or nested tensors.
        """
        self._added_losses.extend(leaves([loss]))

    # ---- building

    def add_weight(
        self,
        shape: Any = (),
        initializer: Any = None,
        dtype: DType | str | None = None,
        trainable: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        name: str | None = None,
    ) -> Any:
        """Creates a weight; assign the result to an attribute.

        Args:
            shape: The shape of the weight.
            initializer: The name of an initializer or an Initializer; by default `glorot_uniform`.
            dtype: The dtype; by default the variable dtype of the layer.
            trainable: Whether training updates the weight.
            regularizer: A penalty on the weight, added to the loss.
            constraint: Applied to the weight after each step.
            name: The name of the weight.

        Returns:
            The weight: a Parameter, or a buffer if it is not trained.

        Raises:
            ShapeError: A dimension of the shape is None.
        """
        extents = [shape] if isinstance(shape, int) else list(shape)
        if any(extent is None for extent in extents):
            raise pyburn.ShapeError(
                f"[{self._get_name()}] an extent that its weights depend on is not known: the weight would be {extents}"
            )
        values = initializers.get("glorot_uniform" if initializer is None else initializer)(
            extents, dtype_of(dtype) or self._weight_dtype()
        )
        weight = variables.weight(values, name, trainable)
        self._made.append((weight, name, regularizers.get(regularizer), constraints.get(constraint)))
        return weight

    add_variable = add_weight

    def build_for(self, shapes: Any) -> None:
        """Builds the layer for input shapes, unless it is built already.

        Args:
            shapes: The shape of the input, or nested shapes.
        """
        if self.built:
            return
        self.build(shapes)
        self.built_for = shapes
        names = {id(t): name for name, t in [*self.named_parameters(recurse=False), *self.named_buffers(recurse=False)]}
        for index, (weight, name, penalty, constraint) in enumerate(self._made):
            if id(weight) not in names:  # stored in a list, or not stored at all
                names[id(weight)] = name or f"weight_{index}"
                self._register_weight(names[id(weight)], weight)
            weight.name = name or names[id(weight)]  # type: ignore[attr-defined]
            weight.path = f"{self.name}/{weight.name}"  # type: ignore[attr-defined]
            if penalty is not None:
                self._penalties[names[id(weight)]] = penalty
            if constraint is not None:
                self._limits[names[id(weight)]] = constraint
        self._made = []
        for option, constraint in self._constraints.items():
            stem = option.removesuffix("_constraint")
            for name in (stem, f"{stem}_kernel"):
                if isinstance(getattr(self, name, None), Tensor):
                    self._limits[name] = constraint
        self.built = True
        if not self._trainable:
            self.trainable = False

    def _register_weight(self, name: str, weight: Tensor) -> None:
        if isinstance(weight, Parameter):
            self.register_parameter(name, weight)
        else:
            self.register_buffer(name, weight)

    def __call__(self, *args: Any, training: bool | None = None, **kwargs: Any) -> Any:
        if self.input_spec is not None and args:
            check_inputs(self.input_spec, args[0], self.name)
        if has_symbol(args) or has_symbol(kwargs):
            if not self.built and args:
                self.build_for(mapped_shapes(args[0]))
            given = symbolic_call(self, args, kwargs if training is None else {**kwargs, "training": training})
            self._calls.append(next(leaves(given)).node)
            return given
        args = mapped(as_input, args)
        policy = self._policy if self.converts else None
        if policy is not None:
            args, kwargs = mapped(policy.cast, args), mapped(policy.cast, kwargs)
        if args and is_drawing() and (not self.built or self._has_values()):  # in a symbolic call of another layer: shapes only
            if not self.built:
                with drawing_device():
                    self.build_for(mapped_shapes(args[0]))
            return without_values(self, args, kwargs if training is None else {**kwargs, "training": training})
        if not self.built and args:
            self.build_for(mapped_shapes(args[0]))
        masks = masks_of(args[0]) if args else None
        if masks is not None and "mask" not in kwargs and takes_mask(type(self)):
            kwargs["mask"] = masks
        with outermost_call(self), nullcontext() if training is None else mode(self, bool(training)):
            if policy is None:
                output = super().__call__(*args, **kwargs)
            else:
                with policy.computing():
                    output = mapped(policy.cast, super().__call__(*args, **kwargs))
        if args:
            self._hand_on(args[0], kwargs.get("mask", masks), output)
        if self.activity_regularizer is not None:
            for leaf in leaves(output):
                self.add_loss(self.activity_regularizer(leaf) / max(len(leaf), 1))
        return output

    def _has_values(self) -> bool:
        """Returns whether any weight is on a device other than `null`: one that a sublayer created earlier in the same symbolic call."""
        return any(tensor.device.type != "meta" for tensor in [*self.parameters(), *self.buffers()])

    def _hand_on(self, inputs: Any, masks: Any, output: Any) -> None:
        hand_on(self, inputs, masks, output)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the output shape for an input shape.

        Args:
            input_shape: The shape with None for unknown sizes, or a list of shapes.
        """
        from .input import Input

        def symbol(shape: Shape) -> Symbol:
            return Input(batch_shape=shape)

        inputs = symbol(input_shape) if is_shape(input_shape) else [symbol(shape) for shape in input_shape]
        return mapped_shapes(self(inputs))

    def _first_call(self) -> Node:
        if not self._calls:
            raise AttributeError(f"{self._get_name()} was not called with symbols: it has no input and output")
        return self._calls[0]

    @property
    def output(self) -> Any:
        """The output symbols of the first symbolic call of the layer."""
        return self._first_call().output

    @property
    def input(self) -> Any:
        """The input symbols of the first symbolic call of the layer."""
        node = self._first_call()
        return node.args[0] if node.args else single(node.inputs)

    @property
    def losses(self) -> list[Tensor]:
        """The weight penalties and the losses added in the last call, of this layer and its sublayers."""
        layers = [module for module in self.modules() if isinstance(module, Layer)]
        added = [loss for layer in layers for loss in layer._added_losses]
        return added + [penalty(getattr(layer, name)) for layer in layers for name, penalty in layer._penalties.items()]

    def constrain(self) -> None:
        """Applies the constraints to the weights of this layer, not to those of sublayers."""
        with pyburn.no_grad():
            for name, constraint in self._limits.items():
                weight = getattr(self, name)
                if weight.requires_grad:
                    weight.copy_(constraint(weight))

    # ---- name, configuration, representation

    @property
    def name(self) -> str:
        """The name given to the constructor, or the class name in snake case."""
        return self._name or snake_case(type(self).__name__)

    @property
    def dtype(self) -> str:
        """The dtype of the weights."""
        return self.dtype_policy.variable_dtype

    variable_dtype = dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype that the layer computes in."""
        return self.dtype_policy.compute_dtype

    @property
    def dtype_policy(self) -> DTypePolicy:
        """The dtype policy. Setting it affects later calls, and weights that are not created yet."""
        return self._policy or DTypePolicy(pyburn.get_default_dtype().name)

    @dtype_policy.setter
    def dtype_policy(self, policy: Any) -> None:
        self._policy = policy_of(policy)

    def _weight_dtype(self) -> DType | None:
        return None if self._policy is None else dtype_of(self._policy.variable_dtype)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {} if cls.__init__ is Layer.__init__ else super().config_arguments()

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that recreate the layer, without its weights.

        A custom layer that stores an argument under another name overrides `get_config` and extends this result.
        """
        extended = type(self).get_config is not Layer.get_config
        config = {name: getattr(self, name) for name in self.config_arguments() if not extended or hasattr(self, name)}
        if self._name is not None:
            config["name"] = self._name
        if not self._trainable:
            config["trainable"] = False
        if self._policy is not None:
            config["dtype"] = self._policy.name
        if self.activity_regularizer is not None:
            config["activity_regularizer"] = self.activity_regularizer
        return {**config, **self._constraints}

    def extra_repr(self) -> str:
        return self.arguments_text()

    __repr__ = Module.__repr__
    __eq__ = object.__eq__
    __hash__ = Module.__hash__


def _set_tracked(self: Layer, name: str, value: Any) -> None:
    Module.__setattr__(self, name, tracked(self, name, value) if not name.startswith("_") else value)


def _takes_training(cls: Any) -> bool:
    if "_call_takes_training" not in cls.__dict__:
        cls._call_takes_training = "training" in inspect.signature(cls.call).parameters
    return cls._call_takes_training
