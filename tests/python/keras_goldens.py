"""Layers, losses and optimisers with Keras's results, as tools/make_keras_goldens.py has written them down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import p_vision

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
GOLDENS = np.load(GOLDEN / "keras.npz", allow_pickle=False)
INDEX = json.loads(GOLDENS["index"].tobytes())


def arrays(key: str, kind: str) -> list[Any]:
    return [GOLDENS[f"{key}/{kind}{i}"] for i in range(100) if f"{key}/{kind}{i}" in GOLDENS]


def title(entry: dict[str, Any]) -> str:
    return f"{entry.get('class', entry.get('name', entry.get('optimizer')))}-{entry.get('arguments')}"


def make(entry: dict[str, Any]) -> Any:
    inner = [getattr(p_vision, entry["inner"][0])(**entry["inner"][1])] if "inner" in entry else []
    return getattr(p_vision, entry["class"])(*inner, **entry["arguments"])
