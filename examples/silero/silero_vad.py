"""Silero VAD: where somebody speaks in a recording, from the model's safetensors file or one of its ONNX files.

    python examples/silero/silero_vad.py silero_vad_16k.safetensors recording.wav
    python examples/silero/silero_vad.py silero_vad.onnx recording.wav --picture speech.png

The recording goes through the model in chunks of 32 ms, as it would come from a microphone; the LSTM's state and the last 4 ms of
samples are carried from chunk to chunk.
"""

from __future__ import annotations

import argparse
import os
import wave
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import pyburn
from pyburn import Tensor, io, nn

RATE, CHUNK, CONTEXT = 16000, 512, 64


class SileroVAD(nn.Module):
    """Samples (N, 64 + 512) and the LSTM's state to the probability of speech (N) and the new state. The first 64 are the context."""

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.conv1 = nn.Conv1d(129, 128, 3, padding=1)
        self.conv2 = nn.Conv1d(128, 64, 3, stride=2, padding=1)
        self.conv3 = nn.Conv1d(64, 64, 3, stride=2, padding=1)
        self.conv4 = nn.Conv1d(64, 128, 3, padding=1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> SileroVAD:
        model = nn.utils.skip_init(cls)
        io.load_into(model, path)
        return model.eval()

    def forward(self, samples: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        x = nn.functional.pad(samples, (0, 64), mode="reflect")
        spectrum = self.stft_conv(x.unsqueeze(1))
        x = (spectrum[:, :129].square() + spectrum[:, 129:].square()).sqrt()
        for conv in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = conv(x).relu()
        state = self.lstm_cell(x.squeeze(-1), state)
        x = self.final_conv(state[0].unsqueeze(-1).relu())
        return x.sigmoid().flatten(1).mean(1), state


class Listener:
    """Runs the model on one chunk after another."""

    def __init__(self, model: SileroVAD) -> None:
        self.model = model
        self.state: tuple[Tensor, Tensor] | None = None
        self.context = pyburn.zeros(1, CONTEXT)

    @pyburn.no_grad()
    def hear(self, chunk: np.ndarray) -> float:
        """The probability of speech in the next 512 samples; a shorter last chunk is filled with silence."""
        chunk = np.pad(chunk.astype(np.float32), (0, CHUNK - len(chunk)))
        samples = pyburn.cat([self.context, pyburn.from_numpy(chunk)[None]], dim=1)
        probability, self.state = self.model(samples, self.state)
        self.context = samples[:, -CONTEXT:]
        return probability.item()


class OnnxListener:
    """The same with an ONNX file: of any release since the fifth, with one state or with two, with or without a sampling rate."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.session = pyburn.onnx.session(path)
        self.context = pyburn.zeros(1, CONTEXT)
        self.states = {
            value.name: pyburn.zeros(*(n if isinstance(n, int) else 1 for n in value.shape or ()))
            for value in self.session.inputs
            if value.name not in ("input", "sr")
        }
        self.rate = {value.name: pyburn.tensor(RATE) for value in self.session.inputs if value.name == "sr"}

    def hear(self, chunk: np.ndarray) -> float:
        """As Listener.hear."""
        chunk = np.pad(chunk.astype(np.float32), (0, CHUNK - len(chunk)))
        samples = pyburn.cat([self.context, pyburn.from_numpy(chunk)[None]], dim=1)
        probability, *states = self.session.run({"input": samples, **self.states, **self.rate}).values()
        self.states = dict(zip(self.states, states, strict=True))
        self.context = samples[:, -CONTEXT:]
        return probability.item()


@dataclass
class Segments:
    """Turns probabilities, one a chunk, into segments of speech, as they come. Times are in seconds.

    Speech begins where the probability reaches `threshold`, and ends where it has been below `threshold - 0.15` for `min_silence`.
    """

    threshold: float = 0.5
    min_speech: float = 0.25
    min_silence: float = 0.1
    pad: float = 0.03
    step: float = CHUNK / RATE
    chunk: int = 0
    begun: int | None = None
    quiet_since: int | None = None
    found: list[tuple[float, float]] = field(default_factory=list)

    def add(self, probability: float) -> None:
        if probability >= self.threshold:
            self.quiet_since = None
            if self.begun is None:
                self.begun = self.chunk
        elif self.begun is not None and probability < self.threshold - 0.15:
            if self.quiet_since is None:
                self.quiet_since = self.chunk
            if (self.chunk - self.quiet_since) * self.step >= self.min_silence:
                self._end(self.quiet_since * self.step)
        self.chunk += 1

    def finish(self, duration: float) -> list[tuple[float, float]]:
        """All segments of a recording of this length."""
        self._end(duration)
        return [(max(0.0, start - self.pad), min(duration, end + self.pad)) for start, end in self.found]

    def _end(self, end: float) -> None:
        if self.begun is not None and end - self.begun * self.step >= self.min_speech:
            self.found.append((self.begun * self.step, end))
        self.begun = self.quiet_since = None


def read_wav(path: str | os.PathLike[str]) -> np.ndarray:
    """The samples of a 16-bit recording at 16 kHz, between -1 and 1; several channels are averaged."""
    with wave.open(os.fspath(path)) as file:
        if file.getsampwidth() != 2 or file.getframerate() != RATE:
            raise ValueError(f"expected 16 bits at {RATE} Hz: got {8 * file.getsampwidth()} bits at {file.getframerate()} Hz")
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
    return samples.mean(1, dtype=np.float32) / 32768


def chunks(samples: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(samples), CHUNK):
        yield samples[start : start + CHUNK]


def draw(samples: np.ndarray, probabilities: list[float], segments: list[tuple[float, float]], path: Path) -> None:
    """Draws the loudness of the recording, the segments behind it, and the probability of speech below."""
    from PIL import Image, ImageDraw, ImageFont

    width, height, base = 960, 300, 110
    picture = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(picture)
    seconds = len(samples) / RATE
    for start, end in segments:
        pen.rectangle([start / seconds * width, 20, end / seconds * width, 200], fill="#d3f9d8")
    for x, part in enumerate(np.array_split(samples, width)):
        loud = 85 * float(np.abs(part).max(initial=0) / np.abs(samples).max())
        pen.line([x, base - loud, x, base + loud], fill="#4263eb")
    points = [((i + 0.5) * width / len(probabilities), 280 - 60 * p) for i, p in enumerate(probabilities)]
    pen.line(points, fill="#2b8a3e", width=2)
    pen.text((8, 206), "probability of speech", "#2b8a3e", ImageFont.load_default(12))
    for second in range(0, int(seconds) + 1, 5):
        pen.text((second / seconds * width + 2, 284), f"{second} s", "#868e96", ImageFont.load_default(11))
    picture.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    folder = Path(os.environ.get("PYBURN_DATA", ".")) / "models"
    parser.add_argument("weights", nargs="?", default=folder / "silero_vad_16k.safetensors")
    parser.add_argument("recording", nargs="?", default=folder / "silero_test.wav")
    parser.add_argument("--picture", type=Path, help="draw the recording with its segments, into this PNG file")
    arguments = parser.parse_args()
    is_onnx = Path(arguments.weights).suffix == ".onnx"
    listener = OnnxListener(arguments.weights) if is_onnx else Listener(SileroVAD.from_file(arguments.weights))
    samples = read_wav(arguments.recording)
    segments = Segments()
    probabilities = [listener.hear(chunk) for chunk in chunks(samples)]
    for probability in probabilities:
        segments.add(probability)
    found = segments.finish(len(samples) / RATE)
    for start, end in found:
        print(f"{start:7.2f} s to {end:7.2f} s")
    if arguments.picture:
        draw(samples, probabilities, found, arguments.picture)


if __name__ == "__main__":
    main()
