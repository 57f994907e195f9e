"""p_vision: a Keras-style model API on every backend of pyburn.

    from p_vision import Sequential, Input, Dense, googlenet, backend

    model = Sequential(backend="NdArray")
    model.add(Input(shape=(16,)))
    model.add(Dense(8))
    model = googlenet(backend.NDARRAY)
    history = model.train(train_data, epochs=2)

Names are imported lazily on first access; `names.py` maps each name to its module.
"""

from pyburn import __version__
from pyburn._on_demand import on_demand as _on_demand

from .names import MODULES as _MODULES
from .names import PLACES as _PLACES

# The module `backend` replaces itself by the enumeration of that name.
_found_in = {name: module for name, module in _PLACES.items() if module != name}
__getattr__, __dir__ = _on_demand(__name__, *_MODULES, "backend", places=_found_in)
__all__ = [*_MODULES, *_PLACES, "__version__"]
