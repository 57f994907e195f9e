"""Bilinear layers and tables of vectors."""

TABLE = """
Linear(3, 2) | t(4, 3)
Linear(3, 2, bias=False) | t(2, 4, 3)
Bilinear(2, 3, 4) | t(5, 2), t(5, 3)
Bilinear(2, 3, 1, bias=False) | t(2, 2), t(2, 3)
Bilinear(0, 3, 4) ! ValueError
Embedding(5, 3) | tensor([[0, 1], [4, 4]])
Embedding(5, 3, padding_idx=1) | tensor([[0, 1], [4, 4]])
Embedding(5, 3, -1) | tensor([[0, 1], [4, 4]])
Embedding(5, 3, max_norm=0.5) | tensor([0, 1, 4])
Embedding(5, 3, max_norm=1, norm_type=1) | tensor([0, 1, 4])
Embedding(5, 3, scale_grad_by_freq=True) | tensor([0, 1, 4, 4])
Embedding(5, 3, 0, 2.0, 3.0, True) | tensor([0, 1, 4, 4])
Embedding(5, 3) | tensor(2)
Embedding(5, 3) | tensor([5]) ! IndexError
Embedding.from_pretrained(tensor([[1.0, 2.0], [3.0, 4.0]])) | tensor([1, 0])
Embedding.from_pretrained(tensor([[1.0, 2.0], [3.0, 4.0]]), freeze=False, padding_idx=0) | tensor([1, 0])
EmbeddingBag(5, 3) | tensor([[0, 1], [4, 4]])
EmbeddingBag(5, 3, mode='sum') | tensor([[0, 1], [4, 4]])
EmbeddingBag(5, 3, mode='max') | tensor([[0, 1], [4, 3]])
EmbeddingBag(5, 3, mode='sum') | tensor([0, 1, 4, 4]), tensor([0, 1])
EmbeddingBag(5, 3, mode='sum', include_last_offset=True) | tensor([0, 1, 4, 4]), tensor([0, 1, 4])
EmbeddingBag(5, 3, mode='sum') | tensor([[0, 1], [4, 4]]), None, t(2, 2)
EmbeddingBag(5, 3, padding_idx=1) | tensor([[0, 1], [4, 4]])
EmbeddingBag(5, 3, 0.5, 1.0, True, 'mean') | tensor([[0, 1], [4, 2]])
EmbeddingBag(5, 3, mode='median') | tensor([[0, 1]]) ! ValueError
"""
