from . import backend as backend
from ._model import Model as Model
from ._model import ValueInfo as ValueInfo
from ._model import load as load
from ._export import export as export
