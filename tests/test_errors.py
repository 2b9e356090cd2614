"""Error classes: their ancestry, the hint in their messages, and the programs on their pages."""

import functools
import importlib
import inspect
import pickle
import textwrap

import numpy
import pytest

import tapeless as jax
from tapeless import errors

JAX_ANCESTRY = {
    "ConcretizationTypeError": TypeError,
    "InconclusiveDimensionOperation": Exception,
    "JAXIndexError": IndexError,
    "JAXTypeError": TypeError,
    "JaxRuntimeError": RuntimeError,
    "JaxprTypeError": TypeError,
    "KeyReuseError": errors.JAXTypeError,
    "NonConcreteBooleanIndexError": errors.JAXIndexError,
    "TracerArrayConversionError": errors.JAXTypeError,
    "TracerBoolConversionError": errors.ConcretizationTypeError,
    "TracerIntegerConversionError": errors.JAXTypeError,
    "UnexpectedTracerError": errors.JAXTypeError,
}


def programs():
    """Yield each class whose page has programs, with the one that fails and the one that works."""
    for name in errors.__all__:
        page = inspect.getdoc(getattr(errors, name)) or ""
        if "Fails" in page:
            failing, _, working = page.partition("Works")
            yield pytest.param(getattr(errors, name), block(failing), block(working), id=name)


def block(text):
    """Return the indented block behind the first double colon."""
    lines = text.partition("::\n")[2].splitlines()
    kept = [line for line in lines if not line or line.startswith("    ")]
    return textwrap.dedent("\n".join(kept))


@pytest.mark.parametrize(("name", "base"), list(JAX_ANCESTRY.items()))
def test_ancestry_is_that_of_jax(name, base):
    assert issubclass(getattr(errors, name), base)


@pytest.mark.oracle
def test_every_class_of_jax_is_here_with_the_same_ancestors():
    theirs = importlib.import_module("jax.errors")
    for name, kind in vars(theirs).items():
        if inspect.isclass(kind) and name[0] != "_":
            ours = getattr(errors, name)
            families = [{base.__name__ for base in x.__mro__} for x in (kind, ours)]
            assert families[0] - {"_JAXErrorMixin"} == families[1] - {"_Documented"}


def test_an_integer_conversion_is_not_a_concretization():
    assert not issubclass(errors.TracerIntegerConversionError, errors.ConcretizationTypeError)


def test_messages_end_with_the_way_to_the_page():
    error = errors.KeyReuseError("The key was used before.")
    hint = "See help(jax.errors.KeyReuseError)."
    assert str(error) == f"The key was used before.\n{hint}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(("error", "failing", "working"), list(programs()))
def test_programs_on_the_pages(error, failing, working):
    names = {"jax": jax, "jnp": jax.numpy, "functools": functools, "numpy": numpy}
    before = jax.config.jax_debug_key_reuse
    try:
        with pytest.raises(error):
            exec(failing, dict(names))
        exec(working, dict(names))
    finally:
        jax.config.update("jax_debug_key_reuse", before)
