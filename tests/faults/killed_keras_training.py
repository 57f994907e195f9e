"""p_vision's fit with a backup, which may be killed at any time: python killed_keras_training.py FOLDER DELAY."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import numpy as np

import p_vision as keras

EPOCHS = 8


def main(folder: Path, delay: float) -> None:
    keras.utils.set_random_seed(5)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((48, 6)).astype(np.float32)
    y = (x.sum(1) > 0).astype(np.int64)
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(12, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    callbacks = [
        keras.callbacks.CSVLogger(folder / "log.csv", append=True),
        keras.callbacks.BackupAndRestore(folder / "backup", delete_checkpoint=False),
        keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(delay)),
    ]
    model.fit(x, y, batch_size=8, epochs=EPOCHS, verbose=0, callbacks=callbacks)
    found = hashlib.sha256(b"".join(np.asarray(w).tobytes() for w in model.get_weights()))
    print("digest:", found.hexdigest(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
