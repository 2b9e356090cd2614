"""Check that imports only go down: `python dev/floors.py [PACKAGE_FOLDER]`.

The package is a house (docs/architecture.md). Each file stands on a floor, and may import files of
lower floors and of its own floor, as long as no import leads back to it. So the floors can be read,
tested and understood from the bottom up, each without the ones above.

    edge      "file A imports file B", found anywhere in A: at the top, or as the name of a module
              given to the late loader in `util/lazy.py`
    upward    an edge to a higher floor
    nested    an import statement below the top level of a file; `if TYPE_CHECKING:` is no exception
    cycle     files that reach each other

Each of the last three is a fault. Importing a package's submodule also runs the package's
`__init__`; those are facades or empty, and the check does not count that as an edge.
"""

import ast
import graphlib
import sys
from pathlib import Path

__all__ = ["faults"]

FLOORS = (
    "util tree dtypes config errors",
    "core kernel",
    "prims",
    "transforms",
    "control lax",  # lax: the names of the floors up to here, for the libraries above
    "compiler",
    "runtime",
    "api",
    "numpy random nn ops image scipy stablehlo",
    "",  # every other file at the top of the package: facades
)
FACADE_FOLDERS = {"dropin", "experimental", "interpreters", "example_libraries", "extend"}
DYNAMIC_IMPORTS = {"import_module", "__import__"}


def floor_of(module: str) -> int | None:
    """Return the floor number of a module such as `tapeless.core.trace`, or None if it has none."""
    parts = module.split(".")
    head = parts[1] if len(parts) > 1 else ""
    for number, names in enumerate(FLOORS):
        if head in names.split():
            return number
    is_facade = len(parts) <= 2 or head in FACADE_FOLDERS
    return len(FLOORS) - 1 if is_facade else None


def module_names(package: Path) -> dict[str, Path]:
    """Map the dotted name of every module in the package to its file."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported_names(node: ast.AST) -> list[str]:
    """Return the dotted names that a statement or call imports, a name for each imported thing."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call):
        values = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        return [value for value in values if isinstance(value, str)]
    return []


def resolve(name: str, modules: dict[str, Path]) -> str | None:
    """Return the module that an imported dotted name lives in, or None if it is foreign."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def edges_and_faults(module: str, modules: dict[str, Path]) -> tuple[dict[str, int], list[str]]:
    """Return the modules that a module imports, each with a line, and the faults of its own."""
    path = modules[module]
    tree = ast.parse(path.read_text(), str(path))
    edges: dict[str, int] = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in tree.body:
            found.append(f"{path}:{node.lineno}: nested import")
        if isinstance(node, ast.ImportFrom) and node.level:
            found.append(f"{path}:{node.lineno}: relative import")
        if isinstance(node, ast.Call) and module != "tapeless.util.lazy":
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in DYNAMIC_IMPORTS:
                found.append(f"{path}:{node.lineno}: {called}; util/lazy.py is the door for that")
        for name in imported_names(node):
            # A string counts only if it names a module exactly.
            known = name in modules if isinstance(node, ast.Call) else True
            target = resolve(name, modules) if known else None
            if target and target != module:
                edges.setdefault(target, node.lineno)
    return edges, found


def faults(package: Path) -> list[str]:
    """Return one line of text for each fault in the package."""
    modules = module_names(package)
    found, graph = [], {}
    for module, path in modules.items():
        edges, own = edges_and_faults(module, modules)
        found += own
        graph[module] = edges
        floor = floor_of(module)
        if floor is None:
            found.append(f"{path}: stands on no floor; name its folder in dev/floors.py")
            continue
        for target, line in edges.items():
            above = floor_of(target)
            if above is not None and above > floor:
                found.append(f"{path}:{line}: F{floor} imports {target} on F{above}")
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.append("import cycle: " + " <- ".join(error.args[1]))
    return found


def main() -> int:
    """Print the faults and return the process's exit status."""
    default = Path(__file__).parents[1] / "tapeless"
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    found = faults(package)
    print("\n".join(found) or f"floors: {len(module_names(package))} files, no import goes up")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
