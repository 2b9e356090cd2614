"""Public names: what JAX offers, what is here, what is left out on purpose.

`tapeless/util/public_names.json` holds the public names of JAX 0.12.0.1 and of its submodules, as
the installed JAX lists them.  A name of that list is

    present   the module of the same name here has it
    absent    left out on purpose; the reason stands in `names_absent.json`, under the full name or
              under `module.*`
    to do     neither; `names_to_do.json` is where the list stood last

`python -m tests.meta.names` prints the counts, and with `--update` also writes both lists anew: the
names where JAX is installed, and which names are still to do.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import types
from pathlib import Path

__all__ = [
    "ABSENT",
    "MODULES",
    "TO_DO",
    "absent_reason",
    "counts",
    "installed_names",
    "lookup",
    "names_of",
    "sort_names",
    "stored_names",
]

FOLDER = Path(__file__).parent
NAMES = FOLDER.parents[1] / "tapeless" / "util" / "public_names.json"
TO_DO = FOLDER / "names_to_do.json"
ABSENT = FOLDER / "names_absent.json"
MODULES = """
jax jax.random jax.debug jax.errors jax.export jax.stages jax.sharding jax.typing
jax.custom_derivatives jax.custom_batching jax.checkpoint_policies
jax.extend jax.extend.core jax.extend.core.primitives jax.extend.linear_util
jax.extend.source_info_util jax.extend.random jax.extend.backend
jax.experimental jax.experimental.checkify jax.experimental.pjit jax.experimental.mesh_utils
jax.experimental.multihost_utils jax.experimental.layout jax.experimental.ode jax.experimental.jet
jax.experimental.hijax
jax.numpy jax.numpy.linalg jax.numpy.fft jax.lax jax.lax.linalg
jax.scipy jax.scipy.special jax.scipy.linalg jax.scipy.signal jax.scipy.ndimage jax.scipy.fft
jax.scipy.cluster jax.scipy.cluster.vq jax.scipy.integrate jax.scipy.interpolate jax.scipy.optimize
jax.scipy.spatial jax.scipy.spatial.transform jax.scipy.sparse.linalg jax.scipy.stats
jax.scipy.stats.bernoulli jax.scipy.stats.beta jax.scipy.stats.betabinom jax.scipy.stats.binom
jax.scipy.stats.cauchy jax.scipy.stats.chi2 jax.scipy.stats.dirichlet jax.scipy.stats.expon
jax.scipy.stats.gamma jax.scipy.stats.gennorm jax.scipy.stats.geom jax.scipy.stats.gumbel_l
jax.scipy.stats.gumbel_r jax.scipy.stats.laplace jax.scipy.stats.logistic
jax.scipy.stats.multinomial jax.scipy.stats.multivariate_normal jax.scipy.stats.nbinom
jax.scipy.stats.norm jax.scipy.stats.pareto jax.scipy.stats.poisson jax.scipy.stats.t
jax.scipy.stats.truncnorm jax.scipy.stats.uniform jax.scipy.stats.vonmises
jax.scipy.stats.wrapcauchy
jax.nn jax.nn.initializers jax.ops jax.image jax.dtypes jax.tree jax.tree_util jax.flatten_util
jax.api_util jax.core jax.ad_checkpoint jax.dlpack jax.ref jax.ffi jax.distributed jax.monitoring
jax.profiler jax.test_util jax.interpreters.ad jax.interpreters.batching jax.interpreters.mlir
jax.interpreters.partial_eval jax.interpreters.xla
jax.example_libraries.stax jax.example_libraries.optimizers
""".split()
# Imports of JAX's own files that show in `dir` and are no part of what it offers.
LEAKED = {
    "jax": {"ad"},
    "jax.extend.linear_util": {"Callable"},
    "jax.interpreters.ad": {"annotations"},
    "jax.experimental.pjit": set(),
}
DEFINED_HERE_ONLY = {
    "jax.experimental.multihost_utils",
    "jax.experimental.ode",
    "jax.experimental.jet",
    "jax.experimental.hijax",
    "jax.example_libraries.stax",
    "jax.example_libraries.optimizers",
}


def stored_names() -> dict[str, list[str]]:
    """Return the stored names of each module."""
    return {module: text.split() for module, text in json.loads(NAMES.read_text()).items()}


def find_module(name: str) -> types.ModuleType | object:
    """Return a module, or the object of that name where it is an attribute."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        parent, _, last = name.rpartition(".")
        return getattr(importlib.import_module(parent), last)


