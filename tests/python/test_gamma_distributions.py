"""torch.distributions over pyburn: those of the gamma function, against the numbers of PyTorch 2.15."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

# log_prob of the values, entropy, mean and variance, for concentrations 0.5, 1.5, 3 and 2, 0.7, 1.1.
_EXPECTED = {
    "Gamma": [
        -0.22380495,
        -1.08964299,
        -1.607937672,
        -0.602537251,
        1.717647719,
        1.752268331,
        0.25,
        2.142857143,
        2.727272727,
        0.125,
        3.06122449,
        2.479338843,
    ],
    "Chi2": [-1.21915534, -1.811725663, -2.625591595, 1.901738727, 2.173141719, 2.42309509, 2.5, 3.5, 5.0, 5.0, 7.0, 10.0],
    "StudentT": [-3.088614374, -1.425213051, -2.082217777, 1.456512287, 2.253225179, 2.780372306, 2.0, 0.7, 1.1, float("inf"), 11.25, 18.0],
    "Beta": [
        -0.042370614,
        -0.023663134,
        0.834522915,
        -0.765278955,
        -0.232255824,
        -0.382070743,
        0.2,
        0.681818182,
        0.731707317,
        0.045714286,
        0.067794421,
        0.038492494,
    ],
    "Dirichlet": [0.993603174, -1.866657278, 0.1, 0.3, 0.6, 0.015, 0.035, 0.04],
}


def _made(torch: Any, name: str) -> Any:
    d, a, b = torch.distributions, torch.tensor([0.5, 1.5, 3.0], dtype=torch.float64), torch.tensor([2.0, 0.7, 1.1], dtype=torch.float64)
    return {
        "Gamma": lambda: d.Gamma(a, b),
        "Chi2": lambda: d.Chi2(a + 2),
        "StudentT": lambda: d.StudentT(a + 1, b, a),
        "Beta": lambda: d.Beta(a, b),
        "Dirichlet": lambda: d.Dirichlet(a),
    }[name]()


@pytest.mark.parametrize("name", _EXPECTED)
def test_densities_and_moments(torch: Any, name: str) -> None:
    one, x = _made(torch, name), torch.tensor([0.3, 0.6, 0.9], dtype=torch.float64)
    value = x / x.sum() if name == "Dirichlet" else x
    found = [part for y in (one.log_prob(value), one.entropy(), one.mean, one.variance) for part in y.reshape(-1).tolist()]
    assert found == pytest.approx(_EXPECTED[name], abs=1e-8)


@pytest.mark.parametrize("name", _EXPECTED)
def test_samples_have_the_mean(torch: Any, name: str) -> None:
    torch.manual_seed(0)
    one = _made(torch, name)
    drawn = one.sample((20000,))
    assert drawn.shape == (20000, 3) and not drawn.requires_grad
    assert torch.allclose(
        drawn.median(0).values if name == "StudentT" else drawn.mean(0), one.loc if name == "StudentT" else one.mean, atol=0.1
    )
    assert one.rsample().shape == (3,)


def test_samples_have_no_gradient_for_the_concentration(torch: Any) -> None:
    one = torch.distributions.Gamma(torch.tensor([2.0], requires_grad=True), 1.0)
    assert not one.sample().requires_grad
    with pytest.raises(NotImplementedError, match="no gradient for their concentration"):
        one.rsample()


def test_parameters_are_checked_and_have_gradients(torch: Any) -> None:
    d = torch.distributions
    for make in (lambda: d.Gamma(-1.0, 1.0), lambda: d.StudentT(0.0), lambda: d.Beta(1.0, -1.0)):
        with pytest.raises(ValueError, match="positive"):
            make()
    freedom = torch.tensor(3.0, requires_grad=True)
    d.StudentT(freedom, 0.5, 2.0).log_prob(torch.tensor(1.0)).backward()
    assert float(freedom.grad) == pytest.approx(0.0298, abs=1e-4)


# PyTorch's log_prob at 0.3, entropy, mean and variance.
GAMMAS = [
    ("Gamma", (0.5, 2.0), -0.2238049, -0.6025373, 0.25, 0.125),
    ("Gamma", (3.0, 2.0), -1.6216512, 1.1544313, 1.5, 0.75),
    ("Chi2", (3.0,), -1.6709249, 2.0541200, 3.0, 6.0),
    ("StudentT", (5.0, 1.0, 2.0), -1.7343808, 2.3206499, 1.0, 6.6666667),
    ("Beta", (0.5, 2.0), -0.0423706, -0.7652790, 0.2, 0.0457143),
]


@pytest.mark.parametrize(("name", "arguments", "log_prob", "entropy", "mean", "variance"), GAMMAS)
def test_distributions_of_gamma_variables(
    torch: Any, name: str, arguments: tuple[float, ...], log_prob: float, entropy: float, mean: float, variance: float
) -> None:
    d = getattr(importlib.import_module("torch.distributions"), name)(*arguments)
    assert d.log_prob(torch.tensor(0.3)).item() == pytest.approx(log_prob, abs=1e-4)
    assert d.entropy().item() == pytest.approx(entropy, abs=1e-4)
    assert d.mean.item() == pytest.approx(mean) and d.variance.item() == pytest.approx(variance, rel=1e-4)
    torch.manual_seed(3)
    drawn = d.sample((20000,))
    assert drawn.shape == (20000,) and drawn.mean().item() == pytest.approx(mean, rel=0.03)
    assert drawn.var().item() == pytest.approx(variance, rel=0.1)


def test_shares_and_gradients_of_gamma_variables(torch: Any) -> None:
    d = importlib.import_module("torch.distributions")
    shares = d.Dirichlet(torch.tensor([0.5, 2.0, 3.0])).sample((4,))
    assert shares.shape == (4, 3) and torch.allclose(shares.sum(-1), torch.ones(4))
    loc = torch.zeros(3, requires_grad=True)
    d.StudentT(4.0, loc).rsample().sum().backward()
    assert loc.grad.tolist() == [1, 1, 1]
    with pytest.raises(NotImplementedError, match="concentration"):
        d.Gamma(torch.ones(1, requires_grad=True), 1.0).rsample()
    with pytest.raises(ValueError, match="positive"):
        d.StudentT(-1.0)
