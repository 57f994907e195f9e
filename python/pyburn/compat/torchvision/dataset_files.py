"""torchvision.datasets.utils: files of data sets, downloaded, checked and unpacked."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from ...data.download import download, verify
from ..absent import absent_names

__all__ = ["check_integrity", "check_md5", "download_and_extract_archive", "download_url", "extract_archive", "list_dir", "list_files"]
__path__: list[str] = []


def check_md5(fpath: str | os.PathLike[str], md5: str, **options: Any) -> bool:
    """Returns whether a file has an MD5 checksum.

    Args:
        fpath: The path of the file.
        md5: The expected checksum in hexadecimal.
        **options: Ignored.

    >>> with open("empty", "wb") as file: pass
    >>> check_md5("empty", "d41d8cd98f00b204e9800998ecf8427e")
    True
    """
    return verify(fpath, f"md5:{md5}")


def check_integrity(fpath: str | os.PathLike[str], md5: str | None = None) -> bool:
    """Returns whether a file exists and, if a checksum is given, has it.

    Args:
        fpath: The path of the file.
        md5: The expected MD5 checksum in hexadecimal; None checks that the file exists.

    >>> check_integrity("missing")
    False
    """
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(
    url: str,
    root: str | os.PathLike[str],
    filename: str | os.PathLike[str] | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Downloads a file to a folder unless it is there with the expected checksum.

    Args:
        url: The address.
        root: The folder.
        filename: The name of the file; by default the last part of the address.
        md5: The expected MD5 checksum.
        max_redirect_hops: Ignored.

    >>> download_url("https://example.org/images.zip", "data")  # doctest: +SKIP
    """
    download(url, Path(root).expanduser() / (filename or os.path.basename(url)), None if md5 is None else f"md5:{md5}")


def extract_archive(from_path: Any, to_path: Any = None, remove_finished: bool = False) -> str:
    """Extracts a zip or tar archive, or decompresses a gzip file.

    Args:
        from_path: The archive.
        to_path: The folder to extract to; by default the folder of the archive.
        remove_finished: Whether to delete the archive afterwards.

    Returns:
        The path of the folder, or of the decompressed file.

    Raises:
        RuntimeError: The file is none of these.

    >>> extract_archive("images.zip", "data")  # doctest: +SKIP
    'data'
    """
    path = Path(from_path)
    into = Path(to_path) if to_path is not None else path.parent
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            packed.extractall(into)
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as opened:
            opened.extractall(into, filter="data")
    elif path.suffix == ".gz":
        import gzip

        into = into / path.stem if to_path is not None else path.with_suffix("")
        part = into.with_name(into.name + ".part")
        try:
            with gzip.open(path) as source, open(part, "wb") as target:
                shutil.copyfileobj(source, target)
            part.replace(into)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    else:
        raise RuntimeError(f"[extract_archive] expected a zip, tar or gz file: got {path.name}")
    if remove_finished:
        path.unlink()
    return str(into)


def download_and_extract_archive(
    url: str,
    download_root: str | os.PathLike[str],
    extract_root: str | os.PathLike[str] | None = None,
    filename: str | os.PathLike[str] | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Downloads an archive and extracts it.

    Args:
        url: The address.
        download_root: The folder for the archive.
        extract_root: The folder to extract to; by default download_root.
        filename: The name of the archive; by default the last part of the address.
        md5: The expected MD5 checksum.
        remove_finished: Whether to delete the archive afterwards.

    >>> download_and_extract_archive("https://example.org/images.zip", "data")  # doctest: +SKIP
    """
    root = Path(download_root).expanduser()
    name = filename or os.path.basename(url)
    download_url(url, root, name, md5)
    extract_archive(root / name, root if extract_root is None else extract_root, remove_finished)


def list_dir(root: str | os.PathLike[str], prefix: bool = False) -> list[str]:
    """Returns the names of the subfolders of a folder.

    Args:
        root: The folder.
        prefix: Whether to return paths instead of names.

    >>> list_dir(".")
    []
    """
    return [os.path.join(root, name) if prefix else name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))]


def list_files(root: str | os.PathLike[str], suffix: str | tuple[str, ...], prefix: bool = False) -> list[str]:
    """Returns the names of the files in a folder that end with a suffix.

    Args:
        root: The folder.
        suffix: The suffix, or a tuple of them.
        prefix: Whether to return paths instead of names.

    >>> with open("a.txt", "w") as file: pass
    >>> list_files(".", ".txt")
    ['a.txt']
    """
    names = [name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name)) and name.endswith(suffix)]
    return [os.path.join(root, name) if prefix else name for name in names]


__getattr__ = absent_names("torchvision.datasets.utils")
