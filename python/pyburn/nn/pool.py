"""Pooling layers."""

from ._layers import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from ._layers import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from ._layers import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from ._layers import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from ._layers import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from ._layers import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from ._layers import AvgPool1d as AvgPool1d
from ._layers import AvgPool2d as AvgPool2d
from ._layers import AvgPool3d as AvgPool3d
from ._layers import FractionalMaxPool2d as FractionalMaxPool2d
from ._layers import FractionalMaxPool3d as FractionalMaxPool3d
from ._layers import LPPool1d as LPPool1d
from ._layers import LPPool2d as LPPool2d
from ._layers import LPPool3d as LPPool3d
from ._layers import MaxPool1d as MaxPool1d
from ._layers import MaxPool2d as MaxPool2d
from ._layers import MaxPool3d as MaxPool3d
from ._layers import MaxUnpool1d as MaxUnpool1d
from ._layers import MaxUnpool2d as MaxUnpool2d
from ._layers import MaxUnpool3d as MaxUnpool3d
