"""Error classes, each with a manual page.

The classes, and what they inherit from, are JAX's, so that ``except`` clauses keep working; three
at the end are our own. A page says what was tried, shows a program that fails and one that works,
and is what ``help(jax.errors.TracerBoolConversionError)`` prints. The message of an error ends with
that hint. The programs on the pages are run by the tests: the first must raise the class, the
second must not.

Constructors take finished text. Who raises an error knows the values, the user's names and lines,
and writes the sentences; this file knows nothing of tracers, so that every floor may import it.
"""

from __future__ import annotations

__all__ = [
    "ConcretizationTypeError", "InconclusiveDimensionOperation", "JAXIndexError", "JAXTypeError",
    "JaxRuntimeError", "JaxprTypeError", "KeyReuseError", "NonConcreteBooleanIndexError",
    "OutOfBoundsError", "StaleCaptureError", "StaleCaptureWarning", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
]  # fmt: skip


class _Documented(Exception):
    """An error whose message ends with the way to its manual page."""

    def __init__(self, message: str = "") -> None:
        """Take the finished message; add the hint unless it is there (as after unpickling)."""
        hint = f"See help(jax.errors.{type(self).__name__})."
        super().__init__(message if hint in message else f"{message}\n{hint}")


class JAXTypeError(_Documented, TypeError):
    """The common class of type errors with a manual page."""


class JAXIndexError(_Documented, IndexError):
    """The common class of indexing errors with a manual page."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where its number must be known.

    Inside ``jit``, ``vmap`` or ``grad`` an argument is a tracer: it has a shape and a dtype, but
    under ``jit`` no number yet. Shapes, axis numbers and Python's own control flow need one.

    Fails, since the shape of the result depends on the numbers in ``x``::

        @jax.jit
        def positive(x):
            return jnp.nonzero(x > 0)[0]

        positive(jnp.arange(-2, 3))

    Works: give the shape beforehand (and a value that fills the rest), or mark the argument that
    decides about shapes as static::

        @jax.jit
        def positive(x):
            return jnp.nonzero(x > 0, size=x.size, fill_value=-1)[0]

        positive(jnp.arange(-2, 3))
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value stood where Python wants True or False.

    ``if``, ``while``, ``and``, ``or``, ``not`` and ``assert`` ask their operand for its truth. A
    function is traced once for all values, so that there is no answer.

    Fails::

        @jax.jit
        def relu(x):
            return x if x > 0 else 0.0

        relu(1.0)

    Works: choose between values with ``jnp.where``, between computations with ``lax.cond``,
    or make the argument static if it takes few values::

        @jax.jit
        def relu(x):
            return jnp.where(x > 0, x, 0.0)

        relu(1.0)
    """


class TracerIntegerConversionError(JAXTypeError):
    """A traced value stood where Python wants an integer.

    ``range``, indexing of a list, and NumPy functions that take a count call ``__index__``.

    Fails::

        @jax.jit
        def power(x, n):
            for _ in range(n):
                x = x * x
            return x

        power(2.0, 3)

    Works: loop with ``lax.fori_loop``, index a ``jnp`` array instead of a list, or declare the
    argument static::

        @functools.partial(jax.jit, static_argnums=1)
        def power(x, n):
            for _ in range(n):
                x = x * x
            return x

        power(2.0, 3)
    """


class TracerArrayConversionError(JAXTypeError):
    """A traced value was given to NumPy.

    NumPy functions ask their arguments for an array of numbers, which a tracer cannot be.

    Fails::

        @jax.jit
        def root(x):
            return numpy.sqrt(x)

        root(4.0)

    Works: use the function of ``jax.numpy``; where there is none, ``jax.pure_callback`` calls
    NumPy at run time::

        @jax.jit
        def root(x):
            return jnp.sqrt(x)

        root(4.0)
    """


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed with a traced mask.

    How many entries a mask selects depends on its numbers, and shapes must not.

    Fails::

        @jax.jit
        def clip(x):
            return x.at[x < 0].get()

        clip(jnp.arange(-2.0, 3.0))

    Works: keep the shape and choose entry by entry::

        @jax.jit
        def clip(x):
            return jnp.where(x < 0, x, 0.0)

        clip(jnp.arange(-2.0, 3.0))
    """


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after the transformation that it belongs to had ended.

    Transformed functions must hand out values by returning them. A tracer that was stored in a
    list, an attribute or a global outlives its trace and means nothing any more.

    Fails::

        kept = []

        @jax.jit
        def double(x):
            kept.append(2 * x)
            return 2 * x

        double(1.0)
        kept[0] + 1

    Works: return it. (``jax.checking_leaks()`` finds where a tracer was left behind.) ::

        @jax.jit
        def double(x):
            return 2 * x, 2 * x

        doubled, kept = double(1.0)
        kept + 1
    """


