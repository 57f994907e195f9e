"""What optimisers and schedulers are compared with PyTorch on: options, and a run of some steps. Used by the tests and by
tools/make_optim_goldens.py; knows neither library, but takes one as `lib`."""

from __future__ import annotations

import math
from typing import Any

SHAPES = [(3, 2), (4,)]
STEPS = 20
SEEN = (1, 2, 3, 5, 8, 13, 20)  # steps after which the parameters are compared

# Options that each optimiser is tried with, one value list per option; those in common come below.
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "SGD": {"lr": [0.1, 0.01], "momentum": [0.5, 0.9], "weight_decay": [0.1, 0.5], "maximize": [True]},
    "Adam": {
        "lr": [0.1, 0.01], "betas": [(0.5, 0.75), (0.0, 0.9)], "eps": [1e-3, 0.1], "weight_decay": [0.1, 0.5], "amsgrad": [True],
        "maximize": [True], "decoupled_weight_decay": [True],
    },
    "AdamW": {
        "lr": [0.1, 0.01], "betas": [(0.5, 0.75), (0.0, 0.9)], "eps": [1e-3, 0.1], "weight_decay": [0.0, 0.5], "amsgrad": [True],
        "maximize": [True],
    },
    "Adamax": {"lr": [0.1, 0.01], "betas": [(0.5, 0.75), (0.0, 0.9)], "eps": [1e-3, 0.1], "weight_decay": [0.1, 0.5], "maximize": [True]},
    "NAdam": {
        "lr": [0.1, 0.01], "betas": [(0.5, 0.75), (0.8, 0.9)], "eps": [1e-3, 0.1], "weight_decay": [0.1, 0.5],
        "momentum_decay": [0.1, 0.01], "decoupled_weight_decay": [True], "maximize": [True],
    },
    "RAdam": {
        "lr": [0.1, 0.01], "betas": [(0.5, 0.75), (0.8, 0.9)], "eps": [1e-3, 0.1], "weight_decay": [0.1, 0.5],
        "decoupled_weight_decay": [True], "maximize": [True],
    },
    "Adagrad": {
        "lr": [0.1, 0.5], "lr_decay": [0.1, 0.5], "weight_decay": [0.1, 0.5], "initial_accumulator_value": [0.1, 2.0],
        "eps": [1e-3, 0.1], "maximize": [True],
    },
    "Adadelta": {"lr": [0.1, 0.5], "rho": [0.5, 0.0], "eps": [1e-3, 0.1], "weight_decay": [0.1, 0.5], "maximize": [True]},
    "RMSprop": {
        "lr": [0.1, 0.001], "alpha": [0.5, 0.9], "eps": [1e-3, 0.1], "weight_decay": [0.1, 0.5], "momentum": [0.5, 0.9],
        "centered": [True], "maximize": [True],
    },
    "Rprop": {"lr": [0.1, 0.001], "etas": [(0.25, 1.5), (0.75, 2.0)], "step_sizes": [(1e-3, 0.02), (0.005, 1.0)], "maximize": [True]},
    "ASGD": {
        "lr": [0.1, 0.5], "lambd": [0.1, 0.0], "alpha": [0.5, 1.0], "t0": [5.0, 0.0], "weight_decay": [0.1, 0.5], "maximize": [True],
    },
    "Adafactor": {
        "lr": [0.1, 0.5], "beta2_decay": [-0.5, 0.0], "eps": [(1e-3, 1e-2), (None, 0.5)], "d": [2.0, 1.5], "weight_decay": [0.1, 0.5],
        "maximize": [True],
    },
    "Muon": {
        "lr": [0.1, 0.5], "weight_decay": [0.0, 0.5], "momentum": [0.5, 0.0], "nesterov": [False], "ns_steps": [2, 3],
        "ns_coefficients": [(3.0, -4.0, 1.5), (2.0, -1.5, 0.5)], "eps": [1e-3, 0.1],
        "adjust_lr_fn": ["match_rms_adamw", "spectral_unclamped"],
    },
}  # fmt: skip
# Options that depend on each other.
TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.25, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "amsgrad": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True, "betas": (0.8, 0.9)}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "alpha": 0.5}),
    ("ASGD", {"lr": 0.1, "t0": 3.0, "lambd": 0.01, "weight_decay": 0.1}),
]

# L-BFGS makes its own steps, down Rosenbrock's valley.
LBFGS: list[dict[str, Any]] = [
    {"lr": 0.01},
    {"lr": 0.005, "max_iter": 5, "history_size": 3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2},
    {"line_search_fn": "strong_wolfe", "max_eval": 7, "lr": 0.5},
    {"line_search_fn": "strong_wolfe", "tolerance_grad": 1e-2, "tolerance_change": 1e-3},
    {"line_search_fn": "strong_wolfe", "maximize": True},
]