def names_of(module: str) -> list[str]:
    """Return the public names of a module of the installed JAX."""
    found = find_module(module)
    # pytest adds names that start with "@" to modules whose assertions it rewrites.
    names = [name for name in dir(found) if not name.startswith(("_", "@"))]
    if module in DEFINED_HERE_ONLY:
        values = {name: getattr(found, name) for name in names}
        names = [
            name
            for name, value in values.items()
            if not isinstance(value, types.ModuleType)
            and getattr(value, "__module__", module) in (module, None)
        ]
    return sorted(set(names) - LEAKED.get(module, set()))


def installed_names() -> dict[str, list[str]]:
    """Return the public names of each module of the installed JAX.

    They are listed in a process of its own: a submodule that something else has imported would show
    as a name of its package.
    """
    command = [sys.executable, "-m", "tests.meta.names", "--list"]
    listed = subprocess.run(command, cwd=FOLDER.parents[1], check=True, stdout=subprocess.PIPE)
    return json.loads(listed.stdout)


def lookup(name: str) -> bool:
    """Tell whether the counterpart here of a full name, `jax.numpy.sin`, exists."""
    module, _, last = name.rpartition(".")
    try:
        return hasattr(find_module(module.replace("jax", "tapeless", 1)), last)
    except (ModuleNotFoundError, AttributeError):
        return False


def absent_reason(name: str, absent: dict[str, str]) -> str | None:
    """Return why a full name is left out, or None if it is not."""
    if name in absent:
        return absent[name]
    return absent.get(name.rpartition(".")[0] + ".*")


def sort_names(stored: dict[str, list[str]], absent: dict[str, str]) -> dict[str, dict[str, list]]:
    """Return the names of each module as `present`, `absent` and `to do`."""
    sorted_names = {}
    for module, names in stored.items():
        kinds: dict[str, list[str]] = {"present": [], "absent": [], "to do": []}
        for name in names:
            if lookup(f"{module}.{name}"):
                kinds["present"].append(name)
            elif absent_reason(f"{module}.{name}", absent) is not None:
                kinds["absent"].append(name)
            else:
                kinds["to do"].append(name)
        sorted_names[module] = kinds
    return sorted_names


def counts(sorted_names: dict[str, dict[str, list]]) -> str:
    """Return the table of counts."""
    lines = [f"{'module':34}{'present':>8}{'absent':>8}{'to do':>8}"]
    for module, kinds in sorted_names.items():
        lines.append(f"{module:34}" + "".join(f"{len(names):8}" for names in kinds.values()))
    totals = [sum(len(kinds[kind]) for kinds in sorted_names.values()) for kind in kinds]
    lines.append(f"{'all':34}" + "".join(f"{total:8}" for total in totals))
    return "\n".join(lines)


def main() -> None:
    """Print the counts; with --update write the lists."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--missing", action="store_true", help="print the names that are to do")
    parser.add_argument("--list", action="store_true", help="print the names of the installed JAX")
    options = parser.parse_args()
    if options.list:
        print(json.dumps({module: names_of(module) for module in MODULES}))
        return
    if options.update and importlib.util.find_spec("jax") is not None:
        found = {module: " ".join(names) for module, names in installed_names().items()}
        NAMES.write_text(json.dumps(found, indent=0) + "\n")
    sorted_names = sort_names(stored_names(), json.loads(ABSENT.read_text()))
    if options.update:
        to_do = {m: k["to do"] for m, k in sorted_names.items() if k["to do"]}
        TO_DO.write_text(json.dumps(to_do, indent=0) + "\n")
    print(counts(sorted_names))
    if options.missing:
        for module, kinds in sorted_names.items():
            if kinds["to do"]:
                print(f"\n{module}: {' '.join(kinds['to do'])}")


if __name__ == "__main__":
    main()
