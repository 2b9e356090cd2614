"""The examples in docstrings print what they say, and public functions have examples.

Every file of the package is a case.  An example sees the names of its file, and `jax`, `jnp`, `lax`
and `np`.
"""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
from tapeless.config import Option
from tests.meta import names

ROOT = Path(__file__).parents[2]
GIVEN = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    """Return the dotted names of the files with examples."""
    names = []
    for path in sorted((ROOT / "tapeless").rglob("*.py")):
        if ">>>" in path.read_text():
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            names.append(dotted.removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules())
def test_examples_print_what_they_say(name):
    module = importlib.import_module(name)
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    for case in doctest.DocTestFinder().find(module, name, extraglobs=GIVEN):
        runner.run(case, out=report.append)
    assert not report, "".join(report)


def documents() -> list[str]:
    """Return the names of the documents with examples of their own, not of code that they show."""
    paths = sorted((ROOT / "docs").glob("*.md"))
    shown = "adding-a-primitive.md"
    return [path.name for path in paths if path.name != shown and ">>>" in path.read_text()]


@pytest.mark.parametrize("name", documents())
def test_documents_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(ROOT / "docs" / name)
    failed, tried = doctest.testfile(path, module_relative=False, optionflags=OPTIONS)
    assert tried
    assert not failed


def blocks(name: str) -> list[str]:
    """Return the Python code in a document."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text(), re.DOTALL)


def test_the_first_program_prints_what_it_says(capsys):
    (program,) = blocks("../README.md")
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*  # (.*)", program)


def lines_of(text: str) -> str:
    """Return code without indentation and empty lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def test_operations_are_shown_as_they_are():
    files = ("prims/unary.py", "prims/structural.py", "prims/rearrangement.py")
    paths = [*(f"tapeless/{file}" for file in files), "tests/prims/test_unary.py"]
    code = "\n".join(lines_of((ROOT / path).read_text()) for path in paths)
    shown = blocks("adding-a-primitive.md")
    assert len(shown) == 4
    for block in shown:
        assert lines_of(block) in code, block


def test_the_transformation_that_is_shown_works():
    names: dict = {}
    for block in blocks("adding-a-transformation.md"):
        exec(block, names)
    count = names["count_multiplications"]
    x = jax.numpy.arange(3.0)
    out, number = count(lambda x: x * x * jax.numpy.sin(x), x)
    assert number == 2
    np.testing.assert_allclose(out, x * x * np.sin(x), rtol=1e-6)
    assert count(jax.jit(lambda x: x * x), x)[1] == 0


def test_every_document_is_in_the_contents():
    index = (ROOT / "docs" / "index.md").read_text()
    contents = (ROOT / "mkdocs.yml").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "index.md" or f"({path.name})" in index
        assert f"- {path.name}\n" in contents


LIBRARIES = [
    module.removeprefix("jax.")
    for module in names.stored_names()
    if module.removeprefix("jax.").partition(".")[0]
    in ("numpy", "lax", "nn", "ops", "image", "scipy", "random", "tree", "tree_util")
]
# Functions without an example, by the reason.
WITHOUT_EXAMPLE = {
    "read files or iterators": "numpy.fromfile numpy.fromiter numpy.load",
    "change settings or wait, and print nothing": "clear_caches",
    "is shown in the guide, whose own examples are run": "lax.cbrt",
    "make tokens, which print nothing": "lax.create_token lax.after_all",
}


def is_documented_here(name: str, value: object) -> bool:
    """Tell whether a name is public, and its value comes with a docstring from the package."""
    home = getattr(value, "__module__", None) or ""
    return not name.rpartition(".")[2].startswith("_") and home.startswith("tapeless")


def public_functions() -> dict[str, object]:
    """Return the functions of the libraries and of the facade of facades, by name."""
    # (Those that are loaded late are no entries of the module before.)
    of_facade = {name: getattr(jax, name) for name in jax.__all__}
    found = {
        name: value
        for name, value in of_facade.items()
        if getattr(value, "__module__", "").startswith("tapeless.api")
    }
    of_jax = {key.removeprefix("jax."): value for key, value in names.stored_names().items()}
    for library in LIBRARIES:
        module = importlib.import_module(f"tapeless.{library}")
        found |= {f"{library}.{key}": getattr(module, key, None) for key in of_jax[library]}
    return {
        name: value
        for name, value in found.items()
        if callable(value) and not inspect.isclass(value) and is_documented_here(name, value)
    }


