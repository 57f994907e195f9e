"""Text: trainable tokenizers, vocabularies, batches of sequences."""

from .byte_pairs import BytePairTokeniser
from .sequences import BlockDataset, length_batches, pad_batch
from .tokenisers import CharTokeniser, Tokeniser, WordTokeniser, load_tokeniser
from .vocabulary import Vocabulary

__all__ = [
    "BlockDataset",
    "BytePairTokeniser",
    "CharTokeniser",
    "Tokeniser",
    "Vocabulary",
    "WordTokeniser",
    "length_batches",
    "load_tokeniser",
    "pad_batch",
]
