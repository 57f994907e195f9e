"""Reads the rows of src/pyburn/ops/*.cpp: schemas, doc lines, samples. Standard library only."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPS = ROOT / "src" / "pyburn" / "ops"
sys.path.append(str(ROOT / "python" / "pyburn"))  # last: names of the standard library stay what they are

from _schema import ANNOTATIONS  # type: ignore[import-not-found]  # noqa: E402

# schema type -> C++ parameter type, C++ argument accessor of the bindings
_CPP_TYPES = {
    "Tensor": ("const TensorHandle&", "tensor"),
    "Tensor?": ("const TensorHandle&", "optional_tensor"),
    "Tensor[]": ("const Tensors&", "tensors"),
    "Tensor|Scalar": ("const Operand&", "operand"),
    "Scalar": ("const Scalar&", "scalar"),
    "Scalar?": ("const std::optional<Scalar>&", "optional_scalar"),
    "int": ("int64_t", "integer"),
    "int?": ("std::optional<int64_t>", "optional_integer"),
    "int[]": ("const Dims&", "dims"),
    "int[]?": ("const OptionalDims&", "optional_dims"),
    "float": ("double", "number"),
    "float?": ("std::optional<double>", "optional_number"),
    "float[]": ("const Numbers&", "numbers"),
    "float[]?": ("const OptionalNumbers&", "optional_numbers"),
    "bool": ("bool", "boolean"),
    "bool?": ("std::optional<bool>", "optional_boolean"),
    "str": ("const std::string&", "text"),
    "str?": ("const std::optional<std::string>&", "optional_text"),
    "DType": ("DType", "dtype"),
    "DType?": ("std::optional<DType>", "optional_dtype"),
    "Device?": ("Device*", "optional_device"),
    "Generator?": ("Generator*", "optional_generator"),
}
# ... and the Python annotation
TYPES = {name: (*cpp, ANNOTATIONS[name]) for name, cpp in _CPP_TYPES.items()}


@dataclass
class Parameter:
    name: str
    type: str
    default: str | None  # Python text, or None when required
    keyword_only: bool


@dataclass
class Entry:
    """An operation (with a row) or a function (a composite)."""

    name: str  # unique: max.dim
    schema: str
    doc: str
    family: str
    row: bool
    kind: str = ""
    attrs: str = ""
    example: str = ""
    returns: str = "Tensor"
    parameters: list[Parameter] = field(default_factory=list)
    in_place: bool = False
    out: bool = False
    wrapped: bool = False  # a row that users call through a composite: conv2d.any stands before conv2d

    @property
    def function(self) -> str:
        """What users call: several entries may be forms of one function."""
        return self.name.split(".")[0]

    @property
    def form(self) -> str:
        return self.name.partition(".")[2]

    @property
    def symbol(self) -> str:
        return self.name.replace(".", "_")

    @property
    def results(self) -> list[str]:
        """The names of the results, where there are several."""
        return [part.split()[1] for part in self.returns[1:-1].split(", ")] if self.returns.startswith("(") else []

    @property
    def public(self) -> bool:
        """Rows without a sensible call from attributes (random, optimiser steps, those that hold graphs) have no function."""
        return not self.wrapped and not (
            self.row and (self.name in {"random", "fused", "cond", "while_loop", "scan", "extent_of"} or self.kind == "update")
        )

    @property
    def is_method(self) -> bool:
        return bool(self.parameters) and self.parameters[0].name == "input" and self.parameters[0].type.startswith("Tensor")

    @property
    def has_inplace(self) -> bool:
        return self.is_method and (self.in_place or (self.row and self.kind == "elementwise" and self.name != "cast"))

    @property
    def has_out(self) -> bool:
        if not self.row:
            return self.out or self.has_inplace
        return self.public and self.kind not in {"view", "dynamic", "fill"} and self.name != "reshape" and self.returns != "Tensor[]"


def parse_schema(schema: str) -> tuple[str, list[Parameter], str]:
    match = re.fullmatch(r"([\w.]+)\((.*?)\) -> (.+)", schema)
    if not match:
        raise SystemExit(f"not a schema: {schema}")
    name, body, returns = match.groups()
    parameters, keyword_only = [], False
    for part in body.split(", ") if body else []:
        if part == "*":
            keyword_only = True
            continue
        typed, _, default = part.partition("=")
        type_name, _, parameter = typed.rpartition(" ")
        if type_name not in TYPES:
            raise SystemExit(f"unknown type {type_name!r} in: {schema}")
        parameters.append(Parameter(parameter, type_name, default or None, keyword_only))
    return name, parameters, returns


def _strings(text: str) -> str:
    """The value of adjacent C++ string literals, raw ones included."""
    parts = re.findall(r'R"\((.*?)\)"|"((?:[^"\\]|\\.)*)"', text, re.S)
    return "".join(raw if raw else ast.literal_eval('"' + plain + '"') for raw, plain in parts)


_FIELD = re.compile(r'\.(\w+)\s*=\s*((?:R"\(.*?\)"|"(?:[^"\\]|\\.)*"|[^",}]|\s)+)', re.S)


def _fields(body: str) -> dict[str, str]:
    fields = {}
    for key, value in _FIELD.findall(body):
        value = value.strip()
        if '"' in value:
            fields[key] = _strings(value)
        else:
            fields[key] = value
    return fields


def _balanced(source: str, start: int) -> int:
    """Index after the parenthesis that closes the one at start; string literals are skipped."""
    depth, i = 0, start
    while i < len(source):
        if source.startswith('R"(', i):
            i = source.index(')"', i) + 2
            continue
        if source[i] == '"':
            i += 1
            while source[i] != '"':
                i += 2 if source[i] == "\\" else 1
        elif source[i] in "({":
            depth += 1
        elif source[i] in ")}":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    raise SystemExit("unbalanced parentheses")


def read_family(path: Path) -> list[Entry]:
    source = path.read_text()
    family, entries = path.stem, []
    helpers = {}  # constexpr helpers that complete rows: the kind may be given there
    shared = "".join(header.read_text() for header in sorted(path.parent.glob("*.h")))
    for name, body in re.findall(r"constexpr OpInfo (\w+)\([^)]*\) \{(.*?)\n\}", shared + source, re.S):
        helpers[name] = body
    for match in re.finditer(r"constinit OpInfo (\w+) =\s+(\w+)(<[^>]*>?[^(]*>)?\(", source):
        body = source[match.end() - 1 : _balanced(source, match.end() - 1)]
        text = source[match.start() : match.end()] + body
        chain = [h for h in helpers if re.search(rf"\b{h}\(", text)]
        chain += [h for h in helpers for user in chain if re.search(rf"\b{h}\(", helpers[user])]
        kinds = [k for h in chain for k in re.findall(r"\.kind = Kind::(\w+)", helpers[h])]
        fields = _fields(body)
        kind = fields["kind"].split("::")[-1] if "kind" in fields else (kinds or ["opaque"])[0]
        define = re.search(r"define(_view)?<\s*([\w:]+),", text + "".join(helpers[h] for h in chain))
        if not define:
            raise SystemExit(f"{path.name}: no define<...> for {match.group(1)}")
        entry = Entry(
            name=fields["schema"].split("(")[0],
            schema=fields["schema"],
            doc=fields["doc"],
            family=family,
            row=True,
            kind="view" if define.group(1) else kind,
            attrs=define.group(2),
            example=fields.get("example", ""),
            in_place=fields.get("in_place") == "true",
        )
        if entry.symbol != match.group(1).rstrip("_"):
            raise SystemExit(f"{path.name}: the row {match.group(1)} has the schema of {entry.name}")
        entries.append(entry)
    if len(entries) != source.count("constinit OpInfo "):
        raise SystemExit(f"{path.name}: a row is written in a way that this script does not understand")
    for block in re.finditer(r"constinit FunctionInfo functions\[\] = (\{)", source):
        body = source[block.start(1) + 1 : _balanced(source, block.start(1)) - 1]
        i = 0
        while (start := body.find("{", i)) >= 0:
            i = _balanced(body, start)
            fields = _fields(body[start + 1 : i - 1])
            entries.append(
                Entry(
                    name=fields["schema"].split("(")[0],
                    schema=fields["schema"],
                    doc=fields["doc"],
                    family=family,
                    row=False,
                    example=fields.get("example", ""),
                    in_place=fields.get("in_place") == "true",
                    out=fields.get("out") == "true",
                )
            )
    for entry in entries:
        _, entry.parameters, entry.returns = parse_schema(entry.schema)
    return entries


def read_aliases(path: Path = OPS / "aliases.h") -> dict[str, str]:
    """Other names of functions: {"absolute": "abs"}."""
    return dict(re.findall(r'\{"(\w+)", "(\w+)"\},', path.read_text()))


def read_all(folder: Path = OPS) -> list[Entry]:
    entries = [e for path in sorted(folder.glob("*.cpp")) for e in read_family(path)]
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise SystemExit(f"two entries are called {entry.name}")
        seen.add(entry.name)
    for entry in entries:
        entry.wrapped = f"{entry.name}.any" in seen
    return entries


if __name__ == "__main__":
    for e in read_all():
        print(f"{e.family:10} {'op' if e.row else 'fn':3} {e.name:16} {e.kind:12} {e.attrs:10} {e.schema}")
