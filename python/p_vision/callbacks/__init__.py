"""Callbacks for training, evaluation and prediction."""

from .adapter import KerasCallbacks as KerasCallbacks
from .callback import Callback as Callback
from .callback import History as History
from .monitors import EarlyStopping as EarlyStopping
from .monitors import ModelCheckpoint as ModelCheckpoint
from .monitors import ReduceLROnPlateau as ReduceLROnPlateau
from .progress import ProgbarLogger as ProgbarLogger
from .runs import BackupAndRestore as BackupAndRestore
from .runs import RemoteMonitor as RemoteMonitor
from .runs import SwapEMAWeights as SwapEMAWeights
from .runs import TensorBoard as TensorBoard
from .small import CSVLogger as CSVLogger
from .small import LambdaCallback as LambdaCallback
from .small import LearningRateScheduler as LearningRateScheduler
from .small import TerminateOnNaN as TerminateOnNaN

CallbackList = KerasCallbacks
