"""Small programs about what modules are made of: containers, initialisers, parametrizations, lazy and recurrent layers, pruning."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from module_cases import case, fill, net, ramp, several

# ---- containers


@case
def sequential(T: Any) -> Any:
    nn = T.nn
    s = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    seen = [str(s[-1]), len(s), str(s[0:1]), str(s.append(nn.Identity())), str(s.insert(1, nn.Flatten()))]
    s[0] = nn.Linear(3, 3)
    seen += [str(s), str(s.pop(2)), list(s.state_dict()), str(s + s), str(s * 2), str(2 * s)]
    del s[0]
    seen.append(str(s))
    s += nn.Sequential(nn.ReLU())
    s *= 2
    seen += [str(s), str(s.extend([nn.Linear(1, 1)]))]
    del s[1:4]
    return [*seen, str(s), [str(m) for m in s]]


@case
def sequential_with_names(T: Any) -> Any:
    s = T.nn.Sequential(OrderedDict(a=T.nn.Linear(1, 1), b=T.nn.ReLU(), c=T.nn.ReLU()))
    seen = [str(s), str(s[1:]), str(s.b), list(s.state_dict())]
    s.append(T.nn.Identity())
    seen.append(str(s))
    del s[1]
    return [*seen, str(s)]


several(
    sequential_of_number=lambda T: T.nn.Sequential(3),
    sequential_index=lambda T: T.nn.Sequential(T.nn.ReLU())[1],
    sequential_delete=lambda T: T.nn.Sequential(T.nn.ReLU()).__delitem__(-2),
    sequential_insert_far=lambda T: T.nn.Sequential(T.nn.ReLU()).insert(5, T.nn.ReLU()),
    sequential_insert_number=lambda T: T.nn.Sequential(T.nn.ReLU()).insert(0, 3),
    sequential_times_zero=lambda T: T.nn.Sequential(T.nn.ReLU()) * 0,
    sequential_times_text=lambda T: T.nn.Sequential(T.nn.ReLU()) * "a",
    sequential_plus_list=lambda T: T.nn.Sequential(T.nn.ReLU()) + [T.nn.ReLU()],
    list_index=lambda T: T.nn.ModuleList([T.nn.ReLU()])[1],
    list_of_number=lambda T: T.nn.ModuleList([3]),
    list_extend_number=lambda T: T.nn.ModuleList().extend(3),
    list_call=lambda T: T.nn.ModuleList()(3),
    dict_missing=lambda T: T.nn.ModuleDict()["a"],
    dict_taken=lambda T: T.nn.ModuleDict({"keys": T.nn.ReLU()}),
    dict_of_number=lambda T: T.nn.ModuleDict({"a": 3}),
    dict_update_number=lambda T: T.nn.ModuleDict().update(3),
    dict_update_triple=lambda T: T.nn.ModuleDict().update([(1, 2, 3)]),
    dict_update_numbers=lambda T: T.nn.ModuleDict().update([3]),
    parameter_list_index=lambda T: T.nn.ParameterList([T.ones(1)])[1],
    parameter_list_tensor=lambda T: T.nn.ParameterList().extend(T.ones(1)),
    parameter_list_call=lambda T: T.nn.ParameterList()(),
    parameter_dict_call=lambda T: T.nn.ParameterDict()(1),
    parameter_dict_missing=lambda T: T.nn.ParameterDict().pop("a"),
)


@case
def module_list(T: Any) -> Any:
    nn = T.nn
    m = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    m.append(nn.Identity()).extend([nn.Flatten()])
    m.insert(1, nn.Linear(2, 2))
    seen = [str(m), len(m), str(m[1:3]), str(m[-1]), str(m + [nn.ReLU()]), str(m.pop(0)), str(m)]
    m[0] = nn.ReLU()
    m += [nn.Linear(5, 5)]
    del m[1:3]
    return [*seen, str(m), list(m.state_dict()), [str(x) for x in m]]


@case
def module_dict(T: Any) -> Any:
    nn = T.nn
    m = nn.ModuleDict([["z", nn.Linear(1, 1)], ["a", nn.ReLU()]])
    m["q"] = nn.Identity()
    m.update({"z": nn.Linear(2, 2), "new": nn.ReLU()})
    seen = [str(m), list(m), list(m.keys()), [str(v) for v in m.values()], [k for k, _ in m.items()], "a" in m, len(m), str(m.pop("a"))]
    del m["q"]
    seen.append(list(m.state_dict()))
    m.clear()
    return [*seen, len(m)]


@case
def parameter_list(T: Any) -> Any:
    p = T.nn.ParameterList([T.ones(1), T.nn.Parameter(T.zeros(2), requires_grad=False)])
    p.append(T.full((1,), 3.0))
    p += [T.ones(2), "text"]
    p[0] = T.full((2,), 7.0)
    return [str(p), len(p), p[0], p[-1], [n for n, _ in p.named_parameters()], str(p[1:3]), [x.requires_grad for x in p.parameters()]]


@case
def parameter_dict(T: Any) -> Any:
    p = T.nn.ParameterDict({"b": T.ones(1), "a": T.zeros(2)})
    p.update([("d", T.ones(1)), ("c", T.ones(1))])
    p["e"] = 5
    other = T.nn.ParameterDict(OrderedDict(z=T.ones(1), a=T.ones(3)))
    seen = [list(p), list(p | other), p.setdefault("f", 3), p.get("zz", 4), list(reversed(p)), p.pop("b"), p.popitem()]
    p |= other
    return [*seen, list(p), [n for n, _ in p.named_parameters()], list(p.state_dict()), "a" in p, len(p)]


# ---- initialisers that are not random, and bounds of those that are

several(
    init_eye=lambda T: T.nn.init.eye_(T.empty(2, 3)),
    init_eye_rank=lambda T: T.nn.init.eye_(T.empty(2)),
    init_dirac=lambda T: T.nn.init.dirac_(T.empty(4, 2, 3, 2), groups=2),
    init_dirac_5=lambda T: T.nn.init.dirac_(T.empty(3, 2, 2, 3, 1)),
    init_dirac_rank=lambda T: T.nn.init.dirac_(T.empty(2, 3)),
    init_dirac_groups=lambda T: T.nn.init.dirac_(T.empty(3, 2, 3), groups=2),
    init_constant=lambda T: [T.nn.init.constant_(T.empty(2), 0.3), T.nn.init.ones_(T.empty(2)), T.nn.init.zeros_(T.ones(2))],
    init_gains=lambda T: [
        [name, T.nn.init.calculate_gain(name)] for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    ],
    init_gain_slope=lambda T: [T.nn.init.calculate_gain("leaky_relu", 0.2), T.nn.init.calculate_gain("leaky_relu", 2)],
    init_gain_unknown=lambda T: T.nn.init.calculate_gain("what"),
    init_gain_text=lambda T: T.nn.init.calculate_gain("leaky_relu", "x"),
    init_gain_bool=lambda T: T.nn.init.calculate_gain("leaky_relu", True),
    init_fans=lambda T: T.nn.init._calculate_fan_in_and_fan_out(T.empty(4, 3, 5, 2)),
    init_fans_rank=lambda T: T.nn.init.xavier_uniform_(T.empty(4)),
    init_mode=lambda T: T.nn.init.kaiming_uniform_(T.empty(4, 3), mode="x"),
    init_empty=lambda T: T.nn.init.kaiming_normal_(T.empty(0, 3)).shape,
    init_trunc_far=lambda T: T.nn.init.trunc_normal_(T.empty(3), mean=9.0).shape,
    init_orthogonal_rank=lambda T: T.nn.init.orthogonal_(T.empty(3)),
    init_sparse_rank=lambda T: T.nn.init.sparse_(T.empty(3), 0.1),
    init_sparse_zeros=lambda T: (T.nn.init.sparse_(T.empty(7, 3), 0.3) == 0).sum(0),
)


# ---- utils


def _graded(T: Any) -> Any:
    m = fill(T.nn.Linear(3, 2), T)
    for i, p in enumerate(m.parameters()):
        p.grad = ramp(T, *p.shape, start=i + 2) * 5
    return m


@case
def clipping(T: Any) -> Any:
    seen = []
    for norm_type in (2.0, 1.0, 3.0, float("inf"), "inf", 0.5):
        m = _graded(T)
        seen += [T.nn.utils.clip_grad_norm_(m.parameters(), 2.5, norm_type), m.weight.grad, m.bias.grad]
    m = _graded(T)
    seen += [T.nn.utils.clip_grad_norm_(m.weight, 1000.0), m.weight.grad]
    T.nn.utils.clip_grad_value_(m.parameters(), 1.5)
    seen += [m.weight.grad, T.nn.utils.get_total_norm([m.weight.grad, m.bias.grad], 1.0)]
    T.nn.utils.clip_grads_with_norm_(m.parameters(), 1.0, T.tensor(4.0))
    return [*seen, m.weight.grad]


@case
def clipping_not_finite(T: Any) -> Any:
    m = _graded(T)
    m.weight.grad[0, 0] = float("inf")
    return T.nn.utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)


@case
def vectors(T: Any) -> Any:
    m = fill(T.nn.Linear(3, 2), T)
    vector = T.nn.utils.parameters_to_vector(m.parameters())
    T.nn.utils.vector_to_parameters(vector.detach() * 2, m.parameters())
    return [vector, m.weight, m.bias]


@case
def functional_calls(T: Any) -> Any:
    m, call = net(T), T.func.functional_call
    x = ramp(T, 2, 2)
    scale = T.full((4,), 2.0, requires_grad=True)
    y = call(m, {"scale": scale, "first.bias": T.zeros(4)}, (x,), {"extra": 1})
    y.sum().backward()
    seen = [y, scale.grad, m.scale, m.scale.grad is None, call(m, [{"scale": scale}, {"mean": T.ones(4)}], x)]
    return [*seen, call(m, {"body.0.bias": T.ones(4)}, x), call(m, {"tied.bias": T.ones(4)}, x)]


several(
    functional_call_strict=lambda T: T.func.functional_call(T.nn.Linear(1, 1), {"weight": T.ones(1, 1)}, T.ones(1), strict=True),
    functional_call_twice=lambda T: T.func.functional_call(T.nn.Linear(1, 1), [{"bias": T.ones(1)}, {"bias": T.ones(1)}], T.ones(1)),
)


@case
def fused(T: Any) -> Any:
    conv, bn = fill(T.nn.Conv2d(2, 3, 2), T).eval(), fill(T.nn.BatchNorm2d(3), T).eval()
    bn.running_mean.copy_(ramp(T, 3, start=1))
    bn.running_var.copy_(ramp(T, 3, start=2).abs() + 0.5)
    one = T.nn.utils.fuse_conv_bn_eval(conv, bn)
    x = ramp(T, 1, 2, 3, 3)
    weights = T.nn.utils.fuse_linear_bn_weights(ramp(T, 3, 2), None, bn.running_mean, bn.running_var, 1e-3, bn.weight, bn.bias)
    weight, bias = T.nn.utils.fuse_conv_bn_weights(
        ramp(T, 2, 3, 2, 2), ramp(T, 3), bn.running_mean, bn.running_var, 1e-3, None, bn.bias, transpose=True
    )
    return [one.weight, one.bias, one(x), bn(conv(x)), list(weights), weight, bias]


several(fuse_training=lambda T: T.nn.utils.fuse_conv_bn_eval(T.nn.Conv2d(1, 1, 1), T.nn.BatchNorm2d(1)))


# ---- parametrizations


def _symmetric(T: Any) -> Any:
    class Symmetric(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    return Symmetric()


def _doubled(T: Any) -> Any:
    class Doubled(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    return Doubled()


@case
def parametrizing(T: Any) -> Any:
    P = T.nn.utils.parametrize
    m = fill(T.nn.Linear(3, 3), T)
    P.register_parametrization(m, "weight", _symmetric(T))
    x = ramp(T, 2, 3)
    seen = [str(m), type(m).__name__, list(m.state_dict()), [n for n, _ in m.named_parameters()], m.weight, m(x)]
    m(x).sum().backward()
    seen += [m.parametrizations.weight.original, m.parametrizations.weight.original.grad]
    m.weight = T.eye(3) * 3
    seen += [m.weight, P.is_parametrized(m), P.is_parametrized(m, "bias"), P.type_before_parametrizations(m).__name__]
    P.register_parametrization(m, "weight", _doubled(T))
    P.register_parametrization(m, "bias", _doubled(T))
    seen += [str(m), m.weight, m.bias, list(m.state_dict()), m(x)]
    with P.cached():
        seen.append(m.weight is m.weight)
    seen.append(m.weight is m.weight)
    P.remove_parametrizations(m, "weight")
    seen += [str(m), m.weight, isinstance(m.weight, T.nn.Parameter), list(m.state_dict())]
    P.remove_parametrizations(m, "bias", leave_parametrized=False)
    return [*seen, m.bias, type(m).__name__, hasattr(m, "parametrizations"), m(x)]


def _returning(T: Any, value: Callable[[Any], Any]) -> Any:
    class Returning(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return value(x)

    return Returning()


def _parametrize(T: Any, value: Callable[[Any], Any], name: str = "weight", **options: Any) -> Any:
    m = T.nn.utils.parametrize.register_parametrization(T.nn.Linear(2, 3), name, _returning(T, value), **options)
    return list(m.weight.shape)


several(
    parametrize_shape=lambda T: _parametrize(T, lambda x: x.mT),
    parametrize_shape_unsafe=lambda T: _parametrize(T, lambda x: x.mT, unsafe=True),
    parametrize_dtype=lambda T: _parametrize(T, lambda x: x.double()),
    parametrize_text=lambda T: _parametrize(T, lambda x: "text"),
    parametrize_missing=lambda T: _parametrize(T, lambda x: x, "nothing"),
    parametrize_remove_missing=lambda T: T.nn.utils.parametrize.remove_parametrizations(T.nn.ReLU(), "weight"),
)


@case
def parametrize_without_inverse(T: Any) -> Any:
    m = T.nn.utils.parametrize.register_parametrization(T.nn.Linear(2, 2), "weight", _doubled(T))
    m.weight = T.ones(2, 2)


@case
def weight_norms(T: Any) -> Any:
    seen = []
    x = ramp(T, 2, 3)
    for dim in (0, 1, None):
        m = T.nn.utils.parametrizations.weight_norm(fill(T.nn.Linear(3, 2), T), dim=dim)
        m(x).sum().backward()
        originals = m.parametrizations.weight
        seen += [list(m.state_dict()), originals.original0, originals.original0.grad, originals.original1.grad, m.weight]
        old = T.nn.utils.weight_norm(fill(T.nn.Linear(3, 2), T), dim=dim)
        old(x).sum().backward()
        seen += [list(old.state_dict()), old.weight_g.grad, old.weight_v.grad, str(m.load_state_dict(old.state_dict()))]
        T.nn.utils.remove_weight_norm(old)
        seen += [list(old.state_dict()), old.weight, old(x)]
    return seen


def _set_vectors(T: Any, u: Any, v: Any) -> None:
    u.copy_(T.nn.functional.normalize(ramp(T, *u.shape, start=1), dim=0))
    v.copy_(T.nn.functional.normalize(ramp(T, *v.shape, start=2), dim=0))


@case
def spectral_norms(T: Any) -> Any:
    seen = []
    x = ramp(T, 2, 3)
    for iterations in (1, 3):
        m = T.nn.utils.parametrizations.spectral_norm(fill(T.nn.Linear(3, 2), T), n_power_iterations=iterations)
        p = m.parametrizations.weight
        _set_vectors(T, p[0]._u, p[0]._v)
        y = m(x)
        y.sum().backward()
        seen += [list(m.state_dict()), y, p.original.grad, p[0]._u, m.eval()(x), m(x)]
        old = T.nn.utils.spectral_norm(fill(T.nn.Linear(3, 2), T), n_power_iterations=iterations)
        _set_vectors(T, old.weight_u, old.weight_v)
        y = old(x)
        y.sum().backward()
        seen += [sorted(old.state_dict()), y, old.weight_orig.grad, old.weight_v, old.eval()(x)]
        T.nn.utils.remove_spectral_norm(old)
        seen += [list(old.state_dict()), old.weight]
    return seen


@case
def orthogonals(T: Any) -> Any:
    seen: list[Any] = []
    for shape in ((3, 3), (4, 2), (2, 4)):
        for name in ("matrix_exp", "cayley", "householder"):
            m = T.nn.Linear(shape[1], shape[0], bias=False)
            m = T.nn.utils.parametrizations.orthogonal(m, orthogonal_map=name, use_trivialization=name == "never")
            with T.no_grad():
                m.parametrizations.weight.original.copy_(ramp(T, *shape).round() * 2 + ramp(T, *shape, start=3))
            (m.weight * ramp(T, *shape, start=1)).sum().backward()
            seen += [m.weight, m.parametrizations.weight.original.grad, list(m.state_dict())]
    m = T.nn.utils.parametrizations.orthogonal(T.nn.Linear(3, 3))
    m.weight = T.nn.init.eye_(T.empty(3, 3))
    return [*seen, list(m.state_dict()), m.weight]


@case
def orthogonal_reflections(T: Any) -> Any:
    m = T.nn.utils.parametrizations.orthogonal(T.nn.Linear(2, 3, bias=False), use_trivialization=False)
    m.weight = T.tensor([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])
    return m.weight


several(
    orthogonal_unknown=lambda T: T.nn.utils.parametrizations.orthogonal(T.nn.Linear(2, 2), orthogonal_map="x"),
    orthogonal_vector=lambda T: T.nn.utils.parametrizations.orthogonal(T.nn.Linear(2, 2), "bias"),
    spectral_norm_missing=lambda T: T.nn.utils.parametrizations.spectral_norm(T.nn.Linear(2, 2), "x"),
    spectral_norm_iterations=lambda T: T.nn.utils.parametrizations.spectral_norm(T.nn.Linear(2, 2), n_power_iterations=0),
    weight_norm_twice=lambda T: T.nn.utils.weight_norm(T.nn.utils.weight_norm(T.nn.Linear(1, 1))),
    remove_weight_norm_missing=lambda T: T.nn.utils.remove_weight_norm(T.nn.ReLU()),
    remove_spectral_norm_missing=lambda T: T.nn.utils.remove_spectral_norm(T.nn.ReLU()),
)


# ---- sequences


def _packed(p: Any) -> list[Any]:
    return [p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]


@case
def packing(T: Any) -> Any:
    R = T.nn.utils.rnn
    x = ramp(T, 4, 3, 2).requires_grad_()
    p = R.pack_padded_sequence(x, T.tensor([4, 2, 1]))
    seen = [_packed(p)]
    p.data.pow(2).sum().backward()
    seen.append(x.grad)
    q = R.pack_padded_sequence(x.transpose(0, 1), [2, 4, 1], batch_first=True, enforce_sorted=False)
    seen += [
        _packed(q),
        list(R.pad_packed_sequence(q)),
        list(R.pad_packed_sequence(q, batch_first=True, padding_value=-1.0, total_length=5)),
    ]
    parts = [ramp(T, 2, 2), ramp(T, 3, 2, start=1), ramp(T, 1, 2, start=2)]
    seen += [R.pad_sequence(parts), R.pad_sequence(parts, batch_first=True, padding_value=9.0), R.pad_sequence(parts, padding_side="left")]
    seen += [_packed(R.pack_sequence(parts, enforce_sorted=False)), R.unpack_sequence(R.pack_sequence(parts, enforce_sorted=False))]
    seen += [R.unpad_sequence(R.pad_sequence(parts), T.tensor([2, 3, 1])), str(q.to(T.float64).data.dtype)]
    return seen


several(
    pack_unsorted=lambda T: T.nn.utils.rnn.pack_padded_sequence(T.ones(3, 2), [1, 3]),
    pack_lengths=lambda T: T.nn.utils.rnn.pack_padded_sequence(T.ones(3, 2), [1]),
    pack_zero=lambda T: T.nn.utils.rnn.pack_padded_sequence(T.ones(3, 2), [1, 0]),
    pad_total=lambda T: T.nn.utils.rnn.pad_packed_sequence(T.nn.utils.rnn.pack_sequence([T.ones(3)]), total_length=2),
    pad_number=lambda T: T.nn.utils.rnn.pad_sequence(3),
    pad_nothing=lambda T: T.nn.utils.rnn.pad_sequence([]),
)


# ---- lazy modules


def _lazy_scale(T: Any) -> Any:
    class LazyScale(T.nn.modules.lazy.LazyModuleMixin if hasattr(T.nn, "modules") else T.nn.LazyModuleMixin, T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = T.nn.UninitializedParameter()
            self.register_buffer("shift", T.nn.UninitializedBuffer())

        def initialize_parameters(self, x: Any) -> None:
            if self.has_uninitialized_params():
                with T.no_grad():
                    self.scale.materialize((x.shape[-1],))
                    self.shift.materialize((1,))
                    self.scale.fill_(2.0)
                    self.shift.fill_(1.0)

        def forward(self, x: Any) -> Any:
            return x * self.scale + self.shift

    return LazyScale()


@case
def lazy(T: Any) -> Any:
    m = _lazy_scale(T)
    seen = [m.has_uninitialized_params(), str(m.scale), [str(v) for v in m.state_dict().values()], [n for n, _ in m.named_parameters()]]
    other = _lazy_scale(T)
    seen += [m(ramp(T, 2, 3)), m.has_uninitialized_params(), type(m.scale).__name__, type(m.shift).__name__, list(m.scale.shape)]
    other.load_state_dict(m.state_dict())
    return [*seen, other.scale, other(ramp(T, 1, 3)), str(m.scale.requires_grad)]


several(
    lazy_shape=lambda T: _lazy_scale(T).scale.shape,
    lazy_into_lazy=lambda T: str(_lazy_scale(T).load_state_dict(_lazy_scale(T).state_dict())),
)


# ---- pruning


@case
def pruning(T: Any) -> Any:
    P = T.nn.utils.prune
    m = fill(T.nn.Linear(4, 3), T)
    P.l1_unstructured(m, "weight", amount=0.25)
    x = ramp(T, 2, 4)
    seen = [list(m.state_dict()), m.weight, m.weight_mask, m(x), P.is_pruned(m)]
    m(x).sum().backward()
    seen.append(m.weight_orig.grad)
    P.l1_unstructured(m, "weight", amount=2)
    seen.append(m.weight_mask)
    P.ln_structured(m, "weight", amount=1, n=2, dim=0)
    seen.append(m.weight_mask)
    P.custom_from_mask(m, "bias", T.tensor([1, 0, 1]))
    seen += [m.bias, m(x)]
    P.remove(m, "weight")
    P.remove(m, "bias")
    seen += [list(m.state_dict()), m.weight, P.is_pruned(m)]
    a, b = fill(T.nn.Linear(2, 2), T), fill(T.nn.Linear(3, 2), T)
    P.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=_l1(T), amount=4)
    return [*seen, a.weight, b.weight, P.identity(fill(T.nn.Linear(1, 1), T), "weight").weight]


def _l1(T: Any) -> Any:
    return getattr(T.nn.utils.prune, "L1Unstructured", "l1_unstructured")


several(
    prune_counts=lambda T: [
        int((T.nn.utils.prune.random_unstructured(T.nn.Linear(4, 5), "weight", 0.3).weight_mask == 0).sum()),
        int((T.nn.utils.prune.random_structured(T.nn.Linear(4, 5), "weight", 2, dim=1).weight_mask.sum(0) == 0).sum()),
    ],
    prune_too_many=lambda T: T.nn.utils.prune.l1_unstructured(T.nn.Linear(2, 2), "weight", amount=9),
    prune_share=lambda T: T.nn.utils.prune.l1_unstructured(T.nn.Linear(2, 2), "weight", amount=1.5),
    prune_text=lambda T: T.nn.utils.prune.l1_unstructured(T.nn.Linear(2, 2), "weight", amount="x"),
    prune_remove_missing=lambda T: T.nn.utils.prune.remove(T.nn.ReLU(), "weight"),
)
