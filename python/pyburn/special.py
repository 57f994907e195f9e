"""Special functions, under PyTorch's names."""

from ._core import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,
    sinc,
    softmax,
    xlogy,
)
from ._core import digamma as psi
from ._core import i0 as modified_bessel_i0
from ._core import igamma as gammainc
from ._core import igammac as gammaincc
from ._core import lgamma as gammaln
from ._core import mvlgamma as multigammaln
from ._core import sigmoid as expit
from ._core import special_entr as entr
from ._core import special_erfcx as erfcx
from ._core import special_i0e as i0e
from ._core import special_i1 as i1
from ._core import special_i1 as modified_bessel_i1
from ._core import special_i1e as i1e
from ._core import special_log_ndtr as log_ndtr
from ._core import special_ndtr as ndtr
from ._core import special_ndtri as ndtri
from ._core import special_xlog1py as xlog1py
from ._core import special_zeta as zeta

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
