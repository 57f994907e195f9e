"""Checks docstrings and messages.

- Coverage: public functions and classes have a summary, Args, Returns, Raises and an example. The share of these parts that are there may
  only rise: it is recorded per package in tools/docstring_coverage.json.
- Phrases of tools/docstring_phrases.txt appear in no docstring, no message, no C++ comment and no page of the documentation.
- Messages name public functions: none begins with [_...].

python tools/check_docstrings.py            check, and print the coverage
python tools/check_docstrings.py --write    record a higher coverage
python tools/check_docstrings.py --missing pyburn.train   list what is missing
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schema import read_all

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "python"
RECORD = ROOT / "tools" / "docstring_coverage.json"
PHRASES = ROOT / "tools" / "docstring_phrases.txt"
STUBS_OF_CPP = {"pyburn/_functions.pyi", "pyburn/nn/_layers.pyi", "pyburn/_core.pyi"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass
class Documented:
    name: str
    package: str
    demanded: list[str]
    missing: list[str]


def package_of(path: Path) -> str:
    parts = path.relative_to(PYTHON).with_suffix("").parts
    inner = parts[1] if len(parts) > 2 or not parts[1].startswith("_") else "operations" if parts[1] == "_functions" else ""
    return f"{parts[0]}.{inner}" if inner else parts[0]


def exported_names() -> dict[str, set[str]]:
    """Per package, the names that some module of it lists in __all__ or imports into an __init__."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted([*PYTHON.rglob("*.py"), *PYTHON.rglob("__init__.pyi")]):
        tree = ast.parse(path.read_text())
        names = found[package_of(path)]
        for node in tree.body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                names |= {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            elif isinstance(node, ast.ImportFrom) and path.stem == "__init__":
                imported = {alias.asname or alias.name for alias in node.names}
                names |= imported
                if node.module and node.level == 1:
                    found[f"{path.relative_to(PYTHON).parts[0]}.{node.module.split('.')[0]}"] |= imported
    return found


def public_files() -> Iterator[Path]:
    for path in sorted([*PYTHON.rglob("*.py"), *PYTHON.rglob("*.pyi")]):
        name = path.relative_to(PYTHON).as_posix()
        parts = name.removesuffix(path.suffix).split("/")
        private = any(part.startswith("_") and part != "__init__" for part in parts)
        if name in STUBS_OF_CPP or (path.suffix == ".py" and not private and parts[0] in ("pyburn", "p_vision")):
            yield path


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    a = node.args
    names = [p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs]] + [p.arg for p in (a.vararg, a.kwarg) if p]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def returns_something(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.returns is not None and ast.unparse(node.returns) not in ("None", "Self", "NoReturn")


def raises_something(node: ast.AST) -> bool:
    """Whether the body itself raises an error that it makes."""
    return any(
        isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call) and "NotImplementedError" not in ast.unparse(n.exc) for n in ast.walk(node)
    )


def assess(node: Definition, package: str, owner: str = "") -> Documented:
    """What a definition should say, and what it does not."""
    doc = ast.get_docstring(node) or ""
    demanded = {"summary": bool(doc.split("\n\n")[0].strip())}
    function = node
    if isinstance(node, ast.ClassDef):
        function = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)  # type: ignore[assignment]
        doc += "\n" + (ast.get_docstring(function) or "" if function else "")  # type: ignore[arg-type]
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if parameters(function):
            demanded["Args"] = "Args:" in doc or "Attributes:" in doc
        if not isinstance(node, ast.ClassDef) and returns_something(function):
            said = re.search(r"Returns:|Yields:|\b[Rr]eturns?\b|\bgives\b", doc)  # a summary that says it will do
            demanded["Returns"] = bool(said) or any("property" in ast.unparse(d) for d in function.decorator_list)
        if raises_something(function):
            demanded["Raises"] = bool(re.search(r"Raises:|\b[Rr]aises\b", doc))
    error = isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith(("Error", "Exception", "Warning")) for base in node.bases)
    if not owner and not error:
        demanded["example"] = ">>> " in doc
    name = f"{owner}.{node.name}" if owner else node.name
    return Documented(name, package, list(demanded), [part for part, there in demanded.items() if not there])


