"""Hooks of mkdocs.yml: generated pages, and links that leave docs/.

- The reference is written from the schemas and the docstrings of the built package.
- Pages outside docs/ that are linked (examples, benchmarks, CONTRIBUTING.md ...) become pages of the site.
- Links to source files, which are no pages, become their text.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

import operation_pages  # noqa: E402
import python_pages  # noqa: E402

PROJECT = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/NOTES.md", "benchmarks/RESULTS.md"]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_sources: dict[str, str] = {}  # page of the site -> its file in the repository


def example_pages() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*/README.md"))


def place(source: str) -> str | None:
    """The page of the site that shows a file of the repository."""
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    if source == "README.md":
        return "README.md"
    if source == "examples/README.md":
        return "gallery/README.md"
    if source.startswith("examples/") and source.endswith("/README.md"):
        return f"gallery/{source.split('/')[1]}.md"
    if source in PROJECT:
        return f"project/{source.split('/')[-1].lower()}"
    if source == "benchmarks/RESULTS.svg":
        return "images/benchmarks-all.svg"
    return None


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    operations = {"Operations": [{title: path} for path, (title, _) in operation_pages.pages().items()]}
    packages: list = []
    layers: list = []
    for path, (title, _) in python_pages.pages().items():
        (layers if title.startswith("nn: ") else packages).append({title.removeprefix("nn: "): path})
    position = next(i for i, page in enumerate(packages) if "pyburn.nn.functional" in page)
    packages.insert(position, {"pyburn.nn": layers})
    for section in config.nav or ():
        if "Reference" in section:
            section["Reference"] = [section["Reference"][0], operations, *packages, *section["Reference"][1:]]
        if "Examples" in section:
            section["Examples"] += [{source.split("/")[1]: place(source)} for source in example_pages()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    _sources.clear()
    for file in files:
        _sources[file.src_uri] = f"docs/{file.src_uri}"
    for path, (_, text) in {**operation_pages.pages(), **python_pages.pages()}.items():
        first = path.startswith(("reference/operations/", "reference/pyburn/nn/"))  # what people look for most
        files.append(File.generated(config, path, content="---\nsearch:\n  boost: 2\n---\n" * first + text))
        _sources[path] = f"docs/{path}"
    for source in [*PROJECT, "examples/README.md", *example_pages()]:
        shown = place(source)
        assert shown
        head = "---\nsearch:\n  exclude: true\n---\n" if source == "benchmarks/RESULTS.md" else ""  # hundreds of rows of figures
        files.append(File.generated(config, shown, content=head + (ROOT / source).read_text()))
        _sources[shown] = source
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri
    source = _sources[here]
    if here == "reference/README.md":
        markdown += python_pages.overview()

    def rewritten(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        path, mark, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return match[0]
        named = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        new = place(named)
        if new is None and (ROOT / named / "README.md").exists():
            new = place(f"{named}/README.md")
        if new is None or (files.get_file_from_path(new) is None and not image):
            return label if (ROOT / named).exists() else match[0]  # a file of the repository that is no page
        return f"{image}[{label}]({posixpath.relpath(new, posixpath.dirname(here) or '.')}{mark}{anchor})"

    parts = FENCE.split(markdown)
    return "".join(part if i % 2 else LINK.sub(rewritten, part) for i, part in enumerate(parts))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The site loads nothing from other hosts: its own script takes the place of the theme's."""
    script = posixpath.relpath("javascripts/file-worker.js", posixpath.dirname(page.url) or ".")
    return output.replace("https://unpkg.com/iframe-worker/shim", script)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    return output_content.replace("https://unpkg.com/iframe-worker/shim", "javascripts/file-worker.js")


def on_post_build(config: MkDocsConfig) -> None:
    size = sum(path.stat().st_size for path in Path(config.site_dir).rglob("*") if path.is_file())
    pages = sum(1 for _ in Path(config.site_dir).rglob("*.html"))
    print(f"{pages} pages, {size / 1e6:.1f} MB in {os.path.relpath(config.site_dir)}")
