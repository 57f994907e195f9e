"""EEGNet learns to tell a 10 Hz rhythm from a 20 Hz rhythm in noise: synthetic signals, no recordings needed.

python examples/eeg/rhythms.py
"""

from __future__ import annotations

import math

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.eeg import EEGNet


def rhythms(count: int, channels: int = 8, times: int = 256, rate: int = 128) -> tuple[Tensor, Tensor]:
    """Noise with a 10 Hz wave in the first half of the electrodes (class 0) or a 20 Hz wave in the second half (class 1)."""
    labels = pyburn.randint(0, 2, (count,))
    t = pyburn.arange(times) / rate
    phase = pyburn.rand(count, 1) * 2 * math.pi
    wave = (2 * math.pi * (10 + 10 * labels[:, None]) * t + phase).sin()
    signal = pyburn.randn(count, channels, times)
    half = channels // 2
    strength = pyburn.cat([(1.0 - labels)[:, None].expand(count, half), labels[:, None].float().expand(count, channels - half)], 1)
    return signal + strength[:, :, None] * wave[:, None], labels


def main() -> None:
    pyburn.manual_seed(0)
    model = EEGNet(8, 2, 256)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    for step in range(40):
        signal, labels = rhythms(32)
        loss = nn.functional.cross_entropy(model.train()(signal), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1:3}  loss {loss.item():.3f}")
    signal, labels = rhythms(200)
    with pyburn.no_grad():
        right = (model.eval()(signal).argmax(1) == labels).float().mean().item()
    print(f"accuracy {right:.0%} on 200 test trials")


if __name__ == "__main__":
    main()