def definitions() -> Iterator[Documented]:
    exported = exported_names()
    for path in public_files():
        package = package_of(path)
        of_cpp = path.suffix == ".pyi"
        seen: set[str] = set()
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, Definition) or node.name.startswith("_"):
                continue
            if not of_cpp and node.name not in exported[package] and node.name not in exported[package.split(".")[0]]:
                continue
            overload = any(ast.unparse(d) == "overload" for d in node.decorator_list)
            if (node.name in seen) if of_cpp else overload:
                continue  # an overload: the first signature of a stub, the implementation elsewhere, has the docstring
            seen.add(node.name)
            yield assess(node, package)
            if not isinstance(node, ast.ClassDef) or of_cpp:
                continue
            for method in node.body:
                if (
                    isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
                    and not method.name.startswith("_")
                    and ast.get_docstring(method)
                ):
                    yield assess(method, package, node.name)


def coverage() -> tuple[dict[str, float], list[Documented]]:
    found = list(definitions())
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for d in found:
        counts[d.package][0] += len(d.demanded) - len(d.missing)
        counts[d.package][1] += len(d.demanded)
    return {package: int(1000 * there / of) / 10 for package, (there, of) in sorted(counts.items())}, found


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a Python file with their lines: docstrings and messages."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def cpp_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and strings of a C++ file with their lines."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in re.finditer(r'"(?:[^"\\]|\\.)*"|//.*', line):
            yield number, found[0]


def bad_texts() -> list[str]:
    phrases = [line for line in PHRASES.read_text().splitlines() if line and not line.startswith("#")]
    pattern = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in phrases), re.IGNORECASE)
    internal = re.compile(r"^\[(_\w+|class_loss)\]")
    found = []
    for folder in ("pyburn", "p_vision"):
        for path in sorted((PYTHON / folder).rglob("*.py")):
            for number, text in texts(path):
                if match := pattern.search(text):
                    found.append(f"{path.relative_to(ROOT)}:{number}: a phrase to avoid: {match[0]!r}")
                if match := internal.match(text):
                    found.append(f"{path.relative_to(ROOT)}:{number}: an internal name in a message: {match[0]}")
    for sources in (ROOT / "src" / "pyburn", PYTHON / "bindings"):
        for path in sorted([*sources.rglob("*.h"), *sources.rglob("*.cpp")]):
            if path.parent.name == "generated":
                continue
            for number, text in cpp_texts(path):
                if match := pattern.search(text):
                    found.append(f"{path.relative_to(ROOT)}:{number}: a phrase to avoid: {match[0]!r}")
    for e in read_all():
        if match := pattern.search(e.doc):
            found.append(f"src/pyburn/ops/{e.family}.cpp: {e.name}: a phrase to avoid: {match[0]!r}")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{page.relative_to(ROOT)}:{number}: a phrase to avoid: {match[0]!r}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record a higher coverage")
    parser.add_argument("--missing", metavar="PACKAGE", help="list what the docstrings of a package do not say")
    options = parser.parse_args()
    shares, found = coverage()
    if options.missing:
        for d in found:
            if d.package == options.missing and d.missing:
                print(f"{d.name}: {', '.join(d.missing)}")
        return 0
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    fallen = [f"{p}: {shares[p]} % of the parts, recorded are {old} %" for p, old in recorded.items() if shares.get(p, 100) < old]
    wrong = bad_texts()
    for line in [*wrong, *fallen]:
        print(line)
    if options.write and not fallen:
        RECORD.write_text(json.dumps(shares, indent=1) + "\n")
    total = sum(len(d.demanded) for d in found)
    there = total - sum(len(d.missing) for d in found)
    print(f"docstrings: {there} of {total} parts ({100 * there / total:.1f} %); " + ", ".join(f"{p} {s}" for p, s in shares.items()))
    return 1 if wrong or fallen else 0


if __name__ == "__main__":
    sys.exit(main())
