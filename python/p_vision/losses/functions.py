"""Losses as functions of (y_true, y_pred), which return one value per sample, or per element of the dimensions before the last."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..configured import OPTIONS, public
from ..described import describe

_EPSILON = 1e-7  # probabilities are clamped to [epsilon, 1 - epsilon]


def mean_squared_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """The mean of (y_true - y_pred)² of each sample."""
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_true - y_pred).square().mean(-1)


def mean_absolute_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """The mean of |y_true - y_pred| of each sample."""
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_true - y_pred).abs().mean(-1)


def mean_absolute_percentage_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """The mean of 100 |y_true - y_pred| / |y_true| of each sample."""
    y_true, y_pred = aligned(y_true, y_pred)
    return 100 * ((y_true - y_pred) / y_true.abs().clamp(min=_EPSILON)).abs().mean(-1)


def mean_squared_logarithmic_error(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """The mean of (log(1 + y_true) - log(1 + y_pred))² of each sample."""
    y_true, y_pred = (x.clamp(min=_EPSILON).log1p() for x in aligned(y_true, y_pred))
    return (y_true - y_pred).square().mean(-1)


def huber(y_true: Tensor, y_pred: Tensor, delta: float = 1.0) -> Tensor:
    """Huber loss: squared for errors up to delta, linear beyond."""
    y_true, y_pred = aligned(y_true, y_pred)
    y_true, y_pred = pyburn.broadcast_tensors(y_true, y_pred)
    return functional.huber_loss(y_pred, y_true, reduction="none", delta=delta).mean(-1)


def log_cosh(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """The mean of log(cosh(y_pred - y_true)) of each sample."""
    y_true, y_pred = aligned(y_true, y_pred)
    x = y_pred - y_true
    return (x + functional.softplus(-2 * x) - math.log(2)).mean(-1)


def hinge(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Hinge loss; targets are -1 and 1, or 0 and 1."""
    y_true, y_pred = aligned(y_true, y_pred)
    return pyburn.relu(1 - _signs(y_true) * y_pred).mean(-1)