RATES = [0.5, 0.02]  # of the two groups that schedulers work on
RUN = 30
SCHEDULERS: list[tuple[str, dict[str, Any]]] = [
    ("LambdaLR", {"lr_lambda": "lambda e: 0.9**e"}),
    ("LambdaLR", {"lr_lambda": ["lambda e: 1 / (1 + e)", "lambda e: e % 3"]}),
    ("MultiplicativeLR", {"lr_lambda": "lambda e: 0.95"}),
    ("MultiplicativeLR", {"lr_lambda": ["lambda e: 0.9", "lambda e: 1 + 1 / e"]}),
    ("StepLR", {"step_size": 4}),
    ("StepLR", {"step_size": 1, "gamma": 0.7}),
    ("MultiStepLR", {"milestones": [3, 3, 10]}),
    ("MultiStepLR", {"milestones": [1, 20, 25], "gamma": 0.5}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 8}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 0}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.5, "end_factor": 0.8, "total_iters": 0}),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.6, "total_iters": 12}),
    ("LinearLR", {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 7}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("ExponentialLR", {"gamma": 1.1}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 20, "power": 2.0}),
    ("PolynomialLR", {"total_iters": 0}),
    ("CosineAnnealingLR", {"T_max": 10}),
    ("CosineAnnealingLR", {"T_max": 7, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 5}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 3.5, "step_size_down": 2.25}),
    ("CyclicLR", {"base_lr": [0.1, 0.2], "max_lr": [0.9, 0.5], "step_size_up": 3, "step_size_down": 5, "mode": "triangular2"}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4, "scale_fn": "lambda x: 1 / x", "base_momentum": 0.1}),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4, "scale_fn": "lambda x: 0.9**x", "scale_mode": "iterations", "max_momentum": 0.5},
    ),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 30}),
    ("OneCycleLR", {"max_lr": [1.0, 0.5], "epochs": 5, "steps_per_epoch": 6, "pct_start": 0.5, "anneal_strategy": "linear"}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 30, "three_phase": True, "div_factor": 10.0, "final_div_factor": 100.0}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 30, "base_momentum": 0.1, "max_momentum": 0.6}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 40, "cycle_momentum": False}),
    ("ReduceLROnPlateau", {"patience": 2}),
    ("ReduceLROnPlateau", {"mode": "max", "factor": 0.5, "patience": 0, "threshold": 0.1, "min_lr": 0.05}),
    ("ReduceLROnPlateau", {"patience": 1, "threshold": 0.2, "threshold_mode": "abs", "cooldown": 3}),
    ("ReduceLROnPlateau", {"mode": "max", "patience": 1, "threshold_mode": "abs", "min_lr": [0.1, 0.001], "eps": 1e-3}),
    ("SWALR", {"swa_lr": 0.05}),
    ("SWALR", {"swa_lr": [0.1, 0.3], "anneal_epochs": 5, "anneal_strategy": "linear"}),
    ("SWALR", {"swa_lr": 0.05, "anneal_epochs": 0}),
    (
        "SequentialLR",
        {"schedulers": [("LinearLR", {"start_factor": 0.1, "total_iters": 5}), ("CosineAnnealingLR", {"T_max": 20})], "milestones": [5]},
    ),
    (
        "SequentialLR",
        {
            "schedulers": [
                ("ConstantLR", {"factor": 0.1, "total_iters": 3}),
                ("ExponentialLR", {"gamma": 0.9}),
                ("StepLR", {"step_size": 2, "gamma": 0.5}),
            ],
            "milestones": [4, 15],
        },
    ),
    ("SequentialLR", {"schedulers": [("CosineAnnealingWarmRestarts", {"T_0": 4}), ("ConstantLR", {})], "milestones": [10]}),
    ("SequentialLR", {"schedulers": [("ConstantLR", {}), ("LinearLR", {}), ("StepLR", {"step_size": 2})], "milestones": [0, 4]}),
    ("SequentialLR", {"schedulers": [("ConstantLR", {}), ("CosineAnnealingWarmRestarts", {"T_0": 4, "T_mult": 2})], "milestones": [6]}),
    ("ChainedScheduler", {"schedulers": [("LinearLR", {}), ("ExponentialLR", {"gamma": 0.9})]}),
    (
        "ChainedScheduler",
        {"schedulers": [("ConstantLR", {"factor": 0.5}), ("CosineAnnealingLR", {"T_max": 9}), ("StepLR", {"step_size": 8})]},
    ),
]  # fmt: skip


