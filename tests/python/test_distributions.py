"""pyburn.distributions: PyTorch's names without compat, also by the files that PyTorch has them in."""

from __future__ import annotations

import math

import pytest

import pyburn
from pyburn.distributions import Categorical, Normal, kl_divergence
from pyburn.distributions.multivariate_normal import MultivariateNormal
from pyburn.distributions.normal import Normal as NormalOfItsFile


def test_names() -> None:
    assert NormalOfItsFile is Normal is pyburn.distributions.normal.Normal
    assert MultivariateNormal is pyburn.distributions.MultivariateNormal
    assert {"Beta", "Dirichlet", "Independent", "TransformedDistribution"} <= set(pyburn.distributions.__all__)
    with pytest.raises(AttributeError, match="VonMises"):
        _ = pyburn.distributions.VonMises


def test_a_policy_gets_gradients() -> None:
    mean = pyburn.tensor([0.5, -1.0], requires_grad=True)
    policy = Normal(mean, 2.0)
    policy.log_prob(pyburn.tensor([1.5, 1.0])).sum().backward()
    assert mean.grad.tolist() == [0.25, 0.5]
    assert policy.rsample((3,)).shape == (3, 2) and kl_divergence(policy, policy).abs().sum() == 0
    assert Categorical(logits=pyburn.zeros(4)).entropy().item() == pytest.approx(math.log(4))
