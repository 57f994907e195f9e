"""Locates the files of data sets: in `root`, the folder PYBURN_DATA or the cache, else downloads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..dataset import Dataset, T_co
from ..download import cache_folder, download

Root = str | os.PathLike[str] | None


class NamedSet(Dataset[T_co]):
    """Base class of data sets whose repr has their name and size."""

    _counted = "samples"

    def __init_subclass__(cls, counted: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if counted is not None:
            cls._counted = counted

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} {self._counted})"


class LabelledSet(NamedSet[tuple[Any, Any]]):
    """Base class of data sets with torchvision's constructor, whose samples are (item, target). Subclasses implement `_load`, which sets
    `data` and `targets`, or they override `_sample`.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: Whether to load the training set or the test set.
        transform: Applied to the item.
        target_transform: Applied to the target.
        download: Whether to download missing files.
    """

    data: Any
    targets: Any

    def __init__(
        self,
        root: Root = None,
        train: bool | None = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = True,
    ) -> None:
        self.train, self.transform, self.target_transform = train, transform, target_transform
        self._load(root, download)

    def _load(self, root: Root, download: bool) -> None:
        """Reads the files."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.data)

    def _sample(self, at: int) -> tuple[Any, Any]:
        """Returns an item and its target, before transforms."""
        return self.data[at], self.targets[at]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        item, target = self._sample(range(len(self))[index])
        item = item if self.transform is None else self.transform(item)
        return item, target if self.target_transform is None else self.target_transform(target)


class DataNotFoundError(FileNotFoundError, RuntimeError):
    """Raised when the files of a data set are not found and are not downloaded."""


@dataclass(frozen=True)
class Resource:
    """A downloadable file: its name, URLs and checksum. The source of each checksum is given in a comment."""

    name: str
    urls: tuple[str, ...]
    checksum: str


@dataclass(frozen=True)
class Files:
    """The files of a data set and where to get them.

    Attributes:
        set_name: The name of the data set.
        wanted: The file names, each with alternatives, such as the decompressed file.
        folders: The subfolders to search.
        resources: The downloads.
        manual: Instructions for data sets that cannot be downloaded.
        unpack: Extracts the wanted files from downloaded archives in a folder.
    """

    set_name: str
    wanted: tuple[tuple[str, ...], ...]
    folders: tuple[str, ...]
    resources: tuple[Resource, ...] = ()
    manual: str = ""
    unpack: Callable[[Path], None] | None = None

    def locate(self, root: Root, download_missing: bool, also: Sequence[Path] = ()) -> list[Path]:
        """Returns the paths of the wanted files, in order; downloads them if necessary.

        Args:
            root: The folder to search; None for the default ones.
            download_missing: Whether to download missing files.
            also: Additional folders to search.

        Raises:
            DataNotFoundError: The files are not found and are not downloaded.
        """
        places = [*search_places(root), *also]
        for place in places:
            for folder in (".", *self.folders):
                if root is None and folder == "." and place not in also:
                    continue  # a shared folder of data sets is not the folder of a single one
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


def read_checksums(file: Path) -> dict[str, str]:
    """Reads a list of checksums by file name: lines `algorithm:digest  name`, comments begin with #."""
    rows = (line.split() for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {name: checksum for checksum, name in rows}


def search_places(root: Root) -> list[Path]:
    """Returns the folders to search for data sets: only `root` if given."""
    if root is not None:
        return [Path(root).expanduser()]
    named = os.environ.get("PYBURN_DATA")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def raw_github(repository: str, commit: str, path: str) -> tuple[str, ...]:
    """Returns the URL of a file of a GitHub repository at a commit, whose content cannot change."""
    return (f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",)
