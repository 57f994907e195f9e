"""Where the files of a set are: in `root`, in the folder PYBURN_DATA, in the cache, or at an address from which they are downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..dataset import Dataset, T_co
from ..download import cache_folder, download


class NamedSet(Dataset[T_co]):
    """A set that says its name and how many it holds."""

    _counted = "samples"
    transform: Callable[[Any], Any] | None
    target_transform: Callable[[Any], Any] | None

    def __init_subclass__(cls, counted: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if counted is not None:
            cls._counted = counted

    def __len__(self) -> int:
        raise NotImplementedError

    def _transformed(self, item: Any, target: Any) -> tuple[Any, Any]:
        """A sample after the transforms that the set was made with."""
        if self.transform is not None:
            item = self.transform(item)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return item, target

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} {self._counted})"


class DataNotFoundError(FileNotFoundError, RuntimeError):
    """The files of a set are in none of the places where they may be, and are not downloaded."""


@dataclass(frozen=True)
class Resource:
    """A file that can be downloaded: its name, its addresses, its checksum. Where the checksum is published stands beside each."""

    name: str
    urls: tuple[str, ...]
    checksum: str


@dataclass(frozen=True)
class Files:
    """The files of a set and how to have them.

    `wanted` are their names, each with others that serve as well (a file that is not compressed any more); `folders` are
    the folders, inside of the places where sets are kept, in which they may be; `manual` says what a person can do if they
    cannot be downloaded. `unpack` makes wanted files of downloaded ones that are archives.
    """

    set_name: str
    wanted: tuple[tuple[str, ...], ...]
    folders: tuple[str, ...]
    resources: tuple[Resource, ...] = ()
    manual: str = ""
    unpack: Callable[[Path], None] | None = None

    def locate(self, root: str | os.PathLike[str] | None, download_missing: bool, also: Sequence[Path] = ()) -> list[Path]:
        """The paths of the wanted files, in order."""
        places = [*search_places(root), *also]
        for place in places:
            for folder in (".", *self.folders):
                if root is None and folder == "." and place not in also:
                    continue  # a common folder of sets is not the folder of one
                found = self._in(place / folder)
                if found is not None:
                    return found
        looked = ", ".join(str(place / folder) for place in places for folder in self.folders)
        if not self.resources:
            raise DataNotFoundError(f"{self.set_name} was not found in {looked}, and cannot be downloaded. {self.manual}")
        home = (Path(root) if root is not None else cache_folder()) / self.folders[0]
        if not download_missing:
            raise DataNotFoundError(f"{self.set_name} was not found in {looked}. download=True downloads it to {home}")
        for resource in self.resources:
            download(resource.urls, home / resource.name, resource.checksum)
        if self.unpack is not None:
            self.unpack(home)
        found = self._in(home)
        if found is None:
            raise DataNotFoundError(f"{self.set_name} was downloaded to {home}, but does not contain {self.wanted[0][0]}")
        return found

    def _in(self, folder: Path) -> list[Path] | None:
        paths = []
        for names in self.wanted:
            path = next((folder / name for name in names if (folder / name).is_file()), None)
            if path is None:
                return None
            paths.append(path)
        return paths


def search_places(root: str | os.PathLike[str] | None) -> list[Path]:
    """The folders in which sets are looked for: only `root` where it is given."""
    if root is not None:
        return [Path(root).expanduser()]
    named = os.environ.get("PYBURN_DATA")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def raw_github(repository: str, commit: str, path: str) -> tuple[str, ...]:
    """The address of a file of a public repository as it was at a commit, so that it cannot change."""
    return (f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",)
