"""What inspect.signature() says about modules and about methods that are C++."""

from __future__ import annotations

from typing import Any


class CallSignature:
    """The __signature__ of a module: that of a call. A class has none of its own, so that inspect looks at its constructor."""

    def __get__(self, instance: Any, owner: type) -> Any:
        """The arguments of a call, which are those of forward.

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
    """The signature of a method of C++: that of a constructor is the text signature of its class, others nanobind writes down as text,
    `def forward(self, input: Tensor) -> Tensor`; of several overloads the first."""
    import inspect
    import re

    if method.__name__ == "__init__" and "_option_types" in vars(method.__objclass__):
        return inspect.signature(eval(f"lambda self, {method.__objclass__.__text_signature__[1:-1]}: None"))
    text, _, defaults = method.__nb_signature__[0]
    arguments = re.sub(r"\\(\d+)", r"defaults[\1]", text.partition("(")[2].rpartition(")")[0])
    names: dict[str, Any] = {"defaults": defaults}
    exec(f"from __future__ import annotations\ndef method({arguments}): ...", names)
    return inspect.signature(names["method"])