def optimizer_cases() -> list[tuple[str, dict[str, Any]]]:
    """Every option on its own at each of its values, the defaults, and options that depend on each other."""
    cases: list[tuple[str, dict[str, Any]]] = []
    for name, values in OPTIONS.items():
        cases.append((name, {}))
        cases += [(name, {key: value}) for key in values for value in values[key]]
    return cases + TOGETHER


def case_id(case: tuple[str, dict[str, Any]]) -> str:
    return f"{case[0]} {case[1]}"


def starting_values(shape: tuple[int, ...]) -> list[float]:
    return [math.sin(3.0 + 1.3 * i) for i in range(math.prod(shape))]


def gradient(shape: tuple[int, ...], step: int) -> list[float]:
    """Of either sign, of different sizes, with zeros."""
    return [0.0 if (i + step) % 7 == 0 else math.sin(1.7 * step + 0.9 * i) * (1 + 0.1 * step) for i in range(math.prod(shape))]


def shapes_for(name: str) -> list[tuple[int, ...]]:
    return [(3, 2), (2, 5)] if name == "Muon" else SHAPES


def tensor(lib: Any, values: list[float], shape: tuple[int, ...]) -> Any:
    return lib.tensor(values, dtype=lib.float64).reshape(shape)


def run_optimizer(lib: Any, name: str, options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The parameters after some of the steps, and the optimiser."""
    shapes = shapes_for(name)
    parameters = [lib.nn.Parameter(tensor(lib, starting_values(shape), shape)) for shape in shapes]
    optimizer = getattr(lib.optim, name)(parameters, **options)
    after = {}
    for step in range(1, STEPS + 1):
        for p, shape in zip(parameters, shapes):
            p.grad = tensor(lib, gradient(shape, step), shape)
        optimizer.step()
        if step in SEEN:
            after[str(step)] = [p.detach().reshape(-1).tolist() for p in parameters]
    return after, optimizer


def rosenbrock(lib: Any, options: dict[str, Any]) -> tuple[list[Any], Any]:
    """Loss and place after each of six steps of L-BFGS."""
    sign = -1 if options.get("maximize") else 1
    x, y = (lib.nn.Parameter(lib.tensor([v], dtype=lib.float64)) for v in (-1.0, 1.5))
    optimizer = lib.optim.LBFGS([x, y], **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = sign * ((1 - x) ** 2 + 20 * (y - x * x) ** 2).sum()
        loss.backward()
        return loss

    return [[float(optimizer.step(closure).detach()), x.item(), y.item()] for _ in range(6)], optimizer


def make_scheduler(lib: Any, name: str, options: dict[str, Any], optimizer: Any) -> Any:
    def made(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("lambda"):
            return eval(value)
        return [made(v) for v in value] if isinstance(value, list) else value

    home = lib.optim.swa_utils if name == "SWALR" else lib.optim.lr_scheduler
    options = dict(options)
    if "schedulers" in options:
        options["schedulers"] = [make_scheduler(lib, inner, more, optimizer) for inner, more in options["schedulers"]]
    options = {key: made(value) for key, value in options.items()}
    if name == "ChainedScheduler":
        return home.ChainedScheduler(**options)
    return getattr(home, name)(optimizer, **options)


def metric(step: int) -> float:
    """Falls, stays, rises."""
    return 3.0 - 0.2 * min(step, 5) + 0.15 * max(0, step - 18) + 0.02 * (step % 3)


def scheduler_setting(lib: Any, name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    groups = [{"params": [lib.nn.Parameter(lib.zeros(1))], "lr": rate} for rate in RATES]
    optimizer = lib.optim.SGD(groups, lr=1.0, momentum=0.9)
    return optimizer, make_scheduler(lib, name, options, optimizer)


def run_scheduler(lib: Any, name: str, options: dict[str, Any], steps: int = RUN) -> dict[str, Any]:
    """Rates and momenta of the groups, before each step and after the last."""
    optimizer, scheduler = scheduler_setting(lib, name, options)
    rates, momenta = [], []
    for step in range(steps + 1):
        if step > 0:
            optimizer.step()
            scheduler.step(*([metric(step - 1)] if name == "ReduceLROnPlateau" else []))
        rates.append([float(group["lr"]) for group in optimizer.param_groups])
        momenta.append([float(group["momentum"]) for group in optimizer.param_groups])
    return {"rates": rates, "momenta": momenta, "last": [float(lr) for lr in scheduler.get_last_lr()]}
