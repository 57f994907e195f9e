"""Signatures of modules and C++ methods for inspect.signature()."""

from __future__ import annotations

from typing import Any


class CallSignature:
    """The __signature__ of module instances: that of a call. Classes have none, so that inspect uses the constructor."""

    def __get__(self, instance: Any, owner: type) -> Any:
        """Returns the signature of a call, which is that of forward.

        >>> import inspect
        >>> inspect.signature(pyburn.nn.Flatten())
        <Signature (*args, **kwargs)>
        >>> inspect.signature(pyburn.nn.Flatten)
        <Signature (start_dim=1, end_dim=-1)>
        """
        if instance is None:
            raise AttributeError("__signature__")
        import inspect

        return inspect.signature(lambda *args, **kwargs: None)


def signature_of(method: Any) -> Any:
    """Returns the signature of a C++ method.

    For a constructor it is parsed from the text signature of its class, for other methods from nanobind's text, such as
    `def forward(self, input: Tensor) -> Tensor`; with several overloads, from the first.
    """
    import inspect
    import re

    if method.__name__ == "__init__" and "_option_types" in vars(method.__objclass__):
        return inspect.signature(eval(f"lambda self, {method.__objclass__.__text_signature__[1:-1]}: None"))
    text, _, defaults = getattr(method, "__nb_signature__", [("(self, *args, **kwargs)", None, ())])[0]
    arguments = re.sub(r"\\(\d+)", r"defaults[\1]", text.partition("(")[2].rpartition(")")[0])
    names: dict[str, Any] = {"defaults": defaults}
    exec(f"from __future__ import annotations\ndef method({arguments}): ...", names)
    return inspect.signature(names["method"])
