"""What can go wrong in training, told so that something can be done about it."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot go on."""


class NonFiniteLoss(TrainingError, ArithmeticError):
    """The loss became NaN or infinite. The weights are those from before the step; a checkpoint of them was made if there is a run.

    It may be noticed some batches later, since losses are read only when they are shown; the steps in between were left out.
    """


class CheckpointError(TrainingError, OSError):
    """A checkpoint could not be written or read."""


class RunInUseError(TrainingError):
    """Another process, or another Run of this one, writes to the folder of a run."""


class ValidationLeft(Exception):
    """Somebody asked to stop while fit was validating; never leaves fit."""
