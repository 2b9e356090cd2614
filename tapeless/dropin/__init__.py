"""`import jax` without JAX: unmodified programs and libraries run on this package.

    python -m tapeless script.py [arguments]
    python -m tapeless -m module [arguments]

or, in a program, before the first `import jax`,

    import tapeless
    tapeless.install_as_jax()

Afterwards `jax` and its public submodules are *facades*: modules that bear JAX's names, and whose
attributes are those of this package's modules, looked up when they are first used.  A facade has
JAX's public names and no others (`util/public_names.json`), so that libraries which probe for a
name find what they would find in JAX.  An installed JAX is never loaded.

    facade.py    modules that forward
    finder.py    the import hook
    private.py   `jax._src` and `jaxlib`: the few names that libraries reach for
    run.py       `python -m tapeless`
    children/    what processes find that the program starts
"""

from tapeless.dropin.finder import install_as_jax

__all__ = ["install_as_jax"]
