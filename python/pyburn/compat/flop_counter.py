"""torch.utils.flop_counter: what the products of a program cost, by the modules that ask for them. `pyburn.summary` counts from the same
operations."""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from .. import _core
from .._nested import tensors
from ..autograd import Variable
from ..autograd.graph import register_multi_grad_hook
from ..nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from .absent import absent

__all__ = ["FlopCounterMode", "register_flop_formula"]

register_flop_formula = absent("torch.utils.flop_counter.register_flop_formula")


class FlopCounterMode(contextlib.ContextDecorator):
    """A context manager that counts the floating-point operations of matrix products, convolutions, attention and recurrent layers.

    Forward and backward passes are counted; a multiplication with an addition counts as two operations. Operations have pyburn's names.

    Args:
        mods: Ignored; modules are found by themselves.
        depth: The depth of modules in the table that is printed at the end.
        display: Whether to print the table.
        custom_mapping: Not supported.
        skip_unsupported: Ignored.

    Raises:
        NotImplementedError: custom_mapping is given.

    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = pyburn.ones(2, 3) @ pyburn.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None, skip_unsupported: bool = False
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        if custom_mapping:
            raise NotImplementedError("[compat] FlopCounterMode has no custom_mapping: operations are counted in pyburn's core")
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self._running = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._in_backward = False

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._running = {"Global"}
        self._seen: dict[str, int] = {}
        self._cost = _core._OperationCost(_core._default_device(), True)
        self._cost.__enter__()
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *exception: Any) -> None:
        self._settle()
        self._cost.__exit__(*exception)
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        return sum(self.get_flop_counts().get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Returns the counts by module and operation.

        Returns:
            {module: {operation: count}}. A module is named by its path from the class of the outermost module; "Global" is the total.
        """
        self._settle()
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_unsupported_ops(self) -> Counter[str]:
        return Counter()

    def get_table(self, depth: int | None = None) -> str:
        """Formats the counts as a table.

        Args:
            depth: The depth of modules to show; all by default.

        Returns:
            The table as text.
        """
        counts, total = self.get_flop_counts(), self.get_total_flops()
        shown = sorted(name for name in counts if name != "Global" and (depth is None or name.count(".") < depth))
        if not any(sum(counts[name].values()) >= total for name in shown):
            shown.insert(0, "Global")
        rows = [("Module", "FLOP", "% Total")]
        for name in shown:
            lines = {name: sum(counts.get(name, {}).values()), **{f" - {op}": count for op, count in counts.get(name, {}).items()}}
            rows += [(" " * name.count(".") + line, f"{count:,}", f"{100 * count / max(total, 1):.2f}%") for line, count in lines.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        rows.insert(1, ("-" * widths[0], "-" * widths[1], "-" * widths[2]))
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)

    def _settle(self) -> None:
        """What was counted since the last time goes to the modules that run."""
        now = self._cost.by_operation if hasattr(self, "_cost") else {}
        for operation, count in now.items():
            if new := count - self._seen.get(operation, 0):
                for name in self._running:
                    self.flop_counts[name][operation] += 2 * new
        self._seen = now

    def _name(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        for child_name, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{name}.{child_name}"
                self._name(child)
        return name

    def _enter(self, name: str) -> None:
        self._settle()
        self._running.add(name)

    def _leave(self, name: str) -> None:
        self._settle()
        self._running.discard(name)

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._enter(name)
        self._when_all_have_gradients(args, lambda _: self._leave(name))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self._leave(name)

        def enter(_: Any) -> None:
            if not self._in_backward:  # the first module of this pass
                self._in_backward = True
                Variable._execution_engine.queue_callback(self._end_backward)
            self._enter(name)

        self._when_all_have_gradients(output, enter)

    def _end_backward(self) -> None:
        self._settle()
        self._running, self._in_backward = {"Global"}, False

    def _when_all_have_gradients(self, value: Any, call: Callable[[Any], None]) -> None:
        recorded = [tensor for tensor in tensors(value) if tensor.requires_grad]
        if recorded:
            self._handles.append(register_multi_grad_hook(recorded, call))
