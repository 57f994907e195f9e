"""EEG: EDF and BDF recordings, filters and augmentation, data sets, and EEGNet.

>>> from pyburn import eeg
>>> eeg.BandPass(8.0, 30.0, sfreq=160)(pyburn.zeros(3, 400)).shape
pyburn.Size([3, 400])
"""

from .edf import Annotation, EDFRecording, read_edf
from .filters import butterworth, notch, resample, sosfilt, sosfiltfilt
from .models import EEGNet
from .sets import PhysioNetMotorImagery, SelfPaced1s, TrialSet
from .transforms import (
    BandPass,
    ChannelDropout,
    FourierSurrogate,
    Notch,
    Resample,
    Standardize,
    TimeReverse,
    TimeShift,
    epochs,
)

__all__ = [
    "Annotation",
    "BandPass",
    "ChannelDropout",
    "EDFRecording",
    "EEGNet",
    "FourierSurrogate",
    "Notch",
    "PhysioNetMotorImagery",
    "Resample",
    "SelfPaced1s",
    "Standardize",
    "TimeReverse",
    "TimeShift",
    "TrialSet",
    "butterworth",
    "epochs",
    "notch",
    "read_edf",
    "resample",
    "sosfilt",
    "sosfiltfilt",
]
