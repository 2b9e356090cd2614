"""What a type checker says of programs that use this package, and of the package."""

import ast
import inspect
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tapeless.numpy  # noqa: F401 - fills the table of methods
from tapeless.core.trace import array_methods
from tapeless.numpy import updates
from tapeless.runtime.array import Array

ROOT = Path(__file__).parents[2]
STUB = ROOT / "tapeless/core/any_array.pyi"

needs_checker = pytest.mark.skipif(
    find_spec("pyrefly") is None, reason="the type checker is not installed (extra `test`)"
)

ACCEPTED = '''\
"""A small user's program: a regression, trained."""

import functools
from typing import NamedTuple

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax, random


class Params(NamedTuple):
    w: jax.Array
    b: jax.Array


def predict(params: Params, x: jax.Array) -> jax.Array:
    h = jnp.tanh(x @ params.w + params.b)
    return h.sum(axis=-1) / h.shape[-1]


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    errors = jax.vmap(predict, in_axes=(None, 0))(params, x) - y
    return (errors**2).mean()


@jax.jit
def step(params: Params, x: jax.Array, y: jax.Array) -> tuple[Params, jax.Array]:
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


@functools.partial(jax.jit, static_argnames=("n",))
def power(x: jax.Array, n: int) -> jax.Array:
    return lax.fori_loop(0, n, lambda i, acc: acc * x, jnp.ones_like(x))


def main() -> None:
    key, sub = random.split(random.key(0))
    x = random.normal(sub, (8, 3))
    params = Params(jnp.zeros((3, 4)), jnp.zeros(4))
    for _ in range(3):
        params, value = step(params, x, x[:, 0])
        print(float(value))
    y = params.w.at[0].set(1.0).reshape(-1)
    size: int = y.size
    z = y.T.astype(jnp.float32)[None, :]
    if (z > 0).any() and (z == z).all():
        print(size, [row.max() for row in z], z.dtype, len(z), int(z[0, 0]), key.shape)
    slope = jax.grad(lambda v: jnp.sin(v).sum())(y)
    curvature = jax.hessian(lambda v: (v**2).sum())(y)
    carry, ys = lax.scan(lambda c, a: (c + a, c * a), jnp.float32(0.0), y)
    print(slope, curvature, carry, ys, power(y, 3), -y, abs(y), 2 - y, y @ y, y[::-1].item(0))
    print(jax.jit(predict).lower(params, x).compile(), jax.make_jaxpr(jnp.cos)(y))


main()
'''

# Each line but the first three is a mistake.
REFUSED = """\
import tapeless as jax
import tapeless.numpy as jnp
x = jnp.arange(3.0)
x.sun()
x[0] = 1.0
n: str = x.ndim
x.sum(axis="rows")
x.at[0].sett(1.0)
jnp.sun(x)
jnp.sum(x, axes=0)
jax.jitt(jnp.sin)
jax.nn.rellu(x)
jax.tree.mapp(jnp.sin, x)
jax.vmap(jnp.sin, in_axis=0)
jax.lax.scan(lambda c, a: (c, a))
jax.random.normal(jax.random.key(0), shap=(3,))
"""


def checked(folder: Path, text: str) -> set[int]:
    """Return the numbers of the lines of a program in which the type checker finds errors."""
    program = folder / "program.py"
    program.write_text(text)
    (folder / "pyrefly.toml").write_text('project-includes = ["program.py"]\n')
    options = ["--search-path", str(ROOT), "--output-format", "min-text"]
    command = [sys.executable, "-m", "pyrefly", "check", *options, str(program)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
    assert bool(errors) == bool(done.returncode), done.stdout + done.stderr
    return {int(line.split("program.py:")[1].split(":")[0]) for line in errors}


@needs_checker
def test_a_type_checker_accepts_a_users_program(tmp_path):
    assert checked(tmp_path, ACCEPTED) == set()


@needs_checker
def test_a_type_checker_finds_a_users_mistakes(tmp_path):
    assert checked(tmp_path, REFUSED) == set(range(4, len(REFUSED.splitlines()) + 1))


def test_the_program_that_the_checker_accepts_runs(capsys):
    exec(compile(ACCEPTED, "program.py", "exec"), {"__name__": "program"})
    assert "let" in capsys.readouterr().out


def declared(class_name: str) -> dict[str, list[str] | None]:
    """Return the parameters of the methods that the stub declares; None for a property."""
    found: dict[str, list[str] | None] = {}
    for node in ast.parse(STUB.read_text()).body:
        if not (isinstance(node, ast.ClassDef) and node.name == class_name):
            continue
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                found[item.name] = None if item.decorator_list else parameters(item.args)
            elif isinstance(item, ast.Assign):
                names = [target.id for target in item.targets if isinstance(target, ast.Name)]
                found |= dict.fromkeys(names, found[ast.unparse(item.value)])
    return found


def parameters(arguments: ast.arguments) -> list[str]:
    """Return the names of the parameters after `self`."""
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    rest = [arguments.vararg] if arguments.vararg else []
    return [argument.arg for argument in (*positional, *rest, *arguments.kwonlyargs)]


def parameters_of(method: object) -> list[str] | None:
    """Return the same of a method; None for a property."""
    return list(inspect.signature(method).parameters)[1:] if callable(method) else None


def test_the_stub_declares_the_methods_of_arrays():
    methods = {name: parameters_of(method) for name, method in array_methods.items()}
    del methods["__setitem__"]  # arrays have it only to refuse
    stub = declared("AnyArray")
    assert {name: stub.get(name) for name in methods} == methods
    assert set(methods) <= set(stub)
    assert [name for name in stub if not hasattr(Array, name)] == []


def test_the_stub_declares_the_updates_of_arrays():
    reference = updates._IndexUpdateRef
    public = {name for name in vars(reference) if not name.startswith("_")}
    found = {name: parameters_of(getattr(reference, name)) for name in public - {"array", "index"}}
    assert declared("Update") == found
