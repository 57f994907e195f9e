from ._layers import Embedding as Embedding
from ._layers import EmbeddingBag as EmbeddingBag
