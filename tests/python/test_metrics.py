"""Metrics over uneven batches, merged, saved and loaded, against scikit-learn and plain definitions."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyburn
from pyburn.train import metrics as m

sk = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")


def streamed(make: Callable[[], m.Metric], output: Any, target: Any, seed: int = 0) -> Any:
    """The value over batches of uneven sizes; checks that merging parts and going through a file change nothing."""
    random = np.random.default_rng(seed)
    cuts = np.sort(random.integers(0, len(target) + 1, 4))
    edges = [0, *cuts.tolist(), len(target)]
    whole, parts = make(), []
    for start, end in zip(edges[:-1], edges[1:]):
        if start == end:
            continue
        whole.update(output[start:end], target[start:end])
        part = make()
        part.update(output[start:end], target[start:end])
        parts.append(part)
    value = whole.compute()
    merged = make()
    for part in parts:
        merged.merge(part)
    np.testing.assert_allclose(merged.compute(), value, rtol=1e-9)
    file = io.BytesIO()
    pyburn.save(whole.state_dict(), file)
    loaded = make()
    loaded.load_state_dict(pyburn.load(io.BytesIO(file.getvalue())))
    loaded.update(output[:3], target[:3])
    whole.update(output[:3], target[:3])
    np.testing.assert_array_equal(loaded.compute(), whole.compute())
    whole.reset()
    whole.update(output, target)
    np.testing.assert_allclose(whole.compute(), value, rtol=1e-9)
    return value


def classes(seed: int, n: int = 97, c: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    scores = random.random((n, c)) ** 2
    scores[:, c - 1] *= 0.2  # a class that is rarely predicted
    return (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32), random.integers(0, c - 1 if seed % 2 else c, n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_precision_recall_and_f_of_classes(seed: int, average: str) -> None:
    scores, truth = classes(seed)
    found = scores.argmax(axis=1)
    options = {"average": average, "zero_division": 0}
    assert streamed(lambda: m.Precision(average=average), scores, truth) == pytest.approx(sk.precision_score(truth, found, **options))
    assert streamed(lambda: m.Recall(average=average), scores, truth) == pytest.approx(sk.recall_score(truth, found, **options))
    assert streamed(lambda: m.F1(average=average), scores, truth) == pytest.approx(sk.f1_score(truth, found, **options))
    assert streamed(lambda: m.FBeta(2.0, average=average), scores, truth) == pytest.approx(
        sk.fbeta_score(truth, found, beta=2.0, **options)
    )
    assert streamed(lambda: m.IoU(average=average), found, truth) == pytest.approx(sk.jaccard_score(truth, found, **options))
    assert streamed(lambda: m.Dice(average=average), found, truth) == pytest.approx(sk.f1_score(truth, found, **options))


@pytest.mark.filterwarnings("ignore")  # scikit-learn tells of classes without items
@pytest.mark.parametrize("otherwise", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
def test_nothing_to_divide_by(otherwise: float, average: str | None) -> None:
    found, truth = np.array([0, 0, 1, 1, 3, 3]), np.array([0, 1, 1, 2, 2, 2])  # 2 is never predicted, 3 never true
    options = {"average": average, "zero_division": otherwise}
    for ours, theirs in ((m.Precision, sk.precision_score), (m.Recall, sk.recall_score), (m.F1, sk.f1_score)):
        value = streamed(lambda ours=ours: ours(average=average, zero_division=otherwise), found, truth)
        np.testing.assert_allclose(value, theirs(truth, found, **options), rtol=1e-12)


@pytest.mark.parametrize("logits", [False, True])
def test_binary_decisions(logits: bool) -> None:
    random = np.random.default_rng(3)
    scores, truth = random.standard_normal(61) if logits else random.random(61), random.integers(0, 2, 61)
    found = (scores > 0) if logits else scores > 0.5
    options: dict[str, Any] = {"task": "binary", "logits": logits}
    assert streamed(lambda: m.Precision(**options), scores, truth) == pytest.approx(sk.precision_score(truth, found))
    assert streamed(lambda: m.Recall(**options), scores, truth) == pytest.approx(sk.recall_score(truth, found))
    assert streamed(lambda: m.FBeta(0.5, **options), scores, truth) == pytest.approx(sk.fbeta_score(truth, found, beta=0.5))
    accuracy = streamed(lambda: m.Accuracy(threshold=0.5, logits=logits), scores, truth)
    assert accuracy == pytest.approx(sk.accuracy_score(truth, found))


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_several_labels(average: str) -> None:
    random = np.random.default_rng(4)
    scores, truth = random.random((53, 4)), random.integers(0, 2, (53, 4))
    truth[:, 3] = 0  # a label that never holds
    found = scores > 0.5
    options: dict[str, Any] = {"task": "multilabel", "average": average}
    assert streamed(lambda: m.Precision(**options), scores, truth) == pytest.approx(
        sk.precision_score(truth, found, average=average, zero_division=0)
    )
    assert streamed(lambda: m.F1(**options), scores, truth) == pytest.approx(sk.f1_score(truth, found, average=average, zero_division=0))
    assert streamed(lambda: m.HammingLoss(), scores, truth) == pytest.approx(sk.hamming_loss(truth, found))
    assert streamed(lambda: m.HammingScore(), scores, truth) == pytest.approx(1 - sk.hamming_loss(truth, found))


def test_hamming_loss_of_classes() -> None:
    scores, truth = classes(2)
    assert streamed(lambda: m.HammingLoss(task="multiclass"), scores, truth) == pytest.approx(sk.hamming_loss(truth, scores.argmax(axis=1)))


def test_rest_counts_classes_that_are_met_late() -> None:
    a, b = m.Recall(), m.Recall()
    a.update([0, 1], [0, 1])
    b.update([3, 0], [3, 1])
    whole = m.Recall()
    whole.update([0, 1, 3, 0], [0, 1, 3, 1])
    a.merge(b)
    for key, value in whole.state.items():
        assert a.state[key].tolist() == value.tolist(), key
    assert all(sum(int(v[i]) for v in whole.state.values()) == 4 for i in range(4))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_top_k(k: int) -> None:
    scores, truth = classes(0)
    expected = sk.top_k_accuracy_score(truth, scores, k=k, labels=range(5))
    assert streamed(lambda: m.TopKAccuracy(k), scores, truth) == pytest.approx(expected)
    # Recall where the k best classes count as predicted is the same number, weighted by frequency.
    assert streamed(lambda: m.Recall(top_k=k, average="micro"), scores, truth) == pytest.approx(expected)


def test_accuracy_and_confusion() -> None:
    scores, truth = classes(0)
    found = scores.argmax(axis=1)
    assert streamed(m.Accuracy, scores, truth) == pytest.approx(sk.accuracy_score(truth, found))
    np.testing.assert_array_equal(
        streamed(lambda: m.ConfusionMatrix(labels="abcde"), scores, truth), sk.confusion_matrix(truth, found, labels=range(5))
    )
    np.testing.assert_array_equal(streamed(m.ConfusionMatrix, found, truth), sk.confusion_matrix(truth, found, labels=range(5)))
    matrix = m.ConfusionMatrix(labels=["cat", "dog"])
    matrix.update([0, 1], [1, 1])
    assert matrix.table()["labels"] == ["cat", "dog"]
    for normalize in ("true", "pred", "all"):
        shares = streamed(lambda: m.ConfusionMatrix(normalize=normalize), found, truth)  # noqa: B023  (called at once)
        np.testing.assert_allclose(shares, sk.confusion_matrix(truth, found, labels=range(5), normalize=normalize))
    matrix = m.ConfusionMatrix(normalize="all")
    matrix.update([0, 1], [1, 1])
    assert matrix.table()["values"].tolist() == [[0, 0], [1, 1]]  # runs hold counts


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_areas_of_pairs_of_classes(average: str) -> None:
    scores, truth = classes(0)
    scores = scores / scores.sum(axis=1, keepdims=True, dtype=np.float64)
    expected = sk.roc_auc_score(truth, scores, multi_class="ovo", average=average)
    assert streamed(lambda: m.AUROC(multi_class="ovo", average=average), scores, truth) == pytest.approx(expected)
    metric = m.AUROC(multi_class="ovo")
    assert math.isnan(metric.compute())
    metric.update(scores[:3], np.zeros(3, int))
    assert math.isnan(metric.compute())


@pytest.mark.parametrize("average", ["macro", "weighted", "none"])
def test_areas_of_classes(average: str) -> None:
    scores, truth = classes(0)
    name = None if average == "none" else average
    one_hot = np.eye(5)[truth]
    np.testing.assert_allclose(
        streamed(lambda: m.AUROC(average=average), scores, truth), sk.roc_auc_score(one_hot, scores, average=name), rtol=1e-9
    )
    np.testing.assert_allclose(
        streamed(lambda: m.AUPRC(average=average), scores, truth), sk.average_precision_score(one_hot, scores, average=name), rtol=1e-9
    )


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=4, max_size=60))
@settings(max_examples=60, deadline=None)
def test_areas_with_equal_scores(items: list[tuple[int, bool]]) -> None:
    scores, truth = np.array([s / 6 for s, _ in items]), np.array([t for _, t in items], np.int64)
    auroc, auprc = (streamed(lambda kind=kind: kind(task="binary"), scores, truth) for kind in (m.AUROC, m.AUPRC))
    if 0 < truth.sum() < len(truth):
        assert auroc == pytest.approx(sk.roc_auc_score(truth, scores))
        pairs = [(a > b) + 0.5 * (a == b) for a, x in zip(scores, truth) for b, y in zip(scores, truth) if x and not y]
        assert auroc == pytest.approx(np.mean(pairs))  # what the area means
    else:
        assert math.isnan(auroc)
    if truth.any():
        assert auprc == pytest.approx(sk.average_precision_score(truth, scores))
    else:
        assert math.isnan(auprc)


def test_areas_of_labels_and_of_two_logits() -> None:
    random = np.random.default_rng(8)
    scores, truth = random.random((40, 3)), random.integers(0, 2, (40, 3))
    for average in ("macro", "micro", "weighted"):
        value = streamed(lambda: m.AUROC(task="multilabel", average=average), scores, truth)  # noqa: B023  (called at once)
        assert value == pytest.approx(sk.roc_auc_score(truth, scores, average=average))
    value = streamed(lambda: m.AUROC(task="binary"), scores[:, :2], truth[:, 0])
    assert value == pytest.approx(sk.roc_auc_score(truth[:, 0], scores[:, 1] - scores[:, 0]))


@pytest.mark.parametrize("far", [0.0, 1e8])
def test_regression(far: float) -> None:
    random = np.random.default_rng(5)
    truth = random.standard_normal(83) + far
    found = truth + random.standard_normal(83) * 0.3
    assert streamed(m.MAE, found, truth) == pytest.approx(sk.mean_absolute_error(truth, found))
    assert streamed(m.MSE, found, truth) == pytest.approx(sk.mean_squared_error(truth, found))
    assert streamed(m.RMSE, found, truth) == pytest.approx(math.sqrt(sk.mean_squared_error(truth, found)))
    assert streamed(m.R2, found, truth) == pytest.approx(sk.r2_score(truth, found), rel=1e-6)
    truth2, found2 = truth[:80].reshape(20, 4), found[:80].reshape(20, 4)
    for multioutput in ("uniform_average", "variance_weighted", "raw_values"):
        value = streamed(lambda: m.R2(multioutput=multioutput), found2, truth2)  # noqa: B023  (called at once)
        np.testing.assert_allclose(value, sk.r2_score(truth2, found2, multioutput=multioutput), rtol=1e-6)


def test_r2_without_variance() -> None:
    for found in ([2.0, 2.0, 2.0], [2.0, 2.5, 2.0]):
        assert streamed(m.R2, np.array(found), np.full(3, 2.0)) == sk.r2_score([2.0] * 3, found)


def edits(a: str, b: str) -> int:
    """By the definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(edits(a[1:], b) + 1, edits(a, b[1:]) + 1, edits(a[1:], b[1:]) + (a[0] != b[0]))


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
@settings(max_examples=80, deadline=None)
def test_edit_distance(a: str, b: str) -> None:
    assert m.edit_distance(a, b) == edits(a, b)


