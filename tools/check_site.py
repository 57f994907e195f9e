"""Fails when a page of the built site links to a page or an anchor that does not exist, or loads anything from another host.

python tools/check_site.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}


class Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in LOADS:
                self.loads.add(value)
            elif tag == "a" and name == "href":
                self.links.add(value)


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text())
    return page


def problems(root: Path) -> list[str]:
    pages = {path: read(path) for path in sorted(root.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(root)
        found += [f"{name}: loads {target} from another host" for target in page.loads if urlsplit(target).netloc]
        for target in sorted(page.links | page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or name.name == "404.html":
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if file.is_dir():
                file /= "index.html"
            if not file.exists():
                found.append(f"{name}: no such page: {target}")
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors | {"__top"}:
                found.append(f"{name}: no such anchor: {target}")
    if not pages:
        found.append(f"{root}: no pages")
    return found


def main() -> int:
    found = problems(Path(sys.argv[1]).resolve())
    print("\n".join(found[:50]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
