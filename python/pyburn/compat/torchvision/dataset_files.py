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
    return verify(fpath, f"md5:{md5}")


def check_integrity(fpath: str | os.PathLike[str], md5: str | None = None) -> bool:
    """Whether a file is there, and has this checksum where one is given."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(
    url: str,
    root: str | os.PathLike[str],
    filename: str | os.PathLike[str] | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Brings a file into a folder, unless it is there."""
    download(url, Path(root).expanduser() / (filename or os.path.basename(url)), None if md5 is None else f"md5:{md5}")


def extract_archive(from_path: Any, to_path: Any = None, remove_finished: bool = False) -> str:
    """Unpacks a zip or tar file, or one file of gzip, beside itself or into a folder, and says where."""
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
    """Brings an archive into a folder and unpacks it."""
    root = Path(download_root).expanduser()
    name = filename or os.path.basename(url)
    download_url(url, root, name, md5)
    extract_archive(root / name, root if extract_root is None else extract_root, remove_finished)


def list_dir(root: str | os.PathLike[str], prefix: bool = False) -> list[str]:
    """The folders in a folder."""
    return [os.path.join(root, name) if prefix else name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))]


def list_files(root: str | os.PathLike[str], suffix: str | tuple[str, ...], prefix: bool = False) -> list[str]:
    """The files in a folder whose names end so."""
    names = [name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name)) and name.endswith(suffix)]
    return [os.path.join(root, name) if prefix else name for name in names]


__getattr__ = absent_names("torchvision.datasets.utils")