def test_public_functions_have_examples():
    functions = public_functions()
    bare = {name for name, value in functions.items() if ">>>" not in (value.__doc__ or "")}
    assert len(functions) > 1000
    assert bare == set(" ".join(WITHOUT_EXAMPLE.values()).split())


# The other modules: here classes are asked for examples too.  (What is an object of `partial`, as
# `debug.log`, or `Array`, whose home is called `jax`, is not looked at.)
OTHER_MODULES = (
    "ad_checkpoint checkpoint_policies custom_batching custom_derivatives debug distributed dlpack "
    "dtypes export flatten_util image memory monitoring nn.initializers profiler ref sharding "
    "stages tree tree_util"
).split()
# Their functions and classes without an example, by the reason.
OTHERS_WITHOUT_EXAMPLE = {
    "stop and wait for commands": "debug.breakpoint",
    "are shown by the error that they are, with what to write instead": "dtypes.TypePromotionError",
    "are protocols, which are not called by users": "nn.initializers.Initializer",
    "have homes in core, whose lines are counted": "ShapeDtypeStruct ref.AbstractRef",
    "change settings or wait, and print nothing": "clear_caches",
}


def other_public_names() -> dict[str, object]:
    """Return the functions and classes of the facade of facades and of the other modules."""
    found = {name: getattr(jax, name) for name in jax.__all__}
    for library in OTHER_MODULES:
        module = importlib.import_module(f"tapeless.{library}")
        # (Facades of whole files list their names when they are asked, and have no `__all__`.)
        listed = getattr(module, "__all__", None) or dir(module)
        assert listed, library
        found |= {f"{library}.{key}": getattr(module, key) for key in listed}
    return {
        name: value
        for name, value in found.items()
        if callable(value)
        and is_documented_here(name, value)
        # (Options share the example of their class.)
        and not isinstance(value, Option)
    }


def test_functions_and_classes_of_other_modules_have_examples():
    values = other_public_names()
    bare = {name for name, value in values.items() if ">>>" not in (value.__doc__ or "")}
    assert len(values) > 200
    assert bare == set(" ".join(OTHERS_WITHOUT_EXAMPLE.values()).split())


# How a docstring says shapes, and the functions whose docstrings do not, by the reason.
SHAPES = re.compile(r"->|elementwise|element by element|each element", re.IGNORECASE)
WITHOUT_SHAPES = {
    "are about dtypes or shapes": (
        "numpy.broadcast_shapes numpy.einsum_path numpy.iscomplexobj numpy.isdtype "
        "numpy.isrealobj numpy.isscalar numpy.issubdtype numpy.ndim numpy.promote_types "
        "numpy.result_type numpy.shape numpy.size lax.broadcast_shapes lax.conv_dimension_numbers "
        "lax.conv_general_permutations lax.conv_general_shape_tuple lax.conv_shape_tuple "
        "lax.conv_transpose_shape_tuple lax.dtype lax.padtype_to_pads "
        "lax.reduce_window_shape_tuple lax.shape_as_value"
    ),
    "are about keys, settings, tokens or names of axes": (
        "random.Key random.key_dtype random.key_impl nn.get_scaled_dot_general_config "
        "lax.after_all lax.axis_size lax.create_token lax.dce_sink"
    ),
    "take functions of any shapes, and change none": (
        "checks clear_caches closure_convert inspect jit make_jaxpr named_call named_scope reshard"
    ),
}


def test_docstrings_of_array_functions_say_shapes():
    bare = set()
    for name, value in public_functions().items():
        text = (value.__doc__ or "").partition(">>>")[0]
        if not name.startswith(("tree.", "tree_util.")) and not SHAPES.search(text):
            bare.add(name)
    assert bare == set(" ".join(WITHOUT_SHAPES.values()).split())
