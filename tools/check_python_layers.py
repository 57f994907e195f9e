"""Fails when a package of python/ imports one that comes after it (imports inside functions count as well), or when one other than
pyburn.compat imitates PyTorch's private names.

python tools/check_python_layers.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "python"

# Each line may import itself and the lines before it.
LAYERS = [
    [
        "pyburn._core",
        "pyburn._types",
        "pyburn._on_demand",
        "pyburn._cmake",
        "pyburn._entry_points",
        "pyburn._progress",
        "pyburn._html",
        "pyburn._nested",
        "pyburn._forks",
        "pyburn._random",
        "pyburn._schema",
        "pyburn._trees",
        "pyburn._step_recording",
    ],
    ["pyburn.backend", "pyburn.return_types", "pyburn.operations", "pyburn.plugins", "pyburn.stubs"],
    ["pyburn._device"],
    ["pyburn.tensor"],
    ["pyburn.linalg", "pyburn.signal", "pyburn.special", "pyburn.masked"],
    ["pyburn.composites", "pyburn.control_flow"],
    ["pyburn._tensor_autograd", "pyburn.autograd"],
    ["pyburn.amp", "pyburn.cuda", "pyburn.jit", "pyburn.distributions"],
    ["pyburn.nn", "pyburn.module", "pyburn.einops"],
    ["pyburn.optim", "pyburn.lr_scheduler"],
    ["pyburn.io", "pyburn.config"],
    ["pyburn.server"],
    ["pyburn.inference"],
    ["pyburn.steps"],
    ["pyburn.data"],
    ["pyburn.onnx"],
    ["pyburn.utils"],  # PyTorch's names; utils.data is pyburn.data
    ["pyburn.func"],
    ["pyburn.train"],
    ["pyburn.dashboard"],
    ["pyburn.testing"],
    ["pyburn.cli", "pyburn.__main__"],
    ["pyburn.chemistry", "pyburn.eeg", "pyburn.imaging"],
    ["p_vision"],
    ["pyburn.compat"],  # torchvision's models are those of p_vision
]
PLACE = {package: place for place, packages in enumerate(LAYERS) for package in packages}
# From here on packages may use `import pyburn` itself; the packages before it are what pyburn is made of.
FIRST_USER = PLACE["pyburn.dashboard"]
ALLOWED: dict[tuple[str, str], str] = {}
# Private methods and hooks of PyTorch, and tables of its modules: only pyburn.compat has them. The torch backend really uses PyTorch.
PYTORCHS = re.compile(
    r"\b(_all_weights|_check_input_dim|_conv_forward|_ff_block|_flat_weights|_foreach_\w+|_log_api_usage_once|_mha_block|_pytree|_sa_block"
    r"|_qkv_same_embed_dim|_reversed_padding_repeated_twice|__torch_function__|__torch_dispatch__|meta_path)\b|[\"']torch(vision|audio)?\.\w+[\"']"
)
MAY_IMITATE = ("pyburn/compat/", "pyburn/backend/torch_backend/")


def package_of(module: str) -> str:
    """The entry of LAYERS that a module belongs to; `pyburn` for the names of the root."""
    parts = module.split(".")
    return parts[0] if parts[0] == "p_vision" else ".".join(parts[:2])


def imports_of(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """The modules of python/ that a file of `package` imports, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}" if base == "pyburn" else base) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            if isinstance(name, str) and name:
                yield node.lineno, package + name if name.startswith(".") else name


def complaint(importer: str, imported: str) -> str | None:
    """Why a file of the package `importer` may not import a module, or None."""
    target = package_of(imported)
    if target.partition(".")[0] not in ("pyburn", "p_vision") or importer in ("pyburn", target):
        return None
    if target not in PLACE:  # a name of the root
        return None if PLACE[importer] >= FIRST_USER else "the names of pyburn are for users: import the module that has them"
    if PLACE[target] > PLACE[importer]:
        return f"{target} comes after {importer}"
    return None


def violations(root: Path) -> list[str]:
    found = []
    for path in sorted(path for name in ("pyburn", "p_vision") for path in (root / name).rglob("*.py")):
        file = path.relative_to(root)
        parts = [*file.parts[:-1], *([file.stem] if file.stem != "__init__" else [])]
        importer = package_of(".".join(parts))
        if importer not in PLACE and importer != "pyburn":
            found.append(f"{path}:1: {importer} is not in LAYERS")
            continue
        if not file.as_posix().startswith(MAY_IMITATE):
            lines = enumerate(path.read_text().splitlines(), 1)
            found += [f"{path}:{n}: {match[0]} belongs to pyburn.compat" for n, line in lines if (match := PYTORCHS.search(line))]
        for line, imported in imports_of(ast.parse(path.read_text()), ".".join(file.parts[:-1])):
            if (str(file), package_of(imported)) not in ALLOWED and (why := complaint(importer, imported)):
                found.append(f"{path}:{line}: imports {imported}, but {why}")
    return sorted(set(found))


def main() -> int:
    found = violations(SOURCES)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
