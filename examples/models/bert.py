"""BERT (Devlin et al. 2018) under the parameter names of the usual checkpoints.

from bert import BertModel
model = BertModel.from_file("bert-base-uncased/model.safetensors").eval()
states, pooled = model(tokens, attention_mask)
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pyburn
from pyburn import Tensor, io, nn


class BertOutput(NamedTuple):
    last_hidden_state: Tensor  # (N, T, width)
    pooler_output: Tensor | None  # (N, width): the first token's, through a linear layer and tanh


class BertEmbeddings(nn.Module):
    def __init__(self, vocab: int, width: int, positions: int, types: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, width, padding_idx=0)
        self.position_embeddings = nn.Embedding(positions, width)
        self.token_type_embeddings = nn.Embedding(types, width)
        self.LayerNorm = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, types: Tensor | None) -> Tensor:
        positions = pyburn.arange(tokens.shape[1], device=tokens.device)
        types = pyburn.zeros_like(tokens) if types is None else types
        x = self.word_embeddings(tokens) + self.token_type_embeddings(types) + self.position_embeddings(positions)
        return self.dropout(self.LayerNorm(x))


class BertSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, count, width = x.shape
        query, key, value = (layer(x).view(batch, count, self.heads, -1).transpose(1, 2) for layer in (self.query, self.key, self.value))
        dropout = self.dropout if self.training else 0.0
        x = nn.functional.scaled_dot_product_attention(query, key, value, mask, dropout)
        return x.transpose(1, 2).reshape(batch, count, width)


class BertResidual(nn.Module):
    """A linear layer, added to what came before, and a norm."""

    def __init__(self, inputs: int, width: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, width)
        self.LayerNorm = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + before)


class BertAttention(nn.Module):
    def __init__(self, width: int, heads: int, eps: float, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.self = BertSelfAttention(width, heads, attention_dropout)
        self.output = BertResidual(width, width, eps, dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.output(self.self(x, mask), x)


class BertIntermediate(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, inner)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.gelu(self.dense(x))


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int, eps: float, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.attention = BertAttention(width, heads, eps, dropout, attention_dropout)
        self.intermediate = BertIntermediate(width, inner)
        self.output = BertResidual(inner, width, eps, dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class BertEncoder(nn.Module):
    def __init__(self, layers: list[BertLayer]) -> None:
        super().__init__()
        self.layer = nn.ModuleList(layers)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class BertPooler(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, states: Tensor) -> Tensor:
        return self.dense(states[:, 0]).tanh()


class BertModel(nn.Module):
    """Tokens (N, T) to states. The attention mask (N, T) is 1 for tokens and 0 for padding. The defaults are BERT-base's."""

    def __init__(
        self,
        vocab_size: int = 30522,
        hidden_size: int = 768,
        num_hidden_layers: int = 12,
        num_attention_heads: int = 12,
        intermediate_size: int = 3072,
        max_position_embeddings: int = 512,
        type_vocab_size: int = 2,
        layer_norm_eps: float = 1e-12,
        hidden_dropout_prob: float = 0.1,
        attention_probs_dropout_prob: float = 0.1,
        add_pooling_layer: bool = True,
    ) -> None:
        super().__init__()
        width, eps, dropout = hidden_size, layer_norm_eps, hidden_dropout_prob
        self.embeddings = BertEmbeddings(vocab_size, width, max_position_embeddings, type_vocab_size, eps, dropout)
        self.encoder = BertEncoder(
            [
                BertLayer(width, num_attention_heads, intermediate_size, eps, dropout, attention_probs_dropout_prob)
                for _ in range(num_hidden_layers)
            ]
        )
        self.pooler = BertPooler(width) if add_pooling_layer else None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], num_attention_heads: int | None = None) -> BertModel:
        """The model of a checkpoint, whose sizes are read off its tensors; heads have 64 features unless their number is given. What
        belongs to other tasks in the file is left there."""
        file = io.open_tensors(path)
        # Checkpoints of models with a head say "bert." first; those of the first release call the scales of norms gamma and beta.
        rename = {r"^bert\.": "", r"\.gamma$": ".weight", r"\.beta$": ".bias"}
        shapes = {name.removeprefix("bert."): tensor.shape for name, tensor in file.items()}
        vocab_size, width = shapes["embeddings.word_embeddings.weight"]
        layers = 1 + max(int(name.split(".")[2]) for name in shapes if name.startswith("encoder.layer."))
        model = nn.utils.skip_init(
            cls,
            vocab_size,
            width,
            layers,
            num_attention_heads or width // 64,
            shapes["encoder.layer.0.intermediate.dense.weight"][0],
            shapes["embeddings.position_embeddings.weight"][0],
            shapes["embeddings.token_type_embeddings.weight"][0],
            add_pooling_layer="pooler.dense.weight" in shapes,
        )
        report = io.load_into(model, file, rename=rename, strict=False)
        if report.missing:
            raise ValueError(f"{os.fspath(path)} is no BERT: it has no {', '.join(report.missing)}")
        return model

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None) -> BertOutput:
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        states = self.encoder(self.embeddings(tokens, token_type_ids), mask)
        return BertOutput(states, None if self.pooler is None else self.pooler(states))


class BertForSequenceClassification(nn.Module):
    """BERT with a linear layer over the pooled output, to be fine-tuned."""

    def __init__(self, bert: BertModel, num_labels: int, dropout: float = 0.1) -> None:
        super().__init__()
        if bert.pooler is None:
            raise ValueError("expected a BERT with a pooling layer")
        self.bert = bert
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(bert.embeddings.word_embeddings.embedding_dim, num_labels)

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None) -> Tensor:
        return self.classifier(self.dropout(self.bert(tokens, attention_mask, token_type_ids).pooler_output))
