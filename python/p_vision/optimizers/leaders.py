"""Ftrl and Muon."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyburn import Tensor

from .optimizer import Optimizer
from .rate import Rate
from .steps import LeaderSteps, OrthogonalSteps


@dataclass(eq=False, repr=False)
class Ftrl(Optimizer):
    """FTRL (follow the regularized leader); an L1 strength makes the weights of rare features zero (McMahan et al. 2013).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        learning_rate_power: The exponent of the sums of squares, at most 0.
        initial_accumulator_value: The initial sum of squares.
        l1_regularization_strength: The strength of the L1 penalty.
        l2_regularization_strength: The strength of the L2 penalty.
        l2_shrinkage_regularization_strength: The strength of the L2 penalty on the magnitude.
        beta: A number that is added to the roots of the sums.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Ftrl()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = LeaderSteps
    renamed = {
        "l1": "l1_regularization_strength",
        "l2": "l2_regularization_strength",
        "shrinkage": "l2_shrinkage_regularization_strength",
        "power": "learning_rate_power",
        "start": "initial_accumulator_value",
        "beta": "beta",
    }
    learning_rate: Any = Rate()
    learning_rate_power: float = -0.5
    initial_accumulator_value: float = 0.1
    l1_regularization_strength: float = 0.0
    l2_regularization_strength: float = 0.0
    l2_shrinkage_regularization_strength: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate_power > 0:
            raise ValueError(f"[Ftrl] learning_rate_power must be at most 0: got {self.learning_rate_power}")
        if min(getattr(self, ours) for theirs, ours in self.renamed.items() if theirs in ("l1", "l2", "shrinkage", "start")) < 0:
            raise ValueError("[Ftrl] strengths and initial_accumulator_value must be at least 0")


@dataclass(eq=False, repr=False)
class Muon(Optimizer):
    """Muon: orthogonalized momentum for matrices; other weights, and by default embeddings, are trained by Adam (Jordan et al. 2024).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        adam_beta_1: beta_1 of Adam.
        adam_beta_2: beta_2 of Adam.
        adam_weight_decay: The weight decay of the weights that Adam trains.
        epsilon: A small number that avoids division by zero.
        weight_decay: The weight decay of the matrices.
        exclude_embeddings: Whether Adam trains embeddings.
        muon_a: A coefficient of the polynomial; muon_b and muon_c are the others.
        adam_lr_ratio: The learning rate of Adam as a multiple of learning_rate.
        momentum: The decay of the momentum.
        ns_steps: The number of polynomial iterations.
        nesterov: Whether to use Nesterov momentum.
        rms_rate: The root mean square of the steps; None for steps that are not scaled.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Muon()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = OrthogonalSteps
    renamed = {
        "betas": ("adam_beta_1", "adam_beta_2"),
        "epsilon": "epsilon",
        "polynomial": ("muon_a", "muon_b", "muon_c"),
        "adam_ratio": "adam_lr_ratio",
        "momentum": "momentum",
        "iterations": "ns_steps",
        "nesterov": "nesterov",
        "rms_rate": "rms_rate",
        "without_embeddings": "exclude_embeddings",
    }
    learning_rate: Any = Rate()
    adam_beta_1: float = 0.9
    adam_beta_2: float = 0.999
    adam_weight_decay: float = 0.004
    epsilon: float = 1e-7
    weight_decay: float | None = field(default=0.004, kw_only=True)
    exclude_embeddings: bool = True
    muon_a: float = 3.4445
    muon_b: float = -4.7750
    muon_c: float = 2.0315
    adam_lr_ratio: float = 1.0
    momentum: float = 0.95
    ns_steps: int = 5
    nesterov: bool = True
    rms_rate: float | None = 0.2

    def decay_of(self, parameter: Tensor) -> float | None:
        turned = OrthogonalSteps.turns(parameter, self.exclude_embeddings)
        return self.weight_decay if turned else self.adam_weight_decay
