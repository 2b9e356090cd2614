"""Check the budgets that keep the code readable: `python dev/sizes.py [REPOSITORY]`.

Lines alone can be bought with density, so tokens are counted too. Words used here:

    code line       a line with at least one token that is neither comment nor docstring
    tokens a line   tokens per code line, averaged over a file of the package that defines
                    something; an f-string counts as one token, so that every Python counts alike
    function size   its lines without decorators and docstring
    flag            a switch of our own: a `tapeless_...` row in config.py, or a TAPELESS_... name
    reader's floors F0 to F7, where every function and class has a docstring. Not asked of: nested
                    functions, double-underscore methods, overloads, and methods that fill a slot
                    documented on a base class in core/ (a primitive's rules, a trace's `process`)

The budgets stand in BUDGETS. A table is printed, and every excess below it, one a line.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BUDGETS", "excesses", "measure"]

BUDGETS = {
    "core and transforms, code lines": 2500,
    "core and transforms, all lines": 4000,
    "lines of a file": 700,
    "lines of a test file": 600,
    "lines of a function": 60,
    "tokens a code line": 11.0,
    "flags": 15,
}
READERS_FLOORS = set(
    "util tree core kernel prims transforms control compiler runtime api "
    "dtypes.py config.py errors.py".split()
)
SLOT_FOLDERS = ("core",)
FLAG = re.compile(r"\bTAPELESS_[A-Z][A-Z_]*|(?<=\bFlag\(\")tapeless_\w+")
# The brackets keep this line from matching itself.
TODO_WITHOUT_ISSUE = re.compile(r"#.*\b(?:TO[D]O|FI[X]ME|XX[X])\b(?!\(#\d+\))")
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
SKIPPED |= {tokenize.ENCODING, tokenize.ENDMARKER}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class FileSize:
    """What was measured in one file."""

    path: Path
    lines: int
    code_lines: int
    tokens: int
    longest_function: tuple[int, str]
    undocumented: tuple[str, ...]
    defines: bool
    has_all: bool
    flags: frozenset[str]
    todos: tuple[int, ...]

    @property
    def density(self) -> float:
        """Tokens a code line."""
        return self.tokens / self.code_lines if self.code_lines else 0.0


def documented_nodes(tree: ast.Module) -> Iterator[ast.Module | Definition]:
    """Yield the nodes of a file that have a docstring."""
    kinds = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            yield node


def docstring_lines(node: ast.Module | Definition) -> set[int]:
    """Return the numbers of the lines that a node's docstring takes."""
    if ast.get_docstring(node, clean=False) is None:
        return set()
    return set(range(node.body[0].lineno, node.body[0].end_lineno + 1))


def count_tokens(text: str, prose: set[int]) -> tuple[int, int]:
    """Return the numbers of code lines and of tokens in a file, without the lines in `prose`."""
    start = getattr(tokenize, "FSTRING_START", None)
    end = getattr(tokenize, "FSTRING_END", None)
    lines: set[int] = set()
    tokens = depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in SKIPPED or token.start[0] in prose:
            continue
        lines.update(range(token.start[0], token.end[0] + 1))
        depth -= token.type == end
        tokens += depth == 0
        depth += token.type == start
        # The start of an f-string was counted just now, and its end is not counted again.
        tokens -= depth == 0 and token.type == end
    return len(lines), tokens


def definitions(tree: ast.Module) -> Iterator[tuple[Definition, ast.ClassDef | None]]:
    """Yield the functions and classes of a file with the class around each; none from functions."""
    todo: list[tuple[ast.AST, ast.ClassDef | None]] = [(node, None) for node in tree.body]
    while todo:
        node, around = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node, around
        if isinstance(node, ast.ClassDef):
            todo += [(child, node) for child in node.body]
        elif isinstance(node, ast.If | ast.Try | ast.With):
            todo += [(child, around) for child in ast.iter_child_nodes(node)]


def slots_in(package: Path) -> set[str]:
    """Return the names of the documented methods of the classes that others fill in."""
    names = set()
    for folder in SLOT_FOLDERS:
        for path in (package / folder).glob("*.py"):
            for node, around in definitions(ast.parse(path.read_text())):
                if around and ast.get_docstring(node):
                    names.add(node.name)
    return names


def is_overload(node: Definition) -> bool:
    """Tell whether a definition is a signature only, decorated with `overload`."""
    return any(isinstance(name, ast.Name) and name.id == "overload" for name in node.decorator_list)


def undocumented_in(tree: ast.Module, slots: set[str]) -> tuple[str, ...]:
    """Return `name:line` of every definition that lacks the docstring it should have."""
    missing = []
    for node, around in definitions(tree):
        is_dunder = node.name.startswith("__") and node.name.endswith("__")
        fills_slot = around is not None and bool(around.bases) and node.name in slots
        excused = is_dunder or fills_slot or is_overload(node)
        if not (ast.get_docstring(node) or excused):
            missing.append(f"{node.name}:{node.lineno}")
    return tuple(missing)


