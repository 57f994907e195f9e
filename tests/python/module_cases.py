"""Small programs about modules, written once for PyTorch and pyburn: T is either of them.

tools/make_module_goldens.py records what PyTorch answers; test_module_cases.py asks pyburn the same.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

CASES: dict[str, Callable[[Any], Any]] = {}


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[function.__name__] = function
    return function


def several(**attempts: Callable[[Any], Any]) -> None:
    """Cases that are one expression each."""
    CASES.update(attempts)


def outcome(function: Callable[[Any], Any], T: Any) -> Any:
    """What a case gives, as JSON: a value, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            result = {"value": plain(function(T), T)}
        except Exception as error:
            result = {"error": [c.__name__ for c in type(error).__mro__[:-3]], "text": neutral(str(error))}
    texts = [re.sub(r" See http\S+ for more details\.", "", str(w.message)) for w in met]
    own = [neutral(text) for text in texts if "torch" not in text and "Lazy modules" not in text]  # others are about PyTorch itself
    return result | ({"warnings": own} if own else {})


def plain(value: Any, T: Any) -> Any:
    if isinstance(value, T.Tensor):
        return {"shape": list(value.shape), "values": [round(float(x), 5) for x in value.detach().double().flatten().tolist()]}
    if isinstance(value, dict):
        return {str(k): plain(v, T) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, T) for v in value]
    if isinstance(value, (int, float, bool, type(None))):
        return value
    return neutral(str(value))


def neutral(text: str) -> str:
    """Without the name of the library, and where in it a class lives."""
    text = re.sub(r"torch\.nn\.(modules|parameter|utils)\.(\w+\.)*", "torch.nn.", text)
    text = re.sub(r"(pyburn|torch)\.nn\.(module_\w+|parameter\w*|lazy|utils)\.(\w+\.)*", "torch.nn.", text)
    text = text.replace("torch.FloatTensor", "torch.Tensor").replace("pyburn._core._nn.", "torch.nn.")
    return text.replace("pyburn", "torch")


def fill(module: Any, T: Any) -> Any:
    """Values that are the same everywhere."""
    with T.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(ramp(T, *p.shape, start=i))
    return module


def ramp(T: Any, *shape: int, start: float = 0.0) -> Any:
    n = 1
    for extent in shape:
        n *= extent
    return T.sin(T.arange(n, dtype=T.float32) * 0.7 + start).reshape(shape)


def net(T: Any) -> Any:
    class Net(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", T.zeros(4))
            self.first = T.nn.Linear(2, 4)
            self.scale = T.nn.Parameter(T.ones(4))
            self.register_buffer("cache", T.zeros(1), persistent=False)
            self.body = T.nn.Sequential(T.nn.Linear(4, 4), T.nn.ReLU())
            self.tied = self.body[0]
            self.absent = None
            self.register_parameter("none", None)
            self.depth = 3

        def forward(self, x: Any, extra: Any = 0) -> Any:
            return self.body(self.first(x) * self.scale - self.mean) + extra

    return fill(Net(), T)


# ---- registration and walks


@case
def walks(T: Any) -> Any:
    m = net(T)
    return {
        "parameters": [n for n, _ in m.named_parameters()],
        "all parameters": [n for n, _ in m.named_parameters(remove_duplicate=False)],
        "own": [n for n, _ in m.named_parameters("x", recurse=False)],
        "buffers": [n for n, _ in m.named_buffers(prefix="p")],
        "own buffers": [n for n, _ in m.named_buffers(recurse=False)],
        "modules": [n for n, _ in m.named_modules()],
        "all modules": [n for n, _ in m.named_modules(prefix="m", remove_duplicate=False)],
        "children": [n for n, _ in m.named_children()],
        "counts": [len(list(m.parameters())), len(list(m.buffers())), len(list(m.modules())), len(list(m.children()))],
        "state": list(m.state_dict()),
        "prefixed": list(m.state_dict(prefix="a.")),
        "dicts": [list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set)],
        "dir": [name in dir(m) for name in ("scale", "mean", "first", "nothing")],
    }


