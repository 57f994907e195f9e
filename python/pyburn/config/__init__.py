"""Configuration of models and programs: declared as classes, validated, saved as JSON."""

from .config import Config, ConfigError, field

__all__ = ["Config", "ConfigError", "field"]
