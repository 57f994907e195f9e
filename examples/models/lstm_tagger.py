"""The part-of-speech tagger of PyTorch's tutorial: word embeddings, an LSTM, and a linear layer.

    python examples/models/lstm_tagger.py

trains it on the tutorial's two sentences and tags the first one.
"""

from __future__ import annotations

import pyburn
from pyburn import Tensor, nn, optim


class LSTMTagger(nn.Module):
    """A sentence (words) to the logarithms of the probabilities of tags (words, tags)."""

    def __init__(self, embedding_dim: int, hidden_dim: int, vocab_size: int, tagset_size: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)
        self.hidden2tag = nn.Linear(hidden_dim, tagset_size)

    def forward(self, sentence: Tensor) -> Tensor:
        words = self.word_embeddings(sentence)
        states, _ = self.lstm(words.view(len(sentence), 1, -1))
        return nn.functional.log_softmax(self.hidden2tag(states.view(len(sentence), -1)), dim=1)


def main() -> None:
    sentences = [
        (["The", "dog", "ate", "the", "apple"], ["DET", "NN", "V", "DET", "NN"]),
        (["Everybody", "read", "that", "book"], ["NN", "V", "DET", "NN"]),
    ]
    words = {word: k for k, word in enumerate(dict.fromkeys(word for sentence, _ in sentences for word in sentence))}
    tags = ["DET", "NN", "V"]
    pyburn.manual_seed(1)
    model = LSTMTagger(6, 6, len(words), len(tags))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(300):
        for sentence, named in sentences:
            scores = model(pyburn.tensor([words[word] for word in sentence]))
            loss = nn.functional.nll_loss(scores, pyburn.tensor([tags.index(tag) for tag in named]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with pyburn.no_grad():
        best = model(pyburn.tensor([words[word] for word in sentences[0][0]])).argmax(1)
    print(" ".join(f"{word}/{tags[k]}" for word, k in zip(sentences[0][0], best.tolist())))


if __name__ == "__main__":
    main()
