from .._core._nn import GRU as GRU
from .._core._nn import GRUCell as GRUCell
from .._core._nn import LSTM as LSTM
from .._core._nn import LSTMCell as LSTMCell
from .._core._nn import RNN as RNN
from .._core._nn import RNNBase as RNNBase
from .._core._nn import RNNCell as RNNCell
from .._core._nn import RNNCellBase as RNNCellBase
