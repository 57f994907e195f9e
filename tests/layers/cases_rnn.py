"""Recurrent layers."""

TABLE = """
RNN(3, 2) | t(4, 2, 3)
RNN(3, 2) | t(4, 3)
RNN(3, 2) | t(4, 2, 3), t(1, 2, 2)
RNN(3, 2, 2, 'relu') | t(4, 2, 3)
RNN(3, 2, nonlinearity='relu', bias=False) | t(4, 2, 3), t(1, 2, 2)
RNN(3, 2, batch_first=True, bidirectional=True) | t(2, 4, 3), t(2, 2, 2)
RNN(3, 2, num_layers=2, dropout=0.5) | t(4, 2, 3) | eval
RNN(3, 2, nonlinearity='sine') ! ValueError
RNN(3, 2) | t(4, 2, 2) ! RuntimeError
RNN(3, 2) | t(4, 2, 3), t(1, 1, 2) ! RuntimeError
RNN(3, 2) | t(4) ! ValueError
GRU(3, 2) | t(4, 2, 3)
GRU(3, 2) | t(4, 3), t(1, 2)
GRU(3, 2, 2, False, True, 0.25, True) | t(2, 4, 3) | eval
GRU(3, 2, num_layers=2, bidirectional=True) | t(4, 2, 3), t(4, 2, 2)
GRU(3, 2, bias=False) | t(4, 1, 3)
GRU(3, 2, batch_first=True) | t(4, 3)
LSTM(3, 2) | t(4, 2, 3)
LSTM(3, 2) | t(4, 2, 3), (t(1, 2, 2), t(1, 2, 2))
LSTM(3, 2) | t(4, 3), (t(1, 2), t(1, 2))
LSTM(3, 2, 2, bidirectional=True) | t(4, 2, 3)
LSTM(3, 2, 2, False, True) | t(2, 4, 3)
LSTM(3, 4, proj_size=2) | t(4, 2, 3)
LSTM(3, 4, 2, proj_size=2, bidirectional=True, batch_first=True) | t(2, 4, 3), (t(4, 2, 2), t(4, 2, 4))
LSTM(3, 2, 3, dropout=0.5) | t(4, 2, 3) | eval
LSTM(3, 2, dropout=1.5) ! ValueError
LSTM(3, 2, proj_size=2) ! ValueError
LSTM(3, 0) ! ValueError
LSTM(3) ! TypeError
LSTM(3, 2) | t(4, 2, 3), (t(1, 2, 3), t(1, 2, 2)) ! RuntimeError
RNNCell(3, 2) | t(4, 3)
RNNCell(3, 2, bias=False, nonlinearity='relu') | t(4, 3), t(4, 2)
RNNCell(3, 2) | t(3), t(2)
RNNCell(3, 2) | t(2, 2, 3) ! ValueError
GRUCell(3, 2) | t(4, 3)
GRUCell(3, 2, False) | t(4, 3), t(4, 2)
GRUCell(3, 2) | t(3)
LSTMCell(3, 2) | t(4, 3)
LSTMCell(3, 2, bias=False) | t(4, 3), (t(4, 2), t(4, 2))
LSTMCell(3, 2) | t(3), (t(2), t(2))
"""