def test_error_rates() -> None:
    found, truth = ["the cat", "sat down", "x"], ["the bat", "sat", "y z"]
    assert streamed(m.WER, found, truth) == pytest.approx((1 + 1 + 2) / 5)
    assert streamed(m.CER, found, truth) == pytest.approx((1 + 5 + 3) / 13)
    tokens = m.CER(pad=0)
    tokens.update(pyburn.tensor([[1, 2, 3, 0]]), pyburn.tensor([[1, 3, 0, 0]]))
    assert tokens.compute() == 0.5


def test_bleu_by_hand() -> None:
    """Papineni's: clipped counts over the corpus, geometric mean, brevity penalty."""
    found, truth = ["the the the cat sat here", "a dog"], ["the cat sat here today now", "a big dog barks"]
    # 1-grams: the (clipped to 1), cat, sat, here of 6; a, dog of 2. 2-grams: the cat, cat sat, sat here of 5; none of 1.
    one, two = 6 / 8, 3 / 6
    expected = math.sqrt(one * two) * math.exp(1 - 10 / 8)
    assert streamed(lambda: m.Bleu(max_n=2), found * 2, truth * 2) == pytest.approx(expected)
    assert streamed(m.Bleu, found[1:] * 4, truth[1:] * 4) == 0.0
    words = [["a b x d e f"], ["a b c d e f"]]  # 1: 5/6, 2: 3/5, 3: 1/4, 4: 0/3
    plain, epsilon, halves = (m.Bleu(smoothing=kind) for kind in ("none", "add-epsilon", "exponential"))
    for metric in (plain, epsilon, halves):
        metric.update(*words)
    assert plain.compute() == 0.0
    assert epsilon.compute() == pytest.approx((5 / 6 * 3 / 5 * 1 / 4 * 0.1 / 3) ** 0.25)
    assert halves.compute() == pytest.approx((5 / 6 * 3 / 5 * 1 / 4 * 0.5 / 3) ** 0.25)


