"""What inspect.signature() says about layers of C++ and their subclasses."""

from __future__ import annotations

from typing import Any


class ConstructorSignature:
    """The __signature__ of Module: that of the layer's own constructor, made when it is asked for."""

    def __get__(self, instance: Any, owner: type) -> Any:
        """None where a class of Python has a constructor of its own, which inspect then looks at.

        >>> import inspect
        >>> inspect.signature(pyburn.nn.Flatten)
        <Signature (start_dim=1, end_dim=-1)>
        """
        for cls in owner.__mro__:
            if "_option_types" in vars(cls):
                import inspect

                return inspect.signature(eval(f"lambda {(cls.__text_signature__ or '()')[1:-1]}: None"))
            if "__init__" in vars(cls):
                break
        return None
