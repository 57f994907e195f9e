"""torch.hub as far as weights go: files are downloaded to PyTorch's place and read without running code from them."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any
from urllib.parse import urlparse

__all__ = ["HASH_REGEX", "download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir", "urlparse"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_directory: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Returns the cache folder: that of `set_dir`, $TORCH_HOME/hub or ~/.cache/torch/hub.

    >>> get_dir().endswith("hub")
    True
    """
    return _directory or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the cache folder.

    Args:
        d: The folder.

    >>> set_dir("weights")  # doctest: +SKIP
    """
    global _directory
    _directory = os.path.expanduser(os.fspath(d))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads a file. A file whose checksum is wrong is discarded.

    Args:
        url: An address of http, https or file.
        dst: The path to write to.
        hash_prefix: The beginning of the expected SHA-256 checksum in hexadecimal.
        progress: Ignored.

    Raises:
        ValueError: The address has another scheme.
        RuntimeError: The checksum is wrong.

    >>> download_url_to_file("https://example.org/model.pt", "model.pt")  # doctest: +SKIP
    """
    from urllib.request import Request, urlopen

    if urlparse(url).scheme not in ("http", "https", "file"):
        raise ValueError(f"[hub] expected an address of http or https: got {url!r}")
    os.makedirs(os.path.dirname(os.path.abspath(dst)), exist_ok=True)
    digest, partial = hashlib.sha256(), f"{dst}.{os.getpid()}.partial"
    try:
        with urlopen(Request(url, headers={"User-Agent": "pyburn.compat"})) as answer, open(partial, "wb") as file:
            while block := answer.read(1 << 17):
                digest.update(block)
                file.write(block)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.replace(partial, dst)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Downloads weights to the cache folder, unless they are there, and loads them. Code in the file is not run.

    Args:
        url: The address.
        model_dir: The folder to download to; by default `get_dir()`/checkpoints.
        map_location: The device of the tensors.
        progress: Ignored.
        check_hash: Whether the checksum in the name of the file (`name-<sha256>.ext`) is checked.
        file_name: The name of the file; by default the last part of the address.
        weights_only: Ignored: nothing but weights is ever loaded.

    Returns:
        The state dict.

    >>> state = load_state_dict_from_url("https://example.org/resnet18.pth")  # doctest: +SKIP
    """
    from .serialization import load

    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        found = HASH_REGEX.search(os.path.basename(path)) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return load(path, map_location)  # type: ignore[no-any-return]


load_url = load_state_dict_from_url  # torch.utils.model_zoo's name


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    """Raises an error: torch.hub.load runs code from another repository.

    Args:
        repo_or_dir: The repository.
        model: The name of the model.
        *args: Its arguments.
        **kwargs: Its options.

    Returns:
        Nothing: it raises.

    Raises:
        RuntimeError: Always.

    >>> load("owner/name", "net")
    Traceback (most recent call last):
    RuntimeError: [compat] torch.hub.load runs code from another repository, which pyburn.compat does not: import the model's package
    """
    raise RuntimeError(
        "[compat] torch.hub.load runs code from another repository, which pyburn.compat does not: import the model's package"
    )


class _NoBar:
    """Stands for tqdm where it is not installed: counts without showing anything."""

    def __init__(self, iterable: Any = None, total: Any = None, **options: Any) -> None:
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def update(self, n: int = 1) -> None:
        self.n += n

    def set_description(self, desc: Any = None, refresh: bool = True) -> None:
        """Shows nothing."""

    def close(self) -> None:
        """Has nothing to close."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"pyburn.compat does not provide torch.hub.{name}")
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return _NoBar
    return tqdm
