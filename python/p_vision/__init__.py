"""p_vision: models for pictures on top of pyburn."""


def __getattr__(name: str) -> object:
    """Models are loaded when they are asked for."""
    if name != "models":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.models")
