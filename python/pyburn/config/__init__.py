"""Options of models and programs: declared once, checked, saved as JSON."""

from .config import Config, ConfigError, field

__all__ = ["Config", "ConfigError", "field"]
