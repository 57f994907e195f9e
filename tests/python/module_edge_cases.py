"""More small programs about modules, in the manner of module_cases.py: uses that are rare, and that model files have all the same."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from module_cases import case, fill, ramp, several


def attempt(function: Any) -> str:
    """The kind of error, or nothing."""
    try:
        function()
    except Exception as error:
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return ""


@case
def a_parameter_that_was_deleted(T: Any) -> Any:
    layer = fill(T.nn.Linear(2, 2), T)
    del layer.bias
    seen: list[Any] = [attempt(lambda: layer(ramp(T, 1, 2)))]
    layer.bias = None
    seen += [layer(ramp(T, 1, 2)), str(layer), list(layer.state_dict())]
    weight = layer.weight.detach() * 2
    del layer.weight
    layer.weight = weight  # a plain tensor, as weights that are computed are set
    return [*seen, layer(ramp(T, 1, 2)), [name for name, _ in layer.named_parameters()]]


@case
def a_model_without_values(T: Any) -> Any:
    with T.device("meta"):
        model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3))
    seen = [model[0].weight.is_meta, list(model[0].weight.shape), attempt(lambda: model.to("cpu"))]
    model.to_empty(device="cpu")
    seen.append(model[0].weight.is_meta)
    other = T.nn.Linear(2, 3, device="meta")
    other.load_state_dict(fill(T.nn.Linear(2, 3), T).state_dict(), assign=True)
    return [*seen, other.weight, T.ones(1).is_meta]


@case
def functional_call_with_a_name_of_nothing(T: Any) -> Any:
    layer = fill(T.nn.Linear(2, 2), T)
    y = T.func.functional_call(layer, {"zz": T.ones(1), "weight": T.ones(2, 2)}, (ramp(T, 1, 2),))
    missing = "not raised"
    try:
        T.func.functional_call(layer, {"zz": T.ones(1)}, (ramp(T, 1, 2),), strict=True)
    except RuntimeError as error:
        missing = str(error)
    return [y, hasattr(layer, "zz"), layer.weight, missing]


@case
def what_classes_have(T: Any) -> Any:
    layer = fill(T.nn.Linear(2, 2), T)
    return [layer.share_memory() is layer, layer.dump_patches, layer.call_super_init, layer._version, hasattr(T.nn.Module, "T_destination")]


@case
def gradients_of_convolutions(T: Any) -> Any:
    import importlib

    g = importlib.import_module(f"{T.__name__}.nn.grad")
    x, w, dy = ramp(T, 2, 2, 5), ramp(T, 4, 1, 3), ramp(T, 2, 4, 3)
    return [g.conv1d_input((2, 2, 5), w, dy, groups=2), g.conv1d_weight(x, (4, 1, 3), dy, 1, 0, 1, 2)] + [
        list(g.conv2d_input((1, 2, 7, 7), ramp(T, 3, 2, 3, 3), ramp(T, 1, 3, 4, 4), stride=2, padding=1).shape),
        list(g.conv3d_weight(ramp(T, 1, 2, 4, 4, 4), (3, 2, 2, 2, 2), ramp(T, 1, 3, 3, 3, 3)).shape),
    ]


@case
def orders_of_weights(T: Any) -> Any:
    model = T.nn.Sequential(fill(T.nn.Conv2d(2, 3, 3), T), T.nn.Linear(2, 2), T.nn.ConvTranspose2d(2, 2, 2))
    converted = T.nn.utils.convert_conv2d_weight_memory_format(model, T.channels_last)
    ordered = [m.weight.is_contiguous(memory_format=T.channels_last) for m in (model[0], model[2])]
    return [converted is model, ordered, model[0].weight, model[0](ramp(T, 1, 2, 4, 4))]


@case
def handles_of_hooks(T: Any) -> Any:
    import importlib

    handle_class = importlib.import_module("pyburn.nn.hooks" if T.__name__ == "pyburn" else "torch.utils.hooks").RemovableHandle
    hooks: OrderedDict[int, Any] = OrderedDict()
    more: OrderedDict[int, Any] = OrderedDict()
    first, second = handle_class(hooks), handle_class(hooks, extra_dict=more)
    hooks[first.id], hooks[second.id], more[second.id] = "first", "second", True
    seen = [second.id > first.id, len(hooks), len(more)]
    second.remove()
    second.remove()
    with first:
        seen.append(list(hooks.values()))
    layer = T.nn.Identity()
    handle = layer.register_forward_hook(lambda *given: None)
    return [*seen, len(hooks), len(more), isinstance(handle, handle_class), handle.id in layer._forward_hooks]


@case
def gradients_with_words_of_the_past(T: Any) -> Any:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    penalty = T.autograd.grad(outputs=(x * x * x).sum(), inputs=x, create_graph=True, retain_graph=True, only_inputs=True)[0]
    by_position = T.autograd.grad((x * 2).sum(), [x, T.ones(1, requires_grad=True)], None, None, False, True, True)
    T.autograd.backward([x * 3], None, False, False, [T.ones(2)])
    return [penalty, by_position[0], by_position[1], x.grad]


@case
def optimisers_by_their_files(T: Any) -> Any:
    import importlib

    def module(name: str) -> Any:
        return importlib.import_module(f"{T.__name__}.optim.{name}")

    names = [("adamw", "AdamW"), ("adam", "Adam"), ("sgd", "SGD"), ("rmsprop", "RMSprop"), ("lbfgs", "LBFGS"), ("adagrad", "Adagrad")]
    return [getattr(module(file), name) is getattr(T.optim, name) for file, name in names] + [hasattr(module("optimizer"), "required")]


@case
def sequences_of_named_layers(T: Any) -> Any:
    layers = T.nn.Sequential(OrderedDict(a=T.nn.ReLU(), b=T.nn.Tanh(), c=T.nn.ELU()))
    seen = [str(layers[1:]), str(layers[:1] + layers[2:]), str(layers[:2] * 2)]
    layers.append(T.nn.GELU())
    del layers[0]
    layers.insert(1, T.nn.Identity())
    copied = copy.deepcopy(layers)
    copied *= 2
    return [*seen, str(layers), list(layers._modules), len(copied), str(copied.pop(0)), str(copied[-1])]


@case
def layers_print_the_bias_they_have(T: Any) -> Any:
    conv, norm, embedding = T.nn.Conv2d(1, 2, 3), T.nn.LayerNorm(2), T.nn.Embedding(2, 2)
    seen = [str(conv)]
    conv.bias = norm.bias = None
    embedding.bias = T.nn.Parameter(T.ones(2))
    seen += [str(conv), str(norm), str(embedding), list(embedding.state_dict())]
    conv.bias = T.nn.Parameter(T.ones(2))
    return [*seen, str(conv), str(T.nn.Linear(2, 2, bias=False))]


several(
    a_deleted_weight=lambda T: delattr(T.nn.Linear(1, 1), "nothing"),
    both_kinds_of_gradients=lambda T: T.autograd.backward([T.ones(1)], [T.ones(1)], grad_variables=[T.ones(1)]),
)
