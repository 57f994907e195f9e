"""What the dashboard changes in a run folder: the display name, notes and tags in notes.json, and deletion."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..train.run.checked_fields import checked_notes
from ..train.run.claim import EVENTS, FILES, FOLDERS
from ..train.run.inside import replace_inside
from ..train.run.lock import NAME as LOCK
from ..train.run.lock import RunLock
from ..train.run.reader import RunRecord

_LONGEST = {"name": 200, "notes": 20_000, "tag": 50}
_MOST_TAGS = 50


def annotate(record: RunRecord, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes the fields `name`, `notes` and `tags` of notes.json; fields that are not given stay.

    Raises:
        ValueError: A field has the wrong type or is too long.
    """
    given = {key: changes[key] for key in ("name", "notes", "tags") if key in changes}
    checked = checked_notes(given)
    if checked.keys() != given.keys() or checked.get("tags", []) != given.get("tags", []):
        raise ValueError("name and notes are strings, tags a list of strings")
    tags = list(dict.fromkeys(tag.strip() for tag in checked.get("tags", []) if tag.strip()))
    long = any(len(checked.get(key, "")) > _LONGEST[key] for key in ("name", "notes")) or any(len(tag) > _LONGEST["tag"] for tag in tags)
    if long or len(tags) > _MOST_TAGS:
        raise ValueError(
            f"at most {_LONGEST['name']} characters of name, {_LONGEST['notes']} of notes, {_MOST_TAGS} tags of {_LONGEST['tag']}"
        )
    found = {**record.notes, **checked, **({"tags": tags} if "tags" in checked else {})}
    replace_inside(record.folder, "notes.json", (json.dumps(found, indent=1) + "\n").encode())
    return found


def delete(record: RunRecord, key: str | None) -> dict[str, Any]:
    """Deletes the files that a run wrote; other files in its folder stay.

    Args:
        record: The run.
        key: None to ask first: the result says what would be deleted, with the key that the second call needs. The key becomes invalid
            when the run changes.

    Raises:
        ValueError: The run is active, or the key is wrong.
        RunInUseError: A process writes to the run.
    """
    if record.state in ("running", "paused"):
        raise ValueError("a run that is active cannot be deleted: stop it first")
    paths, folders = _contents(record.folder)
    sizes = {str(path): path.lstat().st_size for path in paths}
    proof = hashlib.blake2b(
        json.dumps([sorted(sizes.items()), record.status.get("created")]).encode("utf-8", "backslashreplace"), digest_size=12
    )
    if key is None:
        return {"files": len(sizes), "bytes": sum(sizes.values()), "key": proof.hexdigest()}
    if key != proof.hexdigest():
        raise ValueError("the run has changed meanwhile: ask again")
    lock = RunLock(record.folder, links=True) if (record.folder / LOCK).is_file() else None  # links are removed, not followed
    try:
        (record.folder / "run.json").unlink(missing_ok=True)  # first: the folder is no run from here on
        for path in paths:
            if path.parent == record.folder:
                path.unlink(missing_ok=True)
        for folder in folders:
            shutil.rmtree(folder)  # resists links that somebody inserts meanwhile
    finally:
        if lock is not None:
            lock.release()
    with contextlib.suppress(OSError):  # other files remain
        record.folder.rmdir()
    return {"deleted": len(sizes)}


def _contents(folder: Path) -> tuple[list[Path], list[Path]]:
    """Returns the files that `delete` removes, and the folders. Links are removed, not followed."""
    is_run = (folder / "run.json").is_file()  # else it holds event files alone
    below = [folder / name for name in FOLDERS if is_run and (folder / name).is_dir() and not (folder / name).is_symlink()]
    files = [*(folder / name for name in ((*FILES, LOCK) if is_run else ("notes.json",))), *folder.glob(EVENTS)]
    files += [Path(here, name) for start in below for here, _, names in os.walk(start) for name in names]
    return [path for path in files if path.is_symlink() or path.is_file()], below
