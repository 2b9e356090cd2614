r"""Promotion: the dtype that operands share.

It is the least upper bound in a lattice whose *nodes* are dtypes and, for *weakly typed* values,
the Python types ``int``, ``float`` and ``complex``. A Python scalar is weak, and so is an array
computed from Python scalars only: weak values do not widen their partners. With the arrows upward
(a star marks a weak node)::

    bool -> int* -> u8 -> u16 -> u32 -> u64 --.
             | \     \      \      \         >-> float* -> bf16, f16 -> f32 -> f64
             |  '--> i8 -> i16 -> i32 -> i64 -'     | |                   \       \
             '-> u1 ... i4                          | '-> f8, f6, f4      v       v
                                                    '-> complex* ------> c64 -> c128

The narrow types combine only with themselves and with what is below them. In *strict* mode the
arrows are those between weak nodes, and from a weak node to the dtypes of its kind and above.

Which lattice it is depends on two modes, which are arguments here; ``tapeless.dtypes`` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapeless.util import elements, lattice
from tapeless.util.elements import Node

__all__ = ["TypePromotionError", "join"]

_I8, _I16, _I32, _I64 = elements.SIGNED
_U8, _U16, _U32, _U64 = elements.UNSIGNED
_BF16, _F16, _F32, _F64 = elements.WIDE_FLOATS
_C64, _C128 = elements.COMPLEX


class TypePromotionError(ValueError):
    """Raised when operands have no common dtype by the rules of promotion.

    It fails for narrow types, and for nearly everything in strict mode::

        with jax.numpy_dtype_promotion("strict"):
            jnp.arange(3) + jnp.ones(3)

    The remedy is to say which dtype is meant::

        jnp.arange(3).astype(jnp.float32) + jnp.ones(3)
    """


def _arrows(x64: bool) -> dict[Node, tuple[Node, ...]]:
    """Return what lies directly above each node; without x64, uint32 is below int32."""
    return {
        elements.BOOL: (int,),
        int: (_U8, _I8, *elements.NARROW_INTS),
        _U8: (_I16, _U16),
        _U16: (_I32, _U32),
        _U32: (_I64 if x64 else _I32, _U64),
        _U64: (float,),
        _I8: (_I16,),
        _I16: (_I32,),
        _I32: (_I64,),
        _I64: (float,),
        float: (_BF16, _F16, *elements.NARROW_FLOATS, complex),
        _BF16: (_F32,),
        _F16: (_F32,),
        _F32: (_F64, _C64),
        _F64: (_C128,),
        complex: (_C64,),
        _C64: (_C128,),
    }


def _strict_arrows() -> dict[Node, tuple[Node, ...]]:
    """Return the arrows of strict mode: only weak nodes have anything above them."""
    return {
        elements.BOOL: (),
        int: (*elements.INTS, float),
        float: (*elements.FLOATS, complex),
        complex: elements.COMPLEX,
    }


# The lattice of each (strict, x64).
_LATTICES: Mapping[tuple[bool, bool], dict[Node, frozenset[Node]]] = {
    (False, False): lattice.upper_sets(_arrows(x64=False)),
    (False, True): lattice.upper_sets(_arrows(x64=True)),
    (True, False): lattice.upper_sets(_strict_arrows()),
    (True, True): lattice.upper_sets(_strict_arrows()),
}


def join(nodes: Iterable[Node], strict: bool, x64: bool) -> Node:
    """Return the least upper bound of ``nodes``, or raise ``TypePromotionError``."""
    distinct = tuple(dict.fromkeys(nodes))
    if len(distinct) == 1:
        return distinct[0]
    order = _LATTICES[strict, x64]
    for node in distinct:
        if node not in order:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    bound = lattice.least_upper_bound(distinct, order)
    if bound is None:
        raise TypePromotionError(_no_join_message(distinct, strict))
    return bound


def _no_join_message(nodes: tuple[Node, ...], strict: bool) -> str:
    """Return the text that says why the nodes have no common dtype."""
    names = tuple(str(node) for node in nodes)
    start = f"Input dtypes {names} have no available implicit dtype promotion path"
    if strict:
        return (
            f"{start} when jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the "
            "desired output type, or set jax_numpy_dtype_promotion=standard."
        )
    families = (
        (elements.FLOAT8, "8-bit floats", "float32"),
        (elements.FLOAT6, "6-bit floats", "float32"),
        (elements.FLOAT4, "4-bit floats", "float32"),
        (elements.NARROW_INTS, "1-bit, 2-bit and 4-bit integers", "int32"),
    )
    for members, family, target in families:
        if any(node in members for node in nodes):
            return (
                f"{start}. To avoid unintended promotion, {family} do not support implicit "
                "promotion. If you'd like your inputs to be promoted to another type, you can do "
                f"so explicitly using e.g. x.astype('{target}')"
            )
    return f"{start}."
