"""Functional transforms: functional_call, derivatives and vmap."""

from ..nn.utils.stateless import functional_call
from .stacking import stack_module_state
from .transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state", "vjp", "vmap"]
