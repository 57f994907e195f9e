"""Losses."""

from __future__ import annotations

from typing import Any


def transducer(logits: Any, targets: Any, times: Any, counts: Any, blank: int = 0) -> Any:
    """What RNNTLoss computes, written plainly: the chance of a place from those of the two places before it, one sample after another."""
    import torch

    losses = []
    for x, target, time, count in zip(logits.log_softmax(-1), targets.tolist(), times.tolist(), counts.tolist()):
        reached = {(0, 0): torch.zeros(())}
        for t in range(time):
            for u in range(count + 1):
                ways = [reached[t - 1, u] + x[t - 1, u, blank]] if t else []
                ways += [reached[t, u - 1] + x[t, u - 1, target[u - 1]]] if u else []
                if ways:
                    reached[t, u] = torch.stack(ways).logsumexp(0)
        losses.append(-reached[time - 1, count] - x[time - 1, count, blank])
    return torch.stack(losses)


TABLE = """
L1Loss() | t(2, 3), t(2, 3)
L1Loss(reduction='sum') | t(2, 3), t(2, 3)
L1Loss(reduction='none') | t(2, 3), t(2, 3)
L1Loss(size_average=False) | t(2, 3), t(2, 3)
L1Loss(None, False) | t(2, 3), t(2, 3)
L1Loss(True, True, 'none') | t(2, 3), t(2, 3)
L1Loss(reduction='all') | t(2, 3), t(2, 3) ! ValueError
MSELoss() | t(2, 3), t(2, 3)
MSELoss(reduction='sum') | t(2, 3), t(2, 3)
MSELoss(reduction='none') | t(2, 3), t(2, 3)
MSELoss(reduce=False) | t(2, 3), t(2, 3)
SmoothL1Loss() | t(2, 3), t(2, 3)
SmoothL1Loss(reduction='sum', beta=0.5) | t(2, 3), t(2, 3)
SmoothL1Loss(beta=0) | t(2, 3), t(2, 3)
HuberLoss() | t(2, 3), t(2, 3)
HuberLoss('none', 0.5) | t(2, 3), t(2, 3)
KLDivLoss() | t(2, 3), positive(2, 3)
KLDivLoss(reduction='batchmean') | t(2, 3), positive(2, 3)
KLDivLoss(reduction='sum', log_target=True) | t(2, 3), t(2, 3)
PoissonNLLLoss() | t(2, 3), positive(2, 3)
PoissonNLLLoss(log_input=False, full=False, eps=0.5) | positive(2, 3), positive(2, 3)
PoissonNLLLoss(True, True, reduction='none') | t(2, 3), tensor([[0.5, 2.0, 3.0], [1.0, 4.0, 7.0]])
PoissonNLLLoss(True, False, False) | t(2, 3), positive(2, 3)
GaussianNLLLoss() | t(2, 3), t(2, 3), positive(2, 3)
GaussianNLLLoss(full=True, eps=0.5, reduction='sum') | t(2, 3), t(2, 3), positive(2, 1)
GaussianNLLLoss(reduction='none') | t(2, 3), t(2, 3), 0.25
GaussianNLLLoss(True) ! TypeError
HingeEmbeddingLoss() | t(2, 3), signs(2, 3)
HingeEmbeddingLoss(0.5, reduction='sum') | t(2, 3), signs(2, 3)
HingeEmbeddingLoss(margin=2, reduction='none') | t(2, 3), signs(2, 3)
SoftMarginLoss() | t(2, 3), signs(2, 3)
SoftMarginLoss(reduction='none') | t(2, 3), signs(2, 3)
MarginRankingLoss() | t(4), t(4), signs(4)
MarginRankingLoss(0.5, reduction='sum') | t(4), t(4), signs(4)
CosineEmbeddingLoss() | t(4, 3), t(4, 3), signs(4)
CosineEmbeddingLoss(margin=0.25, reduction='none') | t(4, 3), t(4, 3), signs(4)
TripletMarginLoss() | t(4, 3), t(4, 3), t(4, 3)
TripletMarginLoss(0.5, 1, 0.01, True, reduction='sum') | t(4, 3), t(4, 3), t(4, 3)
TripletMarginLoss(margin=2.0, swap=True, reduction='none') | t(4, 3), t(4, 3), t(4, 3)
TripletMarginLoss(margin=-1) ! ValueError
NLLLoss() | t(4, 3), ints(0, 3, 4)
NLLLoss(tensor([1.0, 2.0, 0.5])) | t(4, 3), ints(0, 3, 4)
NLLLoss(ignore_index=1, reduction='sum') | t(4, 3), ints(0, 3, 4)
NLLLoss(weight=tensor([1.0, 2.0, 0.5]), reduction='none') | t(2, 3, 2, 2), ints(0, 3, 2, 2, 2)
NLLLoss(None, False) | t(3), tensor(1)
NLLLoss2d() | t(2, 3, 2, 2), ints(0, 3, 2, 2, 2)
CrossEntropyLoss() | t(4, 3), ints(0, 3, 4)
CrossEntropyLoss(tensor([1.0, 2.0, 0.5])) | t(4, 3), ints(0, 3, 4)
CrossEntropyLoss(weight=tensor([1.0, 2.0, 0.5]), label_smoothing=0.25) | t(4, 3), ints(0, 3, 4)
CrossEntropyLoss(ignore_index=2, reduction='sum') | t(2, 3, 4), ints(0, 3, 2, 4)
CrossEntropyLoss(reduction='none') | t(4, 3), unit(4, 3)
CrossEntropyLoss(None, None, -100, None, 'none', 0.5) | t(3), tensor(2)
CrossEntropyLoss(size_average=False, reduce=True) | t(4, 3), ints(0, 3, 4)
BCELoss() | unit(2, 3), unit(2, 3)
BCELoss(tensor([1.0, 2.0, 0.5]), reduction='none') | unit(2, 3), unit(2, 3)
BCELoss(reduction='sum') | unit(2, 3), unit(2, 3)
BCEWithLogitsLoss() | t(2, 3), unit(2, 3)
BCEWithLogitsLoss(tensor([1.0, 2.0, 0.5]), reduction='none') | t(2, 3), unit(2, 3)
BCEWithLogitsLoss(pos_weight=tensor([1.0, 2.0, 0.5]), reduction='sum') | t(2, 3), unit(2, 3)
TripletMarginWithDistanceLoss() | t(4, 3), t(4, 3), t(4, 3)
TripletMarginWithDistanceLoss(distance_function=nn.CosineSimilarity(), margin=0.5, swap=True, reduction='sum') | t(4, 3), t(4, 3), t(4, 3)
TripletMarginWithDistanceLoss(margin=0) ! ValueError
MultiLabelMarginLoss() | t(2, 4), tensor([[3, 0, -1, 1], [1, -1, 0, 2]])
MultiLabelMarginLoss(reduction='none') | t(2, 4), tensor([[3, 0, -1, 1], [1, -1, 0, 2]])
MultiLabelSoftMarginLoss() | t(2, 3), unit(2, 3)
MultiLabelSoftMarginLoss(tensor([1.0, 2.0, 0.5]), reduction='sum') | t(2, 3), unit(2, 3)
MultiMarginLoss() | t(4, 3), ints(0, 3, 4)
MultiMarginLoss(2, 0.5, tensor([1.0, 2.0, 0.5]), reduction='none') | t(4, 3), ints(0, 3, 4)
MultiMarginLoss(3) ! ValueError
CTCLoss() | t(5, 2, 4).log_softmax(-1), ints(1, 4, 2, 3), tensor([5, 4]), tensor([3, 2])
CTCLoss(blank=3, reduction='sum', zero_infinity=True) | t(2, 2, 4).log_softmax(-1), ints(0, 3, 2, 3), (2, 2), (3, 1)
CTCLoss(reduction='none') | t(4, 3).log_softmax(-1), ints(1, 3, 2), tensor(4), tensor(2)
AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6]) | t(5, 8), ints(0, 10, 5)
AdaptiveLogSoftmaxWithLoss(8, 10, [2], div_value=2.0, head_bias=True) | t(4, 8), ints(0, 2, 4)
AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6]) | t(8), tensor(7)
AdaptiveLogSoftmaxWithLoss(8, 10, [6, 3]) ! ValueError
AdaptiveLogSoftmaxWithLoss(8, 10, [3]) | t(1, 8), tensor([10]) ! RuntimeError
LpLoss(2) ~ torch.nn.MSELoss() | t(2, 3), t(2, 3)
LpLoss(3, 'sum') ~ lambda x, y: (x - y).abs().pow(3).sum() | t(2, 3), t(2, 3)
LpLoss(1.5, reduction='none') ~ lambda x, y: (x - y).abs().pow(1.5) | t(2, 3), t(2, 3)
RNNTLoss() ~ lambda *x: transducer(*x).mean() | t(2, 3, 4, 5), ints(1, 5, 2, 3), tensor([3, 2]), tensor([3, 1])
RNNTLoss(2, reduction='none') ~ lambda *x: transducer(*x, blank=2) | t(2, 4, 3, 4), tensor([[0, 3], [1, 0]]), tensor([4, 1]), tensor([0, 2])
RNNTLoss(0, False, 'sum') ~ lambda *x: transducer(*x).sum() | t(1, 2, 2, 3).log_softmax(-1), tensor([[2]]), tensor([2]), tensor([1])
LinearCrossEntropyLoss(3, 4) | t(5, 3), ints(0, 4, 5)
LinearCrossEntropyLoss(3, 4, bias=True, reduction='sum', label_smoothing=0.25) | t(5, 3), ints(0, 4, 5)
LinearCrossEntropyLoss(3, 4, ignore_index=1, reduction='none') | t(5, 3), ints(0, 4, 5)
LinearCrossEntropyLoss(3, 4, weight=tensor([0.5, 1.0, 2.0, 0.25])) | t(5, 3), ints(0, 4, 5)
LinearCrossEntropyLoss(3, 4, out_features=(2, 3), bias=True) | t(5, 3), ints(0, 4, 5, 2, 3)
LinearCrossEntropyLoss(3, 4) | t(5, 3), unit(5, 4)
LinearCrossEntropyLoss(3, 4) | t(3), ints(0, 4)
LinearCrossEntropyLoss(3, 4) | t(2, 5, 3), ints(0, 4, 5) ! RuntimeError
LinearCrossEntropyLoss(3, 4, weight=tensor([0.5])) ! RuntimeError
CrossEntropyLoss(ignore_index=1) | t(4, 3), unit(4, 3) ! RuntimeError
MultiLabelSoftMarginLoss() | t(4, 3), ints(0, 2, 4, 3)
"""
