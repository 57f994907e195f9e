"""GPT-2 (Radford et al. 2019) under the parameter names of the usual checkpoints, with text generation from a cache.

    python examples/models/gpt2.py model.safetensors 464 3290 318

loads a checkpoint of any of the four sizes and continues the tokens. Tokens are numbers: bring a tokenizer of your own.
"""

from __future__ import annotations

import os
import re
import sys

import pyburn
from pyburn import Tensor, io, nn


class Conv1D(nn.Module):
    """A linear layer whose weight is (inputs, outputs), the other way round than nn.Linear's."""

    def __init__(self, outputs: int, inputs: int, std: float = 0.02) -> None:
        super().__init__()
        self.weight = nn.Parameter(pyburn.empty(inputs, outputs))
        self.bias = nn.Parameter(pyburn.zeros(outputs))
        nn.init.normal_(self.weight, std=std)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class Cache:
    """Keys and values of the tokens so far, one pair of tensors a layer, with room for `length` tokens."""

    def __init__(self, layers: int, batch: int, heads: int, length: int, size: int, like: Tensor) -> None:
        shape = (batch, heads, length, size)
        self.keys = [pyburn.zeros(shape, dtype=like.dtype, device=like.device) for _ in range(layers)]
        self.values = [pyburn.zeros(shape, dtype=like.dtype, device=like.device) for _ in range(layers)]
        self.used = 0

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Adds those of the newest tokens and gives all."""
        end = self.used + key.shape[2]
        self.keys[layer][:, :, self.used : end] = key
        self.values[layer][:, :, self.used : end] = value
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


class GPT2Attention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float, layer: int, layers: int) -> None:
        super().__init__()
        self.heads, self.layer, self.dropout = heads, layer, dropout
        self.c_attn = Conv1D(3 * width, width)
        self.c_proj = Conv1D(width, width, std=0.02 / (2 * layers) ** 0.5)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, cache: Cache | None = None) -> Tensor:
        batch, count, width = x.shape
        query, key, value = (part.view(batch, count, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        mask = None
        if cache is not None:
            key, value = cache.extend(self.layer, key, value)
            if cache.used and count > 1:  # the newest tokens see all of the past, and of themselves what comes before
                mask = pyburn.ones(count, key.shape[2], dtype=pyburn.bool, device=x.device).tril(cache.used)
        dropout = self.dropout if self.training else 0.0
        causal = mask is None and count > 1
        x = nn.functional.scaled_dot_product_attention(query, key, value, mask, dropout, is_causal=causal)
        return self.resid_dropout(self.c_proj(x.transpose(1, 2).reshape(batch, count, width)))


class GPT2MLP(nn.Module):
    def __init__(self, width: int, dropout: float, layers: int) -> None:
        super().__init__()
        self.c_fc = Conv1D(4 * width, width)
        self.c_proj = Conv1D(width, 4 * width, std=0.02 / (2 * layers) ** 0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(nn.functional.gelu(self.c_fc(x), approximate="tanh")))


class GPT2Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float, layer: int, layers: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = GPT2Attention(width, heads, dropout, layer, layers)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = GPT2MLP(width, dropout, layers)

    def forward(self, x: Tensor, cache: Cache | None = None) -> Tensor:
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    """Tokens (N, T) to states (N, T, width)."""

    def __init__(self, vocab_size: int, n_positions: int, n_embd: int, n_layer: int, n_head: int, dropout: float) -> None:
        super().__init__()
        self.wte = nn.utils.skip_init(nn.Embedding, vocab_size, n_embd)
        self.wpe = nn.utils.skip_init(nn.Embedding, n_positions, n_embd)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=0.02)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(GPT2Block(n_embd, n_head, dropout, k, n_layer) for k in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        start = 0 if cache is None else cache.used
        end = start + tokens.shape[1]
        if end > self.wpe.num_embeddings:
            raise ValueError(f"GPT-2 knows {self.wpe.num_embeddings} positions: got {end} tokens")
        x = self.drop(self.wte(tokens) + self.wpe(pyburn.arange(start, end, device=tokens.device)))
        for block in self.h:
            x = block(x, cache)
        if cache is not None:
            cache.used = end
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    """Tokens (N, T) to the logits of the ones that follow, (N, T, vocabulary). The defaults are the smallest model's."""

    def __init__(
        self,
        vocab_size: int = 50257,
        n_positions: int = 1024,
        n_embd: int = 768,
        n_layer: int = 12,
        n_head: int = 12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.n_head = n_head
        self.transformer = GPT2Model(vocab_size, n_positions, n_embd, n_layer, n_head, dropout)
        self.lm_head = nn.utils.skip_init(nn.Linear, n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.transformer.wte.weight  # one matrix at both ends

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> GPT2LMHeadModel:
        """The model of a checkpoint, whose sizes are read off its tensors. Names may lack "transformer."; masks in it are not needed."""
        file = io.open_tensors(path)
        names = {name if re.match(r"transformer\.|lm_head\.", name) else f"transformer.{name}": name for name in file}
        vocab_size, width = file[names["transformer.wte.weight"]].shape
        positions = file[names["transformer.wpe.weight"]].shape[0]
        layers = 1 + max(int(name.split(".")[2]) for name in names if name.startswith("transformer.h."))
        model = nn.utils.skip_init(cls, vocab_size, positions, width, layers, width // 64)
        renamed = {old: new for new, old in names.items()}
        report = io.load_into(model, file, rename=lambda name: renamed[name], strict=False)
        missing = set(report.missing) - {"lm_head.weight"}
        if missing:
            raise ValueError(f"{os.fspath(path)} is no GPT-2: it has no {', '.join(sorted(missing))}")
        return model

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        return self.lm_head(self.transformer(tokens, cache))

    @pyburn.no_grad()
    def generate(
        self, tokens: Tensor, max_new_tokens: int, *, temperature: float = 0.0, top_k: int = 0, eos_token: int | None = None
    ) -> Tensor:
        """The tokens (N, T) with others behind them: the likeliest, or with a temperature above 0, drawn from the `top_k` likeliest.

        Stops early when every row has come to `eos_token`.
        """
        wte = self.transformer.wte.weight
        batch, count = tokens.shape
        length = count + max_new_tokens
        cache = Cache(len(self.transformer.h), batch, self.n_head, length, wte.shape[1] // self.n_head, wte)
        ended = pyburn.zeros(batch, dtype=pyburn.bool, device=tokens.device)
        newest = tokens
        for _ in range(max_new_tokens):
            states = self.transformer(newest, cache)
            newest = _choose(self.lm_head(states[:, -1]), temperature, top_k)
            if eos_token is not None:
                newest = newest.masked_fill(ended[:, None], eos_token)
                ended = ended | (newest[:, 0] == eos_token)
            tokens = pyburn.cat([tokens, newest], dim=1)
            if eos_token is not None and ended.all().item():
                break
        return tokens


def _choose(logits: Tensor, temperature: float, top_k: int) -> Tensor:
    if temperature <= 0:
        return logits.argmax(-1, keepdim=True)
    if top_k:
        best, _ = logits.topk(min(top_k, logits.shape[-1]))
        logits = logits.masked_fill(logits < best[:, -1:], float("-inf"))
    return pyburn.multinomial((logits / temperature).softmax(-1), 1)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    model = GPT2LMHeadModel.from_file(sys.argv[1]).eval()
    tokens = pyburn.tensor([[int(word) for word in sys.argv[2:]]])
    print(*model.generate(tokens, 20)[0].tolist())


if __name__ == "__main__":
    main()