def set_to(name: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def act(T: Any) -> Any:
        m = net(T)
        setattr(m, name, make(T))
        return [list(m._parameters), list(m._buffers), list(m._modules), name in m.__dict__]

    return act


several(
    set_parameter_to_none=set_to("scale", lambda T: None),
    set_parameter_to_tensor=set_to("scale", lambda T: T.ones(4)),
    set_parameter_to_module=set_to("scale", lambda T: T.nn.ReLU()),
    set_parameter_to_buffer=set_to("scale", lambda T: T.nn.Buffer(T.ones(4))),
    set_buffer_to_tensor=set_to("mean", lambda T: T.ones(4)),
    set_buffer_to_number=set_to("mean", lambda T: 3),
    set_buffer_to_parameter=set_to("mean", lambda T: T.nn.Parameter(T.ones(4))),
    set_buffer_to_module=set_to("mean", lambda T: T.nn.ReLU()),
    set_module_to_none=set_to("first", lambda T: None),
    set_module_to_number=set_to("first", lambda T: 3),
    set_module_to_parameter=set_to("first", lambda T: T.nn.Parameter(T.ones(4))),
    set_number_to_module=set_to("depth", lambda T: T.nn.ReLU()),
    set_new_buffer=set_to("fresh", lambda T: T.nn.Buffer(T.ones(1), persistent=False)),
    register_parameter_tensor=lambda T: net(T).register_parameter("w", T.ones(1)),
    register_parameter_taken=lambda T: net(T).register_parameter("depth", None),
    register_parameter_buffer_name=lambda T: net(T).register_parameter("mean", None),
    register_parameter_dot=lambda T: net(T).register_parameter("a.b", None),
    register_parameter_empty=lambda T: net(T).register_parameter("", None),
    register_parameter_number=lambda T: net(T).register_parameter(3, None),
    register_buffer_number=lambda T: net(T).register_buffer("w", 3),
    register_buffer_taken=lambda T: net(T).register_buffer("scale", None),
    register_buffer_dot=lambda T: net(T).register_buffer("a.b", None),
    add_module_number=lambda T: net(T).add_module("w", 3),
    add_module_dot=lambda T: net(T).add_module("a.b", None),
    add_module_empty=lambda T: net(T).add_module("", None),
    add_module_taken=lambda T: net(T).add_module("depth", None),
    add_module_name=lambda T: net(T).add_module(3, None),
    get_missing=lambda T: net(T).nothing,
    delete_missing=lambda T: delattr(net(T), "nothing"),
    get_submodule=lambda T: str(net(T).get_submodule("body.0")),
    get_submodule_missing=lambda T: net(T).get_submodule("body.7"),
    get_submodule_parameter=lambda T: net(T).get_submodule("scale"),
    get_parameter=lambda T: net(T).get_parameter("body.0.bias"),
    get_parameter_missing=lambda T: net(T).get_parameter("body.0.b"),
    get_parameter_buffer=lambda T: net(T).get_parameter("mean"),
    get_buffer=lambda T: net(T).get_buffer("mean"),
    get_buffer_parameter=lambda T: net(T).get_buffer("scale"),
    set_submodule_empty=lambda T: net(T).set_submodule("", T.nn.ReLU()),
    set_submodule_number=lambda T: net(T).set_submodule("first", 3),
    set_submodule_missing=lambda T: net(T).set_submodule("body.x.y", T.nn.ReLU()),
    set_submodule_strict=lambda T: net(T).set_submodule("body.5", T.nn.ReLU(), strict=True),
    set_submodule_parameter=lambda T: net(T).set_submodule("scale", T.nn.ReLU()),
    train_text=lambda T: net(T).train("x"),
    to_integers=lambda T: net(T).to(T.int32),
    forward_missing=lambda T: T.nn.Module()(3),
)


@case
def set_submodule(T: Any) -> Any:
    m = net(T)
    m.set_submodule("body.1", T.nn.Identity())
    m.set_submodule("more", T.nn.ReLU())
    return str(m)


@case
def before_init(T: Any) -> Any:
    class Early(T.nn.Module):
        def __init__(self, value: Any) -> None:
            self.x = value

    texts = []
    for value in (T.nn.ReLU(), T.nn.Parameter(T.zeros(1))):
        try:
            Early(value)
        except AttributeError as error:
            texts.append(str(error))
    return texts


# ---- printing


@case
def printing(T: Any) -> Any:
    class Odd(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net(T)
            self.list = T.nn.ModuleList([T.nn.Linear(1, 1), T.nn.Linear(1, 1), T.nn.ReLU(), T.nn.ReLU(), T.nn.Linear(1, 2)])
            self.deep = T.nn.ModuleList([T.nn.Sequential(T.nn.Linear(1, 1), T.nn.ReLU()) for _ in range(3)])
            self.dict = T.nn.ModuleDict({"b": T.nn.ReLU(), "a": T.nn.ModuleList()})
            self.parameters_ = T.nn.ParameterList([T.ones(2, 3), 5, T.ones(())])
            self.register_module("nothing", None)

        def extra_repr(self) -> str:
            return "one,\ntwo"

    return [str(Odd()), repr(T.nn.Sequential()), repr(T.nn.ModuleList()), repr(T.nn.ModuleDict()), repr(T.nn.ParameterDict())]


@case
def printing_parameters(T: Any) -> Any:
    frozen = T.nn.Parameter(T.zeros(1), requires_grad=False)
    return [repr(T.nn.Parameter(T.ones(2))), repr(frozen), repr(T.nn.UninitializedParameter()), repr(T.nn.Buffer(T.ones(1)))]


# ---- state


def loading(change: Callable[[Any, Any], None], **options: Any) -> Callable[[Any], Any]:
    def act(T: Any) -> Any:
        m, state = net(T), net(T).state_dict()
        change(T, state)
        keys = m.load_state_dict(state, **options)
        return [list(keys.missing_keys), list(keys.unexpected_keys), str(keys), m.scale, m.first.weight.requires_grad]

    return act


def _break_all(T: Any, state: Any) -> None:
    del state["scale"], state["body.0.bias"]
    state["extra"] = T.ones(1)
    state["body.7.weight"] = T.ones(1)
    state["first.weight"] = T.ones(3, 3)
    state["first.bias"] = T.ones(2)
    state["first.bias.deep"] = T.ones(2)
    state["_extra_state"] = 3


def _all_errors_of_kinds(T: Any, state: Any) -> None:
    state["scale"] = 3
    state["mean"] = "text"


several(
    load_plain=loading(lambda T, s: None),
    load_broken=loading(_break_all),
    load_broken_not_strict=loading(_break_all, strict=False),
    load_not_tensors=loading(_all_errors_of_kinds),
    load_missing_not_strict=loading(lambda T, s: s.pop("scale"), strict=False),
    load_unexpected_not_strict=loading(lambda T, s: s.update(extra=T.ones(1)), strict=False),
    load_missing=loading(lambda T, s: s.pop("first.weight")),
    load_unexpected=loading(lambda T, s: s.update({"body.0.extra": T.ones(1), "zero": T.ones(1)})),
    load_other_dtype=loading(lambda T, s: s.update(scale=T.arange(4))),
    load_assign=loading(lambda T, s: s.update(scale=T.arange(4).double()), assign=True),
    load_none=lambda T: net(T).load_state_dict(None),
    load_list=lambda T: net(T).load_state_dict([1]),
)


@case
def load_scalar_of_old(T: Any) -> Any:
    m = T.nn.Module()
    m.a = T.nn.Parameter(T.zeros(()))
    m.load_state_dict({"a": T.ones(1)})
    return m.a


@case
def metadata(T: Any) -> Any:
    class Old(T.nn.Module):
        _version = 7

    m = T.nn.Sequential(T.nn.BatchNorm2d(2), T.nn.Linear(1, 1), Old())
    return dict(m.state_dict()._metadata)


@case
def batch_norm_of_old(T: Any) -> Any:
    m = T.nn.BatchNorm2d(2)
    state = m.state_dict()
    del state["num_batches_tracked"]
    state._metadata = {"": {"version": 1}}
    found = str(m.load_state_dict(state))
    state._metadata = {"": {"version": 2}}
    try:
        m.load_state_dict(state)
    except RuntimeError as error:
        return [found, str(error)]
    return found


class Extra:
    """Mixed into a Module with state beyond tensors."""

    extra: Any = None

    def get_extra_state(self) -> Any:
        return {"extra": self.extra}

    def set_extra_state(self, state: Any) -> None:
        self.extra = state["extra"]


@case
def extra_state(T: Any) -> Any:
    class More(Extra, T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = T.nn.Parameter(T.ones(1))
            self.below = T.nn.Linear(1, 1)

    a, b = T.nn.Sequential(More()), T.nn.Sequential(More())
    a[0].extra = 5
    keys = list(a.state_dict())
    b.load_state_dict(a.state_dict())
    state = a.state_dict()
    del state["0._extra_state"]
    try:
        b.load_state_dict(state)
    except RuntimeError as error:
        return [keys, b[0].extra, str(error)]
    return None


@case
def no_extra_state(T: Any) -> Any:
    state = T.nn.Linear(1, 1).state_dict()
    state["_extra_state"] = 3
    return T.nn.Linear(1, 1).load_state_dict(state)


@case
def state_hooks(T: Any) -> Any:
    log: list[Any] = []
    m = T.nn.Sequential(T.nn.Linear(1, 1))
    m[0].register_state_dict_pre_hook(lambda module, prefix, keep_vars: log.append(["pre", prefix, keep_vars]))
    m[0].register_state_dict_post_hook(lambda module, state, prefix, meta: log.append(["post", list(state), prefix, dict(meta)]))
    m[0].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: log.append(["load", list(state), prefix, len(rest)]))
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = m.state_dict()
    del state["0.bias"]
    log.append(str(m.load_state_dict(state)))
    return log


several(
    state_post_hook_returns=lambda T: _with_hook(T, "register_state_dict_post_hook", lambda *a: {}).state_dict(),
    load_post_hook_returns=lambda T: _with_hook(T, "register_load_state_dict_post_hook", lambda *a: 1).load_state_dict({}),
)


def _with_hook(T: Any, register: str, hook: Any) -> Any:
    m = T.nn.ReLU()
    getattr(m, register)(hook)
    return m


@case
def overridden_state(T: Any) -> Any:
    class Renamed(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = T.nn.Parameter(T.ones(1))

        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "w"] = destination.pop(prefix + "weight")

        def _load_from_state_dict(self, state: Any, prefix: str, *rest: Any) -> None:
            if prefix + "w" in state:
                state[prefix + "weight"] = state.pop(prefix + "w") * 2
            super()._load_from_state_dict(state, prefix, *rest)

    m = T.nn.Sequential(Renamed(), T.nn.ReLU())
    state = m.state_dict()
    return [list(state), str(m.load_state_dict(state)), m[0].weight]


@case
def state_into(T: Any) -> Any:
    kept: Any = OrderedDict(first=1)
    same = net(T).state_dict(destination=kept, prefix="p.")
    return [same is kept, list(kept)]


@case
def keep_vars(T: Any) -> Any:
    m = net(T)
    state = m.state_dict(keep_vars=True)
    return [state["scale"] is m.scale, m.state_dict()["scale"].requires_grad, m.state_dict()["scale"].data_ptr() == m.scale.data_ptr()]


# ---- modes and moves


@case
def modes(T: Any) -> Any:
    m = net(T)
    seen = [m.eval() is m, [x.training for x in m.modules()], [x.training for x in m.train().modules()]]
    m.requires_grad_(False)
    seen.append([p.requires_grad for p in m.parameters()])
    return seen


@case
def moves(T: Any) -> Any:
    m = net(T)
    m.register_buffer("count", T.zeros(1, dtype=T.int64))
    held = m.scale
    found = []
    for move in ("double", "half", "bfloat16", "float"):
        getattr(m, move)()
        found.append([str(m.scale.dtype), str(m.mean.dtype), str(m.count.dtype), m.scale is held])
    m.type(T.float64)
    found.append([str(m.scale.dtype), str(m.count.dtype)])
    m.to(T.ones(1, dtype=T.float32))
    m.to(device="cpu", dtype=T.float64)
    return [*found, str(m.scale.dtype)]


@case
def zeroing(T: Any) -> Any:
    m = fill(T.nn.Linear(2, 1), T)
    m(T.ones(1, 2)).sum().backward()
    held = m.weight.grad
    m.zero_grad(set_to_none=False)
    found = [held, m.weight.grad is held]
    m.zero_grad()
    return [*found, m.weight.grad]


@case
def applying(T: Any) -> Any:
    names: list[str] = []
    m = net(T)
    return [m.apply(lambda x: names.append(type(x).__name__)) is m, names]


@case
def copies(T: Any) -> Any:
    m = net(T)
    m(T.ones(1, 2)).sum().backward()
    deep, shallow = copy.deepcopy(m), copy.copy(m)
    deep.scale.data.fill_(9.0)
    return [
        deep.tied is deep.body[0],
        deep.scale is m.scale,
        shallow.scale is m.scale,
        m.scale,
        deep.first.weight.grad,
        deep.depth,
        list(deep.state_dict()) == list(m.state_dict()),
        [n for n, _ in deep.named_modules()],
        str(deep) == str(m),
    ]


# ---- hooks


@case
def forward_hooks(T: Any) -> Any:
    m, log = net(T), []
    m.register_forward_pre_hook(lambda module, args: log.append(["pre", len(args)]))
    m.register_forward_pre_hook(lambda module, args, kwargs: log.append(["kwargs", sorted(kwargs)]), with_kwargs=True)
    m.register_forward_pre_hook(lambda module, args: (args[0] * 2,), prepend=True)
    handle = m.register_forward_hook(lambda module, args, result: log.append(["after", result]))
    m.register_forward_hook(lambda module, args, result: result + 1, prepend=True)
    m.register_forward_hook(lambda module, args, kwargs, result: log.append(["with", sorted(kwargs)]), with_kwargs=True)
    result = m(ramp(T, 1, 2), extra=1)
    handle.remove()
    m(ramp(T, 1, 2))
    return [log, result]


@case
def forward_hook_always(T: Any) -> Any:
    log: list[Any] = []

    class Broken(T.nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("broken")

    m = Broken()
    m.register_forward_hook(lambda module, args, result: log.append("not called"))
    m.register_forward_hook(lambda module, args, result: log.append(["called", result]), always_call=True)
    try:
        m(1)
    except KeyError as error:
        log.append(str(error))
    return log


@case
def pre_hook_with_wrong_result(T: Any) -> Any:
    m = T.nn.ReLU()
    m.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    return m(T.ones(1))


@case
def backward_hooks(T: Any) -> Any:
    log: list[Any] = []
    m = T.nn.Sequential(fill(T.nn.Linear(2, 2), T), T.nn.ReLU())
    m[0].register_full_backward_pre_hook(lambda module, grad: log.append(["pre", list(grad)]))
    m[0].register_full_backward_hook(lambda module, into, out: log.append(["first", list(into), list(out)]))
    m[0].register_full_backward_hook(lambda module, into, out: (into[0] * 2,))
    m[0].register_full_backward_hook(lambda module, into, out: log.append(["zeroth", list(into)]), prepend=True)
    x = ramp(T, 3, 2).requires_grad_()
    m(x).pow(2).sum().backward()
    return [log, x.grad, m[0].weight.grad]


@case
def backward_pre_hook_changes(T: Any) -> Any:
    m = fill(T.nn.Linear(2, 2), T)
    m.register_full_backward_pre_hook(lambda module, grad: (grad[0] * 3,))
    x = ramp(T, 3, 2).requires_grad_()
    m(x).sum().backward()
    return [x.grad, m.weight.grad]


@case
def backward_hook_without_input_gradient(T: Any) -> Any:
    log: list[Any] = []
    m = fill(T.nn.Linear(2, 2), T)
    m.register_full_backward_hook(lambda module, into, out: log.append([list(into), list(out)]))
    m(ramp(T, 3, 2)).sum().backward()
    return [log, m.weight.grad]


def _backward(T: Any, hook: Any, pre: bool = False) -> Any:
    m = fill(T.nn.Linear(2, 2), T)
    (m.register_full_backward_pre_hook if pre else m.register_full_backward_hook)(hook)
    m(ramp(T, 3, 2).requires_grad_()).sum().backward()


several(
    backward_hook_too_many=lambda T: _backward(T, lambda m, into, out: (None, None)),
    backward_pre_hook_too_many=lambda T: _backward(T, lambda m, out: (None, None), pre=True),
)
