"""Errors raised by training."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Raised when training cannot continue."""


class NonFiniteLoss(TrainingError, ArithmeticError):
    """Raised when the loss becomes NaN or infinite.

    The weights are those from before the step; a checkpoint of them is saved if there is a run. The error may be raised some batches later,
    because losses are read from the device only when they are shown; the steps in between are skipped.
    """


class CheckpointError(TrainingError, OSError):
    """Raised when a checkpoint cannot be written or read."""


class RunInUseError(TrainingError):
    """Raised when another process, or another Run of this process, is writing to the run folder."""


class ValidationLeft(Exception):
    """Raised internally when a stop is requested during validation; never leaves fit."""
