"""Training: the Learner, and its parts for custom training loops.

Metrics, checkpoints, run folders, progress displays, mixed precision with gradient accumulation and clipping, and Ctrl-C handling are
separate classes that work without a Learner.
"""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
