from .base import _LRScheduler as _LRScheduler
from .base import LRScheduler as LRScheduler
from .combined import ChainedScheduler as ChainedScheduler
from .combined import SequentialLR as SequentialLR
from .curves import plot as plot
from .curves import rates as rates
from .cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cycles import CyclicLR as CyclicLR
from .cycles import OneCycleLR as OneCycleLR
from .factors import ConstantLR as ConstantLR
from .factors import CosineAnnealingLR as CosineAnnealingLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LambdaLR as LambdaLR
from .factors import LinearLR as LinearLR
from .factors import MultiStepLR as MultiStepLR
from .factors import MultiplicativeLR as MultiplicativeLR
from .factors import NoamLR as NoamLR
from .factors import PolynomialLR as PolynomialLR
from .factors import Schedule as Schedule
from .factors import ScheduledLR as ScheduledLR
from .factors import StepLR as StepLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau

EPOCH_DEPRECATION_WARNING: str
__all__: list[str]