def squared_hinge(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Squared hinge loss; targets are -1 and 1, or 0 and 1."""
    y_true, y_pred = aligned(y_true, y_pred)
    return pyburn.relu(1 - _signs(y_true) * y_pred).square().mean(-1)


def categorical_hinge(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Categorical hinge loss of one-hot targets."""
    y_true, y_pred = aligned(y_true, y_pred)
    return pyburn.relu(((1 - y_true) * y_pred).amax(-1) - (y_true * y_pred).sum(-1) + 1)


def kl_divergence(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Kullback-Leibler divergence of each sample."""
    y_true, y_pred = (x.clamp(_EPSILON, 1) for x in aligned(y_true, y_pred))
    return (y_true * (y_true / y_pred).log()).sum(-1)


def poisson(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Poisson loss: the mean of y_pred - y_true * log(y_pred)."""
    y_true, y_pred = aligned(y_true, y_pred)
    return (y_pred - y_true * (y_pred + _EPSILON).log()).mean(-1)


def cosine_similarity(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
    """The negative cosine similarity, so that lower is better."""
    y_true, y_pred = aligned(y_true, y_pred)
    return -(functional.normalize(y_true, dim=axis) * functional.normalize(y_pred, dim=axis)).sum(axis)


def binary_crossentropy(y_true: Tensor, y_pred: Tensor, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1) -> Tensor:
    """Cross entropy of binary targets and probabilities, or logits."""
    y_true, y_pred = alike(y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, 2)
    if from_logits:
        return functional.binary_cross_entropy_with_logits(y_pred, y_true, reduction="none").mean(axis)
    return _entropies(y_true, y_pred.clamp(_EPSILON, 1 - _EPSILON)).mean(axis)


def categorical_crossentropy(
    y_true: Tensor, y_pred: Tensor, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """Cross entropy of one-hot targets and class probabilities, or logits."""
    y_true, y_pred = alike(y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, y_true.shape[axis])
    return -(y_true * _log_probabilities(y_pred, from_logits, axis)).sum(axis)


def sparse_categorical_crossentropy(
    y_true: Tensor, y_pred: Tensor, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> Tensor:
    """Cross entropy of integer classes and class probabilities, or logits."""
    if y_true.ndim == y_pred.ndim and y_true.shape[axis] == 1:
        y_true = y_true.squeeze(axis)
    classes = y_true.long()
    ignored = None if ignore_class is None else classes == ignore_class
    if ignored is not None:
        classes = classes.masked_fill(ignored, 0)
    if from_logits and axis in (-1, y_pred.ndim - 1):
        scores = y_pred.reshape(-1, y_pred.shape[-1])  # one fused operation
        loss = _of_class(lambda: functional.cross_entropy(scores, classes.reshape(-1), reduction="none"), y_pred, axis).reshape(
            classes.shape
        )
    else:
        logs = _log_probabilities(y_pred, from_logits, axis)
        loss = -_of_class(lambda: logs.gather(axis, classes.unsqueeze(axis)), y_pred, axis).squeeze(axis)
    return loss if ignored is None else loss.masked_fill(ignored, 0.0)


def _of_class(compute: Callable[[], Tensor], y_pred: Tensor, axis: int) -> Tensor:
    """Computes a value per target class; says what the classes are if one is not there."""
    try:
        return compute()
    except IndexError as error:
        count = y_pred.shape[axis]
        raise type(error)(
            f"[sparse_categorical_crossentropy] targets are classes from 0 to {count - 1} for {count} outputs: {error}"
        ) from None


def binary_focal_crossentropy(
    y_true: Tensor,
    y_pred: Tensor,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Focal cross entropy of binary targets (Lin et al. 2018)."""
    y_true, y_pred = alike(y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, 2)
    p = (pyburn.sigmoid(y_pred) if from_logits else y_pred).clamp(_EPSILON, 1 - _EPSILON)
    loss = _entropies(y_true, p) * (1 - (y_true * p + (1 - y_true) * (1 - p))).pow(gamma)
    if apply_class_balancing:
        loss = loss * (y_true * alpha + (1 - y_true) * (1 - alpha))
    return loss.mean(axis)


def _smoothed(y_true: Tensor, amount: float, classes: int) -> Tensor:
    return y_true * (1 - amount) + amount / classes if amount else y_true


def _entropies(y_true: Tensor, p: Tensor) -> Tensor:
    return -(y_true * p.log() + (1 - y_true) * (1 - p).log())


def _log_probabilities(y_pred: Tensor, from_logits: bool, axis: int) -> Tensor:
    if from_logits:
        return functional.log_softmax(y_pred, axis)
    return (y_pred / y_pred.sum(axis, keepdim=True)).clamp(_EPSILON, 1 - _EPSILON).log()


def _signs(y_true: Tensor) -> Tensor:
    """Maps labels 0 and 1 to -1 and 1."""
    return pyburn.where(((y_true == 0) | (y_true == 1)).all(), 2 * y_true - 1, y_true)


def aligned(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Converts both to tensors of y_pred's dtype whose shapes broadcast.

    Keras's rule for ranks: if one has an additional last axis of size 1, that axis is dropped; if the other is 1-d, it gets one instead.

    Args:
        y_true: The targets.
        y_pred: The outputs.

    Returns:
        The targets and the outputs.

    Raises:
        ShapeError: The shapes do not fit.

    >>> [tuple(x.shape) for x in p_vision.losses.aligned(pyburn.zeros(3, 1), pyburn.zeros(3))]
    [(3, 1), (3, 1)]
    """
    y_true, y_pred = (x if isinstance(x, Tensor) else pyburn.as_tensor(x) for x in (y_true, y_pred))
    if y_pred.ndim == 1:
        y_pred = y_pred.unsqueeze(-1)  # one value per sample
    y_true, y_pred = _of_one_rank(y_true, y_pred)
    sizes = tuple(y_true.shape), tuple(y_pred.shape)
    if any(a != b and 1 not in (a, b) for a, b in zip(*map(reversed, sizes))):
        _refuse(*sizes)
    return y_true.to(y_pred.dtype), y_pred


def _of_one_rank(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    if a.ndim < b.ndim:
        b, a = _of_one_rank(b, a)
    elif a.ndim == b.ndim + 1 and a.shape[-1] == 1:
        if b.ndim == 1:
            b = b.unsqueeze(-1)
        else:
            a = a.squeeze(-1)
    return a, b


def alike(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """As `aligned`, for losses that do not broadcast: raises ShapeError unless the shapes are equal.

    Args:
        y_true: The targets.
        y_pred: The outputs.

    Returns:
        The targets and the outputs.

    Raises:
        ShapeError: The shapes do not fit.

    >>> [tuple(x.shape) for x in p_vision.losses.alike(pyburn.zeros(3, 1), pyburn.zeros(3))]
    [(3, 1), (3, 1)]
    """
    y_true, y_pred = aligned(y_true, y_pred)
    if y_true.shape != y_pred.shape:
        _refuse(tuple(y_true.shape), tuple(y_pred.shape))
    return y_true, y_pred


def _refuse(targets: tuple[int, ...], outputs: tuple[int, ...]) -> None:
    classes = len(targets) < len(outputs)
    hint = "; for integer classes use a sparse loss, or convert them by utils.to_categorical" if classes else ""
    raise pyburn.ShapeError(f"[loss] targets and outputs differ in shape: got {targets} and {outputs}{hint}")


def categorical_focal_crossentropy(
    y_true: Tensor,
    y_pred: Tensor,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """Focal cross entropy of one-hot targets (Lin et al. 2018)."""
    y_true, y_pred = aligned(y_true, y_pred)
    y_true = _smoothed(y_true, label_smoothing, y_true.shape[axis])
    logs = _log_probabilities(y_pred, from_logits, axis)
    return -(alpha * (1 - logs.exp()).pow(gamma) * y_true * logs).sum(axis)


def dice(y_true: Tensor, y_pred: Tensor, axis: Any = None) -> Tensor:
    """Dice loss; one value, or one per element of the dimensions that are not in `axis`."""
    y_true, y_pred = aligned(y_true, y_pred)
    axes = list(range(y_true.ndim)) if axis is None else axis
    return 1 - 2 * (y_true * y_pred).sum(axes) / (y_true.sum(axes) + y_pred.sum(axes) + _EPSILON)


def tversky(y_true: Tensor, y_pred: Tensor, alpha: float = 0.5, beta: float = 0.5, axis: Any = None) -> Tensor:
    """Tversky loss: Dice with weights for false positives (alpha) and false negatives (beta)."""
    y_true, y_pred = aligned(y_true, y_pred)
    axes = list(range(y_true.ndim)) if axis is None else axis
    both = (y_true * y_pred).sum(axes)
    wrong, missed = ((1 - y_true) * y_pred).sum(axes), (y_true * (1 - y_pred)).sum(axes)
    return 1 - both / (both + alpha * wrong + beta * missed + _EPSILON)


def ctc(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """CTC loss of logits (batch, steps, classes) and labels (batch, length), where label 0 is padding."""
    if y_true.ndim != 2 or y_pred.ndim != 3:
        raise pyburn.ShapeError(
            f"[ctc] expected labels (batch, length) and logits (batch, steps, classes): got {tuple(y_true.shape)} and {tuple(y_pred.shape)}"
        )
    lengths = (y_true != 0).sum(-1)
    steps = pyburn.full((y_pred.shape[0],), y_pred.shape[1], dtype=pyburn.int64)
    logs = functional.log_softmax(y_pred, -1).transpose(0, 1)
    return functional.ctc_loss(logs, y_true.long(), steps, lengths, blank=0, reduction="none")


def circle(
    y_true: Tensor,
    y_pred: Tensor,
    ref_labels: Tensor | None = None,
    ref_embeddings: Tensor | None = None,
    remove_diagonal: bool = True,
    gamma: float = 80.0,
    margin: float = 0.4,
) -> Tensor:
    """Circle loss: pulls normalized embeddings of the same class together and pushes those of different classes apart."""
    others = y_pred if ref_embeddings is None else ref_embeddings
    classes = y_true.reshape(-1).long()
    same = classes.unsqueeze(1) == (classes if ref_labels is None else ref_labels.reshape(-1).long()).unsqueeze(0)
    different = ~same
    if remove_diagonal:
        same = same & ~pyburn.eye(*same.shape, dtype=pyburn.bool, device=same.device)
    distance = (1 - y_pred @ others.T).clamp(min=0.0)
    near = -gamma * (margin + distance).clamp(min=0.0) * (margin - distance)
    far = gamma * (1 + margin - distance).clamp(min=0.0) * (1 - margin - distance)
    sums = [pyburn.where(mask, scores, -math.inf).logsumexp(1) for mask, scores in ((same, near), (different, far))]
    return functional.softplus(sums[0] + sums[1])


def categorical_generalized_cross_entropy(y_true: Tensor, y_pred: Tensor, q: float = 0.5) -> Tensor:
    """Generalized cross entropy: (1 - p^q) / q with p the probability of the correct class; robust to label noise."""
    classes = (y_true.squeeze(-1) if y_true.ndim == y_pred.ndim else y_true).long()
    return (1 - y_pred.gather(-1, classes.unsqueeze(-1)).squeeze(-1).pow(q)) / q


__all__ = public(globals())
for _name in set(__all__) - {"aligned", "alike"}:
    describe(globals()[_name], OPTIONS, "One value per sample, or per element of the dimensions before the last.")
