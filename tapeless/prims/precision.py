"""How exactly products are computed: the `precision` argument of dot products and convolutions.

Results are computed in the operands' own precision here, always; the argument is checked, recorded
in programs, and otherwise without effect, but for the presets that name an accumulation type: these
decide the dtype in which products are summed.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tapeless import config

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "Precision",
    "PrecisionLike",
    "canonical_precision",
]


class Precision(enum.Enum):
    """DEFAULT is the fastest mode of an accelerator, HIGHEST the most accurate one.

    On a CPU all of them are the precision of the operands.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        """Return `Precision.HIGH`."""
        return f"{self.__class__.__name__}.{self.name}"

    def __str__(self) -> str:
        """Return `HIGH`."""
        return self.name


class DotAlgorithm(NamedTuple):
    """An algorithm by its parts: operand types, the type that sums are kept in, and passes."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name: types of the operands, then of the sums, then the number of passes."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        """Return `DotAlgorithmPreset.F32_F32_F32`."""
        return f"{self.__class__.__name__}.{self.name}"

    def __str__(self) -> str:
        """Return `F32_F32_F32`."""
        return self.name

    @property
    def accumulation_type(self) -> np.dtype | None:
        """The dtype in which products are summed; None leaves it open."""
        words = self.name.replace("_FAST_ACCUM", "").split("_")
        found = [_SUM_TYPES[word] for word in words if word in _SUM_TYPES]
        return found[-1] if self is not DotAlgorithmPreset.DEFAULT and found else None


_SUM_TYPES = {
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
}
_ALIASES = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
}
_CPU_PRESETS = frozenset(
    (
        "DEFAULT",
        "F16_F16_F16",
        "F16_F16_F32",
        "BF16_BF16_BF16",
        "BF16_BF16_F32",
        "BF16_BF16_F32_X3",
        "BF16_BF16_F32_X6",
        "F32_F32_F32",
        "F64_F64_F64",
    )
)
PrecisionLike = (
    None
    | str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
)
Canonical = tuple[Precision, Precision] | DotAlgorithmPreset | None


def canonical_precision(precision: PrecisionLike) -> Canonical:
    """Return what programs record: None, a pair of `Precision`, or a preset.

    None takes the default of `jax_default_matmul_precision`, if one is set.
    """
    if precision is None:
        default = config.current.jax_default_matmul_precision
        return None if default is None else canonical_precision(default)
    if isinstance(precision, Precision):
        return (precision, precision)
    if isinstance(precision, DotAlgorithmPreset):
        return _supported(precision)
    if isinstance(precision, DotAlgorithm):
        text = f"The precision '{precision}' is not supported by dot_general on CPU"
        raise ValueError(text)
    if isinstance(precision, str):
        if precision in _ALIASES:
            return (_ALIASES[precision],) * 2
        if precision in DotAlgorithmPreset.__members__:
            return _supported(DotAlgorithmPreset[precision])
    if isinstance(precision, (list, tuple)) and len(precision) == 2:
        one, other = (_ALIASES.get(p, p) if isinstance(p, str) else p for p in precision)
        if isinstance(one, Precision) and isinstance(other, Precision):
            return (one, other)
    raise ValueError(
        "Precision argument must be one of:\n- None,\n"
        f"- a string in {[*_ALIASES, None]},\n"
        "- a lax.Precision value,\n"
        "- a tuple of two lax.Precision values or strings,\n"
        "- a lax.DotAlgorithmPreset or the name of one of these presets, or\n"
        "- a lax.DotAlgorithm value;\n"
        f"but got {precision}."
    )


def _supported(preset: DotAlgorithmPreset) -> DotAlgorithmPreset:
    """Return the preset, or raise ValueError for one that needs an accelerator."""
    if preset.name not in _CPU_PRESETS:
        text = f"The precision '{preset}' is not supported by dot_general on CPU"
        raise ValueError(text)
    return preset
