"""Saving, loading and printing of models: a mixin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class FileMethods:
    """Mixin that adds `save`, `load_weights`, `summary` and related methods to a module."""

    if not TYPE_CHECKING:
        __slots__ = ()  # keeps the memory layout of the class it is mixed into

    def save(self, filepath: Any, overwrite: bool = True) -> None:
        """Writes the model, its compile configuration and its weights to one file, for `p_vision.load_model`."""
        from .saving import save_model

        save_model(self, filepath, overwrite)

    def to_json(self) -> str:
        """Returns the architecture as JSON, for `p_vision.models.model_from_json`."""
        import json

        from .configured import to_plain

        return json.dumps(to_plain(self, type(self).__name__))

    def save_weights(self, filepath: Any, overwrite: bool = True) -> None:
        """Writes only the weights to a file."""
        from .saving import save_weights

        save_weights(self, filepath, overwrite)

    def load_weights(self, filepath: Any, skip_mismatch: bool = False) -> None:
        """Loads weights from a file written by `save` or `save_weights`, or from any tensor file that pyburn.io reads.

        Args:
            filepath: The file.
            skip_mismatch: Keeps weights that are missing in the file or have another shape there, with a warning.
        """
        from .saving import load_weights

        load_weights(self, filepath, skip_mismatch)

    def summary(
        self,
        line_length: int | None = None,
        print_fn: Any = None,
        input_shape: Any = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
    ) -> None:
        """Prints a table of the layers with output shapes and parameter counts.

        Args:
            line_length: The width of the table.
            print_fn: Called with the text instead of `print`.
            input_shape: The input shape without the batch dimension, for modules without a graph.
            expand_nested: Whether to list the layers of nested models.
            show_trainable: Whether to add a column that shows which layers are trained.
        """
        from .summary import summary_text

        (print_fn or print)(summary_text(self, line_length, input_shape, expand_nested, show_trainable))