def longest_function_in(tree: ast.Module) -> tuple[int, str]:
    """Return the size and the `name:line` of the longest function of a file."""
    sizes = [(0, "")]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = node.end_lineno - node.lineno + 1 - len(docstring_lines(node))
            sizes.append((size, f"{node.name}:{node.lineno}"))
    return max(sizes)


def assigns_all(tree: ast.Module) -> bool:
    """Tell whether a file assigns `__all__`, or defines nothing, as facades do."""
    targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return "__all__" in names or not any(definitions(tree))


def measure(path: Path, slots: set[str]) -> FileSize:
    """Measure one file."""
    text = path.read_text()
    tree = ast.parse(text, str(path))
    prose = set().union(*(docstring_lines(node) for node in documented_nodes(tree)))
    code_lines, tokens = count_tokens(text, prose)
    lines = text.splitlines()
    return FileSize(
        path=path,
        lines=len(lines),
        code_lines=code_lines,
        tokens=tokens,
        longest_function=longest_function_in(tree),
        undocumented=undocumented_in(tree, slots),
        defines=any(definitions(tree)),
        has_all=assigns_all(tree),
        flags=frozenset(name.upper() for name in FLAG.findall(text)),
        todos=tuple(n for n, line in enumerate(lines, 1) if TODO_WITHOUT_ISSUE.search(line)),
    )


def sources(root: Path, *folders: str) -> list[Path]:
    """Return the Python files below the given folders of a repository."""
    return sorted(path for folder in folders for path in (root / folder).rglob("*.py"))


def core_lines(root: Path, sizes: list[FileSize]) -> tuple[int, int]:
    """Return the code lines and all lines of core and transforms."""
    homes = (root / "tapeless/core", root / "tapeless/transforms")
    core = [size for size in sizes if any(home in size.path.parents for home in homes)]
    return sum(size.code_lines for size in core), sum(size.lines for size in core)


def excesses(root: Path) -> list[str]:
    """Return one line of text for everything in a repository that is over its budget."""
    slots = slots_in(root / "tapeless")
    package = [measure(path, slots) for path in sources(root, "tapeless")]
    around = [measure(path, slots) for path in sources(root, "dev", "examples", "tests")]
    found = []
    for kind, value in zip(("code", "all"), core_lines(root, package), strict=True):
        if value > BUDGETS[f"core and transforms, {kind} lines"]:
            found.append(f"core and transforms: {value} {kind} lines")
    flags = frozenset().union(*(size.flags for size in package))
    if len(flags) > BUDGETS["flags"]:
        found.append(f"{len(flags)} flags: {', '.join(sorted(flags))}")
    for size in package + around:
        found += file_excesses(size, root)
    for size in package:
        if size.defines and size.density > BUDGETS["tokens a code line"]:
            found.append(f"{size.path}: {size.density:.1f} tokens a code line")
        if not size.has_all:
            found.append(f"{size.path}: no __all__")
        if size.path.relative_to(root / "tapeless").parts[0] in READERS_FLOORS:
            found += [f"{size.path}: no docstring on {name}" for name in size.undocumented]
    return found


def file_excesses(size: FileSize, root: Path) -> list[str]:
    """Return the excesses of one file that any folder may have."""
    is_test = root / "tests" in size.path.parents
    limit = BUDGETS["lines of a test file" if is_test else "lines of a file"]
    found = []
    if size.lines > limit:
        found.append(f"{size.path}: {size.lines} lines, {limit} allowed")
    if size.longest_function[0] > BUDGETS["lines of a function"]:
        lines, name = size.longest_function
        found.append(f"{size.path}: function {name} has {lines} lines")
    found += [f"{size.path}:{line}: a to-do without an issue number" for line in size.todos]
    return found


def table(root: Path) -> str:
    """Return a table of the package's sizes, a row for each folder."""
    slots = slots_in(root / "tapeless")
    folders: dict[str, list[FileSize]] = {}
    for path in sources(root, "tapeless"):
        parts = path.relative_to(root / "tapeless").parts
        folders.setdefault(parts[0] if parts[1:] else ".", []).append(measure(path, slots))
    everything = [size for sizes in folders.values() for size in sizes]
    header = f"{'folder':12}{'files':>6}{'lines':>8}{'code':>8}{'tokens/line':>13}{'longest':>9}"
    rows = [header]
    for name, sizes in [*sorted(folders.items()), ("all", everything)]:
        code = sum(size.code_lines for size in sizes)
        density = sum(size.tokens for size in sizes) / max(code, 1)
        longest = max((size.lines for size in sizes), default=0)
        lines = sum(size.lines for size in sizes)
        rows.append(f"{name:12}{len(sizes):6}{lines:8,}{code:8,}{density:13.1f}{longest:9}")
    code, lines = core_lines(root, everything)
    flags = frozenset().union(*(size.flags for size in everything))
    rows.append(f"core and transforms: {code:,} code lines of 2,500, {lines:,} lines of 4,000")
    rows.append(f"flags: {len(flags)} of {BUDGETS['flags']}: {' '.join(sorted(flags))}")
    return "\n".join(rows)


def main() -> int:
    """Print the table and the excesses, and return the process's exit status."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    found = excesses(root)
    print(table(root))
    print("\n".join(found) or "sizes: within budget")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
