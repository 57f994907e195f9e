"""Windows under the names of torch.signal.windows.

A symmetric window (`sym=True`, the default) is for filter design; with `sym=False`, the window is one period of a periodic function,
for spectral analysis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip


def _places(function: str, M: int, options: dict[str, Any]) -> Tensor | None:
    """0, 1, ... M - 1; None where the window has one element at most."""
    if M < 0:
        raise ValueError(f"[{function}] expected M of at least 0: got {M}")
    options["dtype"] = options.get("dtype") or _core.get_default_dtype()
    options.pop("layout", None)
    if not options["dtype"].is_floating_point:
        raise ValueError(f"[{function}] expected a floating dtype: got {options['dtype']}")
    if M <= 1:
        return None
    return _core.arange(0, M, dtype=options["dtype"], device=options.get("device"))


def _finished(window: Tensor | None, M: int, options: dict[str, Any]) -> Tensor:
    made = _core.ones(M, dtype=options["dtype"], device=options.get("device")) if window is None else window
    return made.requires_grad_() if options.get("requires_grad") else made


def _period(M: int, sym: bool) -> int:
    return M - 1 if sym else M


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """Returns a weighted sum of cosines: sum over k of a[k] (-1)^k cos(2 pi k n / N).

    Args:
        M: The length of the window.
        a: The weights.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    Raises:
        TypeError: a is not iterable.
        ValueError: a is empty, M is negative, or dtype is not floating point.

    >>> pyburn.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    weights = list(a) if isinstance(a, Iterable) else None
    if not weights:
        raise (TypeError if weights is None else ValueError)(f"[general_cosine] expected coefficients: got {a!r}")
    n = _places("general_cosine", M, options)
    if n is None:
        return _finished(None, M, options)
    turn = n * (2 * math.pi / _period(M, sym))
    parts = [_core.cos(turn * k) * (weight * (-1) ** k) for k, weight in enumerate(weights)]
    return _finished(_core.stack(parts).sum(0), M, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """Returns the generalized Hamming window: alpha - (1 - alpha) cos(2 pi n / N).

    Args:
        M: The length of the window.
        alpha: The coefficient.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Returns the Hamming window: 0.54 - 0.46 cos(2 pi n / N).

    Args:
        M: The length of the window.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Returns the Hann window: 0.5 - 0.5 cos(2 pi n / N).

    Args:
        M: The length of the window.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Returns the Blackman window: 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    Args:
        M: The length of the window.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.blackman(1)
    tensor([1.])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Returns the minimum 4-term Blackman-Harris window according to Nuttall, which has very small side lobes.

    Args:
        M: The length of the window.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.nuttall(1)
    tensor([1.])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Returns the Bartlett (triangular) window: 1 - |2 n / N - 1|.

    Args:
        M: The length of the window.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    n = _places("bartlett", M, options)
    return _finished(None if n is None else 1 - (n * (2 / _period(M, sym)) - 1).abs(), M, options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Returns the cosine (sine) window: sin(pi (n + 0.5) / N).

    Args:
        M: The length of the window.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    >>> pyburn.signal.windows.cosine(1)
    tensor([1.])
    """
    n = _places("cosine", M, options)
    return _finished(None if n is None else _core.sin((n + 0.5) * (math.pi / (M if sym else M + 1))), M, options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Returns the exponential (Poisson) window: exp(-|n - center| / tau).

    Args:
        M: The length of the window.
        center: The position of the maximum; by default the middle. Requires sym=False.
        tau: The decay length in samples.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    Raises:
        ValueError: tau is not positive, or center is given and sym is True.

    >>> pyburn.signal.windows.exponential(1)
    tensor([1.])
    """
    if tau <= 0:
        raise ValueError(f"[exponential] expected tau greater than 0: got {tau}")
    if sym and center is not None:
        raise ValueError("[exponential] a symmetric window has its center in the middle: got a center and sym=True")
    n = _places("exponential", M, options)
    middle = _period(M, sym) / 2 if center is None else center
    return _finished(None if n is None else _core.exp((n - middle).abs() * (-1 / tau)), M, options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """Returns the Gaussian window: exp(-((n - center) / std)^2 / 2).

    Args:
        M: The length of the window.
        std: The standard deviation in samples.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    Raises:
        ValueError: std is not positive.

    >>> pyburn.signal.windows.gaussian(1)
    tensor([1.])
    """
    if std <= 0:
        raise ValueError(f"[gaussian] expected std greater than 0: got {std}")
    n = _places("gaussian", M, options)
    return _finished(None if n is None else _core.exp(((n - _period(M, sym) / 2) / std) ** 2 * -0.5), M, options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Returns the Kaiser window: i0(beta sqrt(1 - (2 n / N - 1)^2)) / i0(beta).

    Args:
        M: The length of the window.
        beta: The shape parameter: a larger value gives a wider main lobe and smaller side lobes.
        sym: Whether the window is symmetric; otherwise periodic.
        **options: dtype, device, layout and requires_grad of the result.

    Returns:
        The window, (M,).

    Raises:
        ValueError: beta is negative.

    >>> pyburn.signal.windows.kaiser(1)
    tensor([1.])
    """
    if beta < 0:
        raise ValueError(f"[kaiser] expected beta of at least 0: got {beta}")
    n = _places("kaiser", M, options)
    if n is None:
        return _finished(None, M, options)
    inside = _core.clamp(1 - (n * (2 / _period(M, sym)) - 1) ** 2, min=0)
    return _finished(_core.i0(inside.sqrt() * beta) / _core.i0(_core.full_like(n, beta)), M, options)
