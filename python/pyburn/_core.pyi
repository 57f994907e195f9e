# The extension module. Names with an underscore are between the package and its core, and not described.
from collections.abc import Sequence
from os import PathLike
from typing import Any

from ._functions import *
from ._types import *
from ._types import Device as Device
from ._types import DeviceLike as DeviceLike
from ._types import DType as DType
from ._types import Generator as Generator
from ._types import Tensor as Tensor

default_generator: Generator
_nn: Any

def _current_generator() -> Generator: ...
def _use_generator(generator: Generator | None) -> Generator | None: ...

def promote_types(type1: DType, type2: DType) -> DType:
    """Returns the dtype that operands of the two dtypes are promoted to.

    Args:
        type1: A dtype.
        type2: A dtype.

    Returns:
        The common dtype.

    >>> pyburn.promote_types(pyburn.int64, pyburn.float16)
    pyburn.float16
    """
    ...
def get_default_dtype() -> DType:
    """Returns the dtype of new floating-point tensors.

    >>> pyburn.get_default_dtype()
    pyburn.float32
    """
    ...
def set_default_dtype(d: DType) -> None:
    """Sets the dtype of new floating-point tensors.

    Args:
        d: A floating-point dtype.

    Raises:
        DTypeError: The dtype is not floating point.

    >>> pyburn.set_default_dtype(pyburn.float32)
    """
    ...
def set_num_threads(n: int) -> None:
    """Sets the number of threads that operations may use.

    Args:
        n: The number of threads, at least 1.

    Raises:
        ValueError: n is less than 1.

    >>> pyburn.set_num_threads(pyburn.get_num_threads())
    """
    ...
def get_num_threads() -> int:
    """Returns the number of threads that operations may use.

    >>> pyburn.get_num_threads() > 0
    True
    """
    ...
def set_float32_conv_precision(precision: str) -> None:
    """Sets how precisely float32 convolutions are computed.

    Args:
        precision: 'highest' rounds like a sum of products. 'high', the default, also allows faster algorithms (Winograd), whose rounding
            errors are about five times as large.

    Raises:
        ValueError: precision is neither 'high' nor 'highest'.

    >>> pyburn.set_float32_conv_precision('high')
    """
    ...
def get_float32_conv_precision() -> str:
    """Returns the setting of set_float32_conv_precision: 'high' or 'highest'.

    >>> pyburn.get_float32_conv_precision()
    'high'
    """
    ...

class Graph:
    """The operations of a model as a list, without the model's code. Created by `inference.capture`.

    >>> graph = pyburn.inference.capture(lambda x: x.exp() + 1, pyburn.ones(2))
    >>> graph.operations
    ['exp', 'add']
    """

    @property
    def inputs(self) -> list[tuple[str, tuple[int, ...], DType]]: ...
    @property
    def outputs(self) -> list[tuple[str, tuple[int, ...], DType]]: ...
    @property
    def operations(self) -> list[str]: ...
    @property
    def multiply_adds(self) -> int: ...
    @property
    def constants(self) -> dict[str, Tensor]: ...
    def save(self, path: str) -> None: ...
    def to_graphviz(self) -> str: ...
    def to_svg(self) -> str: ...
    def plot(self, path: str | PathLike[str] | None = None) -> str: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...

class Profile:
    """The result of `Session.profile`: how long each step takes. str() gives a table, slowest steps first.

    Attributes:
        seconds: The median time of a run.
        runs: The number of measured runs.
        steps: A dictionary for each step, in the order in which they run.

    >>> session = pyburn.inference.compile(pyburn.nn.Linear(2, 3), pyburn.ones(1, 2))
    >>> session.profile(pyburn.ones(1, 2), runs=3).runs
    3
    """

    @property
    def seconds(self) -> float: ...
    @property
    def runs(self) -> int: ...
    @property
    def steps(self) -> list[dict[str, Any]]: ...
    def table(self, rows: int = 30) -> str: ...
    def save_chrome_trace(self, path: str | PathLike[str]) -> None: ...
    def _chrome_trace(self) -> str: ...

