"""Modules leave nothing behind: their hooks, parametrizations, checkpointing, custom operations."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

from tests.python.leaks import check, only_what_is_new, table  # noqa: F401  (a fixture)

import pyburn
import pyburn.module as M
from pyburn import nn
from pyburn.nn.utils import parametrizations, parametrize, prune
from pyburn.utils.checkpoint import checkpoint, checkpoint_sequential

SIZE = 16


def data():
    return pyburn.ones(2, SIZE)


def linear():
    return nn.Linear(SIZE, SIZE)


def run(module, x=None):
    module(data().requires_grad_() if x is None else x).sum().backward()


# ---- hooks


def forward_hooks(on):
    layer = linear()
    if on:
        layer.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
        layer.register_forward_hook(lambda m, args, out: out + 1)
        layer.register_forward_hook(lambda m, args, kwargs, out: out, with_kwargs=True, always_call=True)
    run(layer)


def forward_hook_that_keeps_the_output(on):
    layer = linear()
    kept = []
    if on:
        layer.register_forward_hook(lambda m, args, out: kept.append((m, args, out)))
    run(layer)


def backward_hooks(on):
    layer = nn.Sequential(linear(), nn.ReLU())
    if on:
        for part in (layer, *layer):
            part.register_full_backward_pre_hook(lambda m, dy: None)
            part.register_full_backward_hook(lambda m, dx, dy: (dx[0] * 2,))
    run(layer)


def backward_hooks_over_their_module(on):
    layer = nn.Sequential(linear(), nn.ReLU())
    if on:
        layer.register_full_backward_hook(lambda m, dx, dy: layer.zero_grad())
    run(layer)


def backward_hooks_of_a_pass_that_stops_early(on):
    layer = linear()
    if on:
        layer.register_full_backward_hook(lambda m, dx, dy: None)
    y = layer(data().requires_grad_())
    pyburn.autograd.grad((y * y).sum(), layer.weight, create_graph=True)


def backward_hooks_without_a_pass(on):
    layer = linear()
    if on:
        layer.register_full_backward_hook(lambda m, dx, dy: None)
    layer(data().requires_grad_())


def backward_hooks_without_inputs_to_differentiate(on):
    layer = linear()
    if on:
        layer.register_full_backward_pre_hook(lambda m, dy: None)
    run(layer, data())


def error_in_a_backward_hook(on):
    def fails(m, dx, dy):
        raise ArithmeticError("on purpose")

    layer = linear()
    if on:
        layer.register_full_backward_hook(fails)
    try:
        run(layer)
    except ArithmeticError:
        assert on


def error_in_a_forward_hook(on):
    def fails(m, args, out):
        raise ArithmeticError("on purpose")

    layer = nn.Sequential(linear(), nn.ReLU())
    if on:
        layer[0].register_forward_hook(fails)
    try:
        run(layer)
    except ArithmeticError:
        assert on


def state_dict_hooks(on):
    layer = linear()
    if on:
        layer.register_state_dict_pre_hook(lambda *a: layer)
        layer.register_state_dict_post_hook(lambda *a: None)
        layer.register_load_state_dict_pre_hook(lambda *a: layer)
        layer.register_load_state_dict_post_hook(lambda *a: None)
    layer.load_state_dict(layer.state_dict())


LASTING = linear()


def handles_of_one_module(on):
    if on:
        for register in (
            lambda f: LASTING.register_forward_hook(f, with_kwargs=True, always_call=True),
            lambda f: LASTING.register_forward_pre_hook(f, with_kwargs=True),
            LASTING.register_full_backward_hook,
            LASTING.register_full_backward_pre_hook,
        ):
            register(lambda *a: None).remove()


def global_hooks(on):
    registered = [
        M.register_module_forward_pre_hook,
        lambda f: M.register_module_forward_hook(f, with_kwargs=True, always_call=True),
        M.register_module_full_backward_hook,
        M.register_module_full_backward_pre_hook,
        M.register_module_parameter_registration_hook,
        M.register_module_buffer_registration_hook,
        M.register_module_module_registration_hook,
    ]
    handles = [register(lambda *a: None) for register in registered] if on else []
    run(nn.Sequential(linear(), nn.BatchNorm1d(SIZE)))
    for handle in handles:
        handle.remove()


# ---- hooks of parameters


def parameter_hooks_over_their_parameters(on):
    layer = nn.Sequential(linear(), nn.ReLU(), linear())
    for p in layer.parameters() if on else ():
        p.register_hook(lambda g, p=p: g * p.detach().sum())
    run(layer)


def parameter_hooks_over_their_module(on):
    layer = linear()
    if on:
        layer.weight.register_hook(lambda g: g * layer.bias.detach().sum())
    run(layer)


def optimiser_in_the_backward_pass(on):
    layer = linear()
    optimizers = {p: pyburn.optim.Adam([p]) for p in layer.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in layer.parameters() if on else ():
        p.register_post_accumulate_grad_hook(step)
    run(layer)


class GradCam(nn.Module):
    def __init__(self, on):
        super().__init__()
        self.layer, self.on = linear(), on

    def save(self, gradient):
        self.gradient = gradient

    def forward(self, x):
        self.activations = self.layer(x)
        if self.on:
            self.activations.register_hook(self.save)
        return self.activations.relu()


def activations_that_their_module_keeps(on):
    run(GradCam(on))


def activations_that_their_module_keeps_without_a_pass(on):
    GradCam(on)(data())


def buffer_with_a_history(on):
    layer = nn.Module()
    layer.weight = nn.Parameter(pyburn.ones(SIZE))
    layer.register_buffer("result", layer.weight * 2)
    if on:
        layer.result.register_hook(lambda g: layer)


def parameters_as_attributes_of_others(on):
    layer = linear()
    if on:
        layer.weight.owner = layer
        layer.bias.other = layer.weight
    run(layer)


# ---- reparametrizations


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def parametrization(on):
    layer = linear()
    if on:
        parametrize.register_parametrization(layer, "weight", Doubled())
        with parametrize.cached():
            (layer(data()) + layer(data())).sum().backward()
    run(layer)


def removed_parametrization(on):
    layer = linear()
    if on:
        parametrize.register_parametrization(layer, "weight", Doubled())
        run(layer)
        parametrize.remove_parametrizations(layer, "weight")
    run(layer)


def norms_of_weights(on):
    for norm in (nn.utils.weight_norm, nn.utils.spectral_norm, parametrizations.weight_norm, parametrizations.spectral_norm):
        run(norm(linear()) if on else linear())
    run(parametrizations.orthogonal(linear()) if on else linear())


def removed_norms_of_weights(on):
    layer = linear()
    if on:
        run(nn.utils.remove_weight_norm(nn.utils.weight_norm(layer)))
        run(nn.utils.remove_spectral_norm(nn.utils.spectral_norm(layer)))
    run(layer)


def pruning(on):
    layer = linear()
    if on:
        prune.l1_unstructured(layer, "weight", 0.5)
        prune.random_unstructured(layer, "bias", 0.5)
        run(layer)
        prune.remove(layer, "weight")
    run(layer)


# ---- calls in other ways


def checkpoints(on):
    layer = nn.Sequential(linear(), nn.Dropout(0.5), linear())
    x = data().requires_grad_()
    if on:
        for reentrant in (True, False):
            checkpoint(layer, x, use_reentrant=reentrant).sum().backward()
        checkpoint_sequential(layer, 2, x).sum().backward()
        checkpoint(lambda t: checkpoint(layer, t), x).sum().backward()
        checkpoint(layer, x)  # and no backward
    layer(x).sum().backward()


def error_in_a_checkpoint(on):
    x = data().requires_grad_()
    calls = []

    def fails_again(t):
        calls.append(1)
        if on and len(calls) == 2:
            raise ArithmeticError("on purpose")
        return t.exp()

    try:
        checkpoint(fails_again, x).sum().backward()
    except ArithmeticError:
        assert on


def functional_call(on):
    layer = linear()
    values = {name: p.detach() * 2 for name, p in layer.named_parameters()}
    if on:
        pyburn.func.functional_call(layer, values, data())
        pyburn.func.grad(lambda v: pyburn.func.functional_call(layer, v, data()).sum())(values)
        pyburn.func.stack_module_state([linear(), linear()])


def copies(on):
    layer = nn.Sequential(linear(), nn.ReLU())
    layer[0].register_forward_hook(forward_hook)
    if on:
        run(copy.deepcopy(layer))
        run(pickle.loads(pickle.dumps(layer)))
        copy.copy(layer[0].weight)


def forward_hook(module, args, output):
    return output


scaled = pyburn.register_op(
    "leak_scaled(Tensor x, float by=2.0) -> Tensor",
    kernel=lambda x, by=2.0: x * by,
    infer=lambda x, by=2.0: x,
    grad=lambda ctx, g: g * ctx.attributes["by"],
)


def operation_of_python(on):
    x = data().requires_grad_()
    (scaled(x, 3.0) if on else x * 3.0).sum().backward()


def names_made_again(on):
    layer = linear()
    for _ in range(3 if on else 1):
        layer.weight = nn.Parameter(pyburn.ones(SIZE, SIZE))
        layer.child = nn.ReLU()
        layer.register_buffer("b", pyburn.ones(SIZE))
        del layer.child, layer.b
    run(layer)


@table(
    [
        *[forward_hooks, forward_hook_that_keeps_the_output, backward_hooks, backward_hooks_over_their_module],
        *[backward_hooks_of_a_pass_that_stops_early, backward_hooks_without_a_pass, backward_hooks_without_inputs_to_differentiate],
        *[error_in_a_backward_hook, error_in_a_forward_hook, state_dict_hooks, handles_of_one_module, global_hooks],
        *[parameter_hooks_over_their_parameters, parameter_hooks_over_their_module],
        *[optimiser_in_the_backward_pass, activations_that_their_module_keeps, activations_that_their_module_keeps_without_a_pass],
        *[buffer_with_a_history, parameters_as_attributes_of_others],
        *[parametrization, removed_parametrization, norms_of_weights, removed_norms_of_weights, pruning],
        *[checkpoints, error_in_a_checkpoint, functional_call, copies, operation_of_python, names_made_again],
    ]
)
def test_modules_leave_nothing_behind(program):
    check(program)


def test_backward_hooks_need_no_collection():
    """They kept the outputs of each call, a tensor's worth, until the collector came by."""
    layer = linear()
    layer.register_full_backward_hook(lambda m, dx, dy: None)
    run(layer)
    gc.collect()
    gc.disable()
    try:
        y = layer(data().requires_grad_())
        died = weakref.ref(y)
        y.sum().backward()
        del y
        assert died() is None
    finally:
        gc.enable()
