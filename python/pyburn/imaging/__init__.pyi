from .models import UNet as UNet
from .sets import Membrane as Membrane
from .windows import RandomCrops as RandomCrops
from .windows import sliding_window as sliding_window