class KeyReuseError(JAXTypeError):
    """A random key was used twice, found because ``jax_debug_key_reuse`` is on.

    ``jax.checks(reuse=True)`` turns it on for a block. A key is used by what draws numbers and by
    ``split``; by ``fold_in`` and ``clone`` it is not. Old keys (``PRNGKey``) are not looked at. The
    same key gives the same numbers, so that "independent" samples are equal.

    Fails::

        jax.config.update("jax_debug_key_reuse", True)
        key = jax.random.key(0)
        jax.random.normal(key) + jax.random.normal(key)

    Works: split the key, and use each part once::

        jax.config.update("jax_debug_key_reuse", True)
        left, right = jax.random.split(jax.random.key(0))
        jax.random.normal(left) + jax.random.normal(right)
    """


class InconclusiveDimensionOperation(Exception):
    """A question about dimensions without a number (of an exported program) has no one answer.

    It is here for ``except`` clauses. Nothing raises it, since dimensions without a number are not
    supported: ``jax.export.symbolic_shape`` raises NotImplementedError. Export a function once for
    each shape that it is to be called with.
    """


class JaxprTypeError(TypeError):
    """A program (jaxpr) does not type-check.

    With ``jax_enable_checks`` every program is checked after every pass. A transformation or a rule
    of a primitive made an equation whose operands or results have other types than it claims. If
    the rule is not yours, this is a bug in tapeless.

    Fails, since an equation is gone whose result another one needs::

        from tapeless.core.check import check_jaxpr

        program = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0).jaxpr
        check_jaxpr(program.replace(eqns=program.eqns[1:]))

    Works: keep what others need::

        from tapeless.core.check import check_jaxpr

        program = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0).jaxpr
        check_jaxpr(program.replace(eqns=program.eqns[:1], outvars=program.eqns[0].outvars))
    """


class JaxRuntimeError(RuntimeError):
    """A compiled program could not be run to its end.

    A callback returned something else than was announced, or an argument was donated before. (What
    a callback raises arrives as it is.)

    Fails, since three numbers come where one was announced::

        @jax.jit
        def read(x):
            result = jax.ShapeDtypeStruct((), jnp.float32)
            return jax.pure_callback(lambda x: numpy.full(3, x), result, x)

        read(1.0)

    Works: announce what comes::

        @jax.jit
        def read(x):
            result = jax.ShapeDtypeStruct((3,), jnp.float32)
            return jax.pure_callback(lambda x: numpy.full(3, x), result, x)

        read(1.0)
    """


class OutOfBoundsError(JAXIndexError):
    """An index lies outside its array, found because ``tapeless_out_of_bounds`` is ``"raise"``.

    ``jax.checks(index=True)`` sets that for a block, ``switch=True`` and ``segment=True`` look at
    the index of ``lax.switch`` and at ids of segments. The message has the index, the axis, its
    size, the line, and the iteration of a loop. An index counted from the end is told as counted
    from the front.

    By default, as in JAX, such a read returns a fill value or the nearest entry, and such a write
    is dropped.

    Fails::

        with jax.checks(index=True):
            jnp.arange(3)[jnp.array(5)]

    Works: say what an index out of bounds shall mean::

        with jax.checks(index=True):
            jnp.arange(3).at[jnp.array(5)].get(mode="fill", fill_value=0)
    """


class StaleCaptureError(JAXTypeError):
    """A compiled function depends on a variable that has changed since it was traced.

    ``jax.checks(stale=True)`` looks for such changes in a block, and in the functions traced there.
    ``jit`` reads globals and variables of enclosing functions when it traces, and never again: a
    later change is silently without effect. With ``tapeless_stale_captures`` set to ``"raise"``
    the call after such a change raises instead.

    Fails::

        rate = 0.1

        @jax.jit
        def step(x):
            return x - rate * x

        with jax.config.stale_captures("raise"):
            step(1.0)
            rate = 0.2
            step(1.0)

    Works: pass what changes as an argument::

        @jax.jit
        def step(x, rate):
            return x - rate * x

        with jax.config.stale_captures("raise"):
            step(1.0, 0.1)
            step(1.0, 0.2)
    """


class StaleCaptureWarning(UserWarning):
    """As ``StaleCaptureError``, with ``tapeless_stale_captures`` set to ``"warn"``.

    The function is traced anew after the warning, with the value that the variable has now.

    Fails, where warnings are errors::

        rate = 0.1

        @jax.jit
        def step(x):
            return x - rate * x

        with jax.config.stale_captures("warn"):
            step(1.0)
            rate = 0.2
            step(1.0)

    Works: pass what changes as an argument::

        @jax.jit
        def step(x, rate):
            return x - rate * x

        with jax.config.stale_captures("warn"):
            step(1.0, 0.1)
            step(1.0, 0.2)
    """
