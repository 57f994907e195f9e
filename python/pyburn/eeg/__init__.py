"""EEG: EDF and BDF recordings, filters and augmentation, data sets, and EEGNet.

>>> from pyburn import eeg
>>> eeg.BandPass(8.0, 30.0, sfreq=160)(pyburn.zeros(3, 400)).shape
pyburn.Size([3, 400])
"""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