def longest(a: str, b: str) -> int:
    """By the definition."""
    if not a or not b:
        return 0
    return longest(a[1:], b[1:]) + 1 if a[0] == b[0] else max(longest(a[1:], b), longest(a, b[1:]))


@given(st.text("ab", max_size=6), st.text("abc", max_size=6))
@settings(max_examples=60, deadline=None)
def test_rouge(a: str, b: str) -> None:
    metric = m.RougeL()
    metric.update([" ".join(a)], [" ".join(b)])
    common = longest(a, b)
    if common:
        precision, recall = common / len(a), common / len(b)
        assert metric.compute() == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert metric.compute() == (0.0 if a or b else 1.0)


@pytest.mark.parametrize("layout", ["classes second", "classes last"])
def test_perplexity(layout: str) -> None:
    random = np.random.default_rng(6)
    logits, truth = random.standard_normal((12, 7, 9)).astype(np.float32), random.integers(0, 9, (12, 7))
    truth[0, :3] = -100
    reference = pyburn.nn.functional.cross_entropy(pyburn.from_numpy(logits.reshape(-1, 9)), pyburn.from_numpy(truth.reshape(-1)))
    given = logits if layout == "classes last" else logits.transpose(0, 2, 1)
    assert streamed(m.Perplexity, given, truth) == pytest.approx(math.exp(reference.item()), rel=1e-5)