class Session:
    """A graph prepared to run on a device.

    Args:
        graph: The graph.
        device: The device; the default device if None.

    >>> graph = pyburn.inference.capture(lambda x: x * 2, pyburn.ones(2))
    >>> pyburn.inference.Session(graph)(pyburn.tensor([1.0, 4.0]))
    tensor([2., 8.])
    """

    def __init__(self, graph: Graph, device: DeviceLike | None = None) -> None: ...
    def __call__(self, *inputs: Tensor) -> Any: ...
    def run(self, *inputs: Tensor) -> Any: ...
    def save(self, path: str | PathLike[str], packed: bool = True) -> None: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def device(self) -> Device: ...
    def plot(self, path: str | PathLike[str] | None = None) -> str: ...
    def profile(self, *inputs: Tensor, runs: int = 20) -> Profile: ...
    def summary(self, *inputs: Tensor) -> str: ...
    def _profile(self, inputs: tuple[Tensor, ...], runs: int) -> Profile: ...
    def _summary(self, inputs: tuple[Tensor, ...]) -> str: ...
    def __getattr__(self, name: str) -> Any: ...

class _optim:  # a submodule
    check_clipping: Any
    curves_as_svg: Any
    curves_as_text: Any
    fitted: Any
    sparse_adam_step: Any
    unscale_gradients: Any
    zero_gradients: Any

    class Schedule:
        """A learning rate as a function of the step."""

        def __call__(self, step: int) -> float: ...
        @staticmethod
        def constant(rate: float) -> _optim.Schedule: ...
        @staticmethod
        def linear(initial: float, final: float, steps: int) -> _optim.Schedule: ...
        @staticmethod
        def cosine(initial: float, smallest: float = 0.0, steps: int = ...) -> _optim.Schedule: ...
        @staticmethod
        def exponential(initial: float, gamma: float) -> _optim.Schedule: ...
        @staticmethod
        def step(initial: float, step_size: int, gamma: float = 0.1) -> _optim.Schedule: ...
        @staticmethod
        def noam(factor: float, warmup_steps: int = 4000, model_size: int = 512) -> _optim.Schedule: ...
        @staticmethod
        def multi_step(milestones: Sequence[int], gamma: float = 0.1) -> _optim.Schedule: ...
        @staticmethod
        def constant_factor(factor: float = 0.3333333333333333, total_iters: int = 5) -> _optim.Schedule: ...
        @staticmethod
        def linear_factor(start: float = 0.3333333333333333, end: float = 1.0, total_iters: int = 5) -> _optim.Schedule: ...
        @staticmethod
        def polynomial(total_iters: int = 5, power: float = 1.0) -> _optim.Schedule: ...
        @staticmethod
        def cosine_restarts(initial: float, smallest: float, first_period: int, period_factor: int = 1) -> _optim.Schedule: ...
        @staticmethod
        def cyclic(base: float, max: float, step_size_up: float = 2000.0, step_size_down: float = 0.0, mode: str = 'triangular', gamma: float = 1.0) -> _optim.Schedule: ...
        @staticmethod
        def one_cycle(max: float, total_steps: int, pct_start: float = 0.3, anneal: str = 'cos', div_factor: float = 25.0, final_div_factor: float = 10000.0, three_phase: bool = False) -> _optim.Schedule: ...
        @staticmethod
        def sequential(schedules: Sequence[_optim.Schedule], milestones: Sequence[int]) -> _optim.Schedule: ...
        @staticmethod
        def product(schedules: Sequence[_optim.Schedule]) -> _optim.Schedule: ...
        @staticmethod
        def sum(schedules: Sequence[_optim.Schedule]) -> _optim.Schedule: ...
        @staticmethod
        def average(schedules: Sequence[_optim.Schedule]) -> _optim.Schedule: ...
        def __mul__(self, arg: _optim.Schedule, /) -> _optim.Schedule: ...
        def __add__(self, arg: _optim.Schedule, /) -> _optim.Schedule: ...

def _capture(device: Any, inputs: Any, call: Any, constants: Any, simplify: bool, output_names: list[str]) -> Graph: ...
def _load_session(path: str, device: Any) -> Session: ...
def _default_device() -> Device: ...
def _set_parameter_class(cls: type) -> None: ...
def __getattr__(name: str) -> Any: ...
