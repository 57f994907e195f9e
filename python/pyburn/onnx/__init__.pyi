from . import backend as backend
from ._info import Info as Info
from ._info import info as info
from ._model import Model as Model
from ._model import ValueInfo as ValueInfo
from ._model import load as load
from ._session import Session as Session
from ._session import session as session