def test_mean_counts_batches_by_their_size() -> None:
    values = np.random.default_rng(7).random(100)
    mean = m.Loss()
    for start, end in ((0, 64), (64, 96), (96, 100)):
        mean.update(values[start:end].mean(), end - start)
    assert mean.compute() == pytest.approx(values.mean())
    assert math.isnan(m.Loss().compute())


def test_a_batch_alone_and_in_the_total() -> None:
    accuracy = m.Accuracy()
    assert accuracy([1, 1], [1, 0]) == 0.5
    assert accuracy([1, 1], [1, 1]) == 1.0
    assert accuracy.compute() == 0.75


def test_tensors_of_every_kind() -> None:
    scores = pyburn.tensor([[0.1, 0.9], [0.8, 0.2]], requires_grad=True)
    for dtype in (pyburn.float32, pyburn.float64, pyburn.float16, pyburn.bfloat16):
        accuracy = m.Accuracy()
        accuracy.update(scores.to(dtype), pyburn.tensor([1, 1]))
        assert accuracy.compute() == 0.5
    masks = m.IoU(average="none")
    masks.update(pyburn.zeros(2, 3, 4, 4), pyburn.zeros(2, 4, 4, dtype=pyburn.int64))
    assert masks.compute().tolist() == [1.0, 0.0, 0.0]
    assert masks.table() == {"type": "per_class", "labels": ["0", "1", "2"], "values": pytest.approx([1.0, 0.0, 0.0])}


