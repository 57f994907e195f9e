"""Recurrent layers and their cells."""

from .._core._nn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .families import RNNBase, RNNCellBase

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
