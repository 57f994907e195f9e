"""Training: the Learner, and its parts for custom training loops.

Metrics, checkpoints, run folders, progress displays, mixed precision with gradient accumulation and clipping, and Ctrl-C handling are
separate classes that work without a Learner.
"""

from .._progress import Progress
from . import metrics
from .callbacks import Callback, EarlyStopping, Samples, When
from .checkpoints import Best, CheckpointFolder, Every, Last, Rule
from .displays import ProgressBar, ProgressLines, Quiet
from .errors import CheckpointError, NonFiniteLoss, RunInUseError, TrainingError
from .histograms import Histograms
from .history import History
from .interrupt import StopRequest
from .learner import Learner, TrainingState
from .lr_finder import LrFinding, find_lr
from .profiler import Profiler
from .random_state import random_state, set_random_state
from .run import EventWriter, Run, RunRecord, environment, list_runs, read_run, write_report
from .steps import Step
from .updates import Updater

__all__ = [
    "Best",
    "Callback",
    "CheckpointError",
    "CheckpointFolder",
    "EarlyStopping",
    "EventWriter",
    "Every",
    "Histograms",
    "History",
    "Last",
    "Learner",
    "LrFinding",
    "NonFiniteLoss",
    "Profiler",
    "Progress",
    "ProgressBar",
    "ProgressLines",
    "Quiet",
    "Rule",
    "Run",
    "RunInUseError",
    "RunRecord",
    "Samples",
    "Step",
    "StopRequest",
    "TrainingError",
    "TrainingState",
    "Updater",
    "When",
    "environment",
    "find_lr",
    "list_runs",
    "metrics",
    "random_state",
    "read_run",
    "set_random_state",
    "write_report",
]