def test_ignored_targets() -> None:
    for metric in (m.Accuracy(ignore_index=-100), m.F1(average="micro", ignore_index=-100)):
        metric.update([1, 0, 2], [1, 1, -100])
        assert metric.compute() == 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: m.Accuracy().update(np.zeros((4, 3)), np.zeros((5,), int)),
        lambda: m.Accuracy().update([0.5, 0.2], [1, 0]),
        lambda: m.Accuracy().update([0], [-1]),
        lambda: m.TopKAccuracy(0),
        lambda: m.TopKAccuracy(2).update([[1.0, 2.0]], [2]),
        lambda: m.Precision(task="many"),
        lambda: m.Precision(average="mean"),
        lambda: m.ConfusionMatrix(normalize="rows"),
        lambda: m.AUROC(multi_class="all"),
        lambda: m.AUROC(multi_class="ovo", task="binary"),
        lambda: m.R2(multioutput="mean"),
        lambda: m.AUROC(task="binary").update([0.5], [[1], [0]]),
        lambda: m.MAE().update([1.0, 2.0], [1.0]),
        lambda: m.WER().update(["a"], ["a", "b"]),
        lambda: m.Bleu(smoothing="much"),
        lambda: m.metric_by_name("acuracy"),
        lambda: m.metrics_from(["accuracy", "accuracy"]),
    ],
)
def test_invalid_input_raises_an_error(wrong: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"^\["):
        wrong()


def test_merging_different_metrics_raises_an_error() -> None:
    with pytest.raises(TypeError, match="expected a Accuracy"):
        m.Accuracy().merge(m.MAE())


def test_use_of_the_machine() -> None:
    speed, cpu, memory = m.IterationSpeed(), m.CpuUse(), m.MemoryUse()
    for _ in range(4):
        speed.update()
    assert speed.state["count"] == 3
    assert speed.compute() > 0
    memory.update()
    assert 1 < memory.compute() < 2**24
    sum(range(200_000))
    assert cpu.read() > 0


def test_names_are_text() -> None:
    with pytest.raises(TypeError, match="the name of a metric is text: got 10"):
        m.ConfusionMatrix(10)  # type: ignore[arg-type]
