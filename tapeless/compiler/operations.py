"""LLVM text of the single operations: the arithmetic contract of the loop language, op by op.

Each function takes a `Lines` to write on, operand texts that already have the same lane count, and
returns the text of the result. LLVM's own semantics are weaker than ours at the edges (division
by zero, shifts past the width and conversions out of range are undefined there), so those edges
are spelled out here; an edge that a constant operand rules out costs nothing.

No fast-math flag is ever set: NaN, infinities, signed zeros and subnormals mean what IEEE 754 says,
and a multiplication and an addition contract only where the program says `fma`.

Narrow floats (float16, bfloat16, float8) are computed in float32 and rounded by `round_narrow`
after each operation that is not exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tapeless.compiler.formats import Format, constant, typed

__all__ = [
    "COMBINES",
    "Lines",
    "convert",
    "from_memory",
    "identity",
    "intrinsic",
    "is_operation",
    "operate",
    "to_memory",
]


class Lines(Protocol):
    """Where instructions go."""

    def emit(self, instruction: str) -> str:
        """Append `%n = instruction` and return `%n`."""

    def declare(self, name: str, signature: str) -> None:
        """Note that the external function `name` is used; the signature is `ret (args)`."""

    @property
    def has_half(self) -> bool:
        """Whether float16 conversions are instructions of the target."""


_SUFFIX = {"float": "f32", "double": "f64", "half": "f16"}


def _suffix(element: str, lanes: int) -> str:
    """Spell a type the way intrinsic names do: `f32`, `v16f32`."""
    name = _SUFFIX.get(element, element)
    return name if lanes == 1 else f"v{lanes}{name}"


def intrinsic(out: Lines, name: str, element: str, lanes: int, *args: str) -> str:
    """Call the intrinsic `llvm.<name>` whose operands and result have one type."""
    kind = typed(element, lanes)
    full = f"llvm.{name}.{_suffix(element, lanes)}"
    out.declare(full, f"{kind} ({', '.join([kind] * len(args))})")
    operands = ", ".join(f"{kind} {arg}" for arg in args)
    return out.emit(f"call {kind} @{full}({operands})")


# Narrow floats


def _exponent_scale(form: Format) -> float:
    """The factor between a narrow float and the float32 that has its fields."""
    return 2.0 ** (127 - form.bias)


def _largest(form: Format) -> float:
    """The largest finite value of a narrow float."""
    top = 2**form.exponent - 1 - form.bias
    if form.special == "ieee":
        return (2 - 2.0**-form.mantissa) * 2.0 ** (top - 1)
    lost = 2 if form.special == "fn" else 1
    return (2 - lost * 2.0**-form.mantissa) * 2.0**top


def _bits(out: Lines, x: str, lanes: int) -> str:
    """Read a float register as integers."""
    return out.emit(f"bitcast {typed('float', lanes)} {x} to {typed('i32', lanes)}")


def _unbits(out: Lines, bits: str, lanes: int) -> str:
    """Read integers as a float register."""
    return out.emit(f"bitcast {typed('i32', lanes)} {bits} to {typed('float', lanes)}")


def round_narrow(out: Lines, x: str, form: Format, lanes: int) -> str:
    """Round a float register to the nearest value of a narrow format, ties to even."""
    if form.bits == 16 and form.exponent == 5 and out.has_half:
        half, full = typed("half", lanes), typed("float", lanes)
        return out.emit(f"fpext {half} {out.emit(f'fptrunc {full} {x} to {half}')} to {full}")
    whole, real = typed("i32", lanes), typed("float", lanes)
    shift = 23 - form.mantissa
    bits = _bits(out, x, lanes)
    if form.special == "scale":
        return _round_scale(out, x, bits, lanes)
    last = out.emit(f"lshr {whole} {bits}, {constant(shift, 'i32', lanes)}")
    last = out.emit(f"and {whole} {last}, {constant(1, 'i32', lanes)}")
    half_less = constant((1 << (shift - 1)) - 1, "i32", lanes)
    rounded = out.emit(f"add {whole} {bits}, {out.emit(f'add {whole} {last}, {half_less}')}")
    rounded = out.emit(f"and {whole} {rounded}, {constant(-(1 << shift), 'i32', lanes)}")
    result = _unbits(out, rounded, lanes)
    if form.exponent < 8:
        result = _round_edges(out, x, result, form, lanes)
    nan = out.emit(f"fcmp uno {real} {x}, {x}")
    if form.special in ("ieee", "fn"):  # it keeps its sign, and stays one without its low bits
        quiet = _unbits(
            out, out.emit(f"or {whole} {bits}, {constant(1 << 22, 'i32', lanes)}"), lanes
        )
    else:
        quiet = constant(-0.0 if form.special == "finite" else float("nan"), "float", lanes)
    return out.emit(f"select {typed('i1', lanes)} {nan}, {real} {quiet}, {real} {result}")


def _round_scale(out: Lines, x: str, bits: str, lanes: int) -> str:
    """Round to the nearest power of two, ties up; NaN for what is not positive, or too large.

    The least power, 2**-127, is half of the least normal float32, and stands for all below.
    """
    whole, real, flag = (typed(kind, lanes) for kind in ("i32", "float", "i1"))
    half = constant(1 << 22, "i32", lanes)
    rounded = out.emit(f"add {whole} {bits}, {half}")
    rounded = out.emit(f"and {whole} {rounded}, {constant(255 << 23, 'i32', lanes)}")
    is_least = out.emit(f"icmp ule {whole} {bits}, {half}")
    rounded = out.emit(f"select {flag} {is_least}, {whole} {half}, {whole} {rounded}")
    result = _unbits(out, rounded, lanes)
    is_positive = out.emit(f"fcmp ogt {real} {x}, {constant(0.0, 'float', lanes)}")
    is_finite = out.emit(f"fcmp olt {real} {result}, {constant(float('inf'), 'float', lanes)}")
    known = out.emit(f"and {flag} {is_positive}, {is_finite}")
    return _choose(out, known, result, constant(float("nan"), "float", lanes), "float", lanes)


def _round_edges(out: Lines, x: str, normal: str, form: Format, lanes: int) -> str:
    """Correct the rounding of small values (fixed point) and of large ones (overflow)."""
    real, flag = typed("float", lanes), typed("i1", lanes)
    size = intrinsic(out, "fabs", "float", lanes, x)
    magic = constant(1.5 * 2.0 ** (1 - form.bias - form.mantissa + 23), "float", lanes)
    fixed = out.emit(f"fsub {real} {out.emit(f'fadd {real} {size}, {magic}')}, {magic}")
    fixed = intrinsic(out, "copysign", "float", lanes, fixed, x)
    small = out.emit(f"fcmp olt {real} {size}, {constant(2.0 ** (1 - form.bias), 'float', lanes)}")
    result = out.emit(f"select {flag} {small}, {real} {fixed}, {real} {normal}")
    limit = constant(_largest(form), "float", lanes)
    large = out.emit(f"fcmp ogt {real} {intrinsic(out, 'fabs', 'float', lanes, result)}, {limit}")
    beyond = {"ieee": float("inf"), "finite": _largest(form)}.get(form.special, float("nan"))
    over = constant(beyond, "float", lanes)
    if form.special in ("ieee", "finite"):
        over = intrinsic(out, "copysign", "float", lanes, over, x)
    result = out.emit(f"select {flag} {large}, {real} {over}, {real} {result}")
    if form.special != "fnuz":
        return result
    return out.emit(f"fadd {real} {result}, {constant(0.0, 'float', lanes)}")


def _encode(out: Lines, x: str, form: Format, lanes: int) -> str:
    """Turn an exactly representable float register into the bits of the narrow format."""
    target, whole = typed(form.memory, lanes), typed("i32", lanes)
    if form.bits == 16 and form.exponent == 5 and out.has_half:
        half = typed("half", lanes)
        short = out.emit(f"fptrunc {typed('float', lanes)} {x} to {half}")
        return out.emit(f"bitcast {half} {short} to {target}")
    bits = _bits(out, x, lanes)
    if form.special == "scale":
        power = out.emit(f"lshr {whole} {bits}, {constant(23, 'i32', lanes)}")
        return out.emit(f"trunc {whole} {power} to {target}")
    if form.exponent == 8:
        high = out.emit(f"lshr {whole} {bits}, {constant(16, 'i32', lanes)}")
        return out.emit(f"trunc {whole} {high} to {target}")
    real, flag = typed("float", lanes), typed("i1", lanes)
    if form.special == "fnuz":
        x = out.emit(f"fadd {real} {x}, {constant(0.0, 'float', lanes)}")
        bits = _bits(out, x, lanes)
    size = intrinsic(out, "fabs", "float", lanes, x)
    scale = constant(1 / _exponent_scale(form), "float", lanes)
    fields = _bits(out, out.emit(f"fmul {real} {size}, {scale}"), lanes)
    fields = out.emit(f"lshr {whole} {fields}, {constant(23 - form.mantissa, 'i32', lanes)}")
    top = ((1 << form.exponent) - 1) << form.mantissa
    if form.special == "ieee":
        infinite = out.emit(f"fcmp oeq {real} {size}, {constant(float('inf'), 'float', lanes)}")
        fields = _choose(out, infinite, constant(top, "i32", lanes), fields, "i32", lanes)
    nan_fields = top | (
        (1 << form.mantissa) - 1 if form.special == "fn" else 1 << (form.mantissa - 1)
    )
    if form.special == "fnuz":
        nan_fields = 0
    nan = out.emit(f"fcmp uno {real} {x}, {x}")
    fields = _choose(out, nan, constant(nan_fields, "i32", lanes), fields, "i32", lanes)
    sign = out.emit(f"lshr {whole} {bits}, {constant(32 - form.bits, 'i32', lanes)}")
    sign = out.emit(f"and {whole} {sign}, {constant(1 << (form.bits - 1), 'i32', lanes)}")
    if form.special == "fnuz":
        mark = constant(1 << (form.bits - 1), "i32", lanes)
        sign = out.emit(f"select {flag} {nan}, {whole} {mark}, {whole} {sign}")
    return out.emit(f"trunc {whole} {out.emit(f'or {whole} {fields}, {sign}')} to {target}")


def _decode(out: Lines, bits: str, form: Format, lanes: int) -> str:
    """Turn the bits of a narrow float into a float register."""
    source, whole = typed(form.memory, lanes), typed("i32", lanes)
    real = typed("float", lanes)
    if form.bits == 16 and form.exponent == 5 and out.has_half:
        half = typed("half", lanes)
        return out.emit(f"fpext {half} {out.emit(f'bitcast {source} {bits} to {half}')} to {real}")
    wide = out.emit(f"zext {source} {bits} to {whole}")
    if form.special == "scale":
        return _decode_scale(out, wide, lanes)
    if form.exponent == 8:
        return _unbits(out, out.emit(f"shl {whole} {wide}, {constant(16, 'i32', lanes)}"), lanes)
    mark = 1 << (form.bits - 1)
    fields = out.emit(f"and {whole} {wide}, {constant(mark - 1, 'i32', lanes)}")
    high = out.emit(f"shl {whole} {fields}, {constant(23 - form.mantissa, 'i32', lanes)}")
    scale = constant(_exponent_scale(form), "float", lanes)
    size = out.emit(f"fmul {real} {_unbits(out, high, lanes)}, {scale}")
    top = ((1 << form.exponent) - 1) << form.mantissa
    if form.special == "ieee":
        special = out.emit(f"icmp uge {whole} {fields}, {constant(top, 'i32', lanes)}")
        exact = out.emit(f"or {whole} {high}, {constant(255 << 23, 'i32', lanes)}")
        size = _choose(out, special, _unbits(out, exact, lanes), size, "float", lanes)
    nan = constant(float("nan"), "float", lanes)
    if form.special == "fn":
        special = out.emit(f"icmp eq {whole} {fields}, {constant(mark - 1, 'i32', lanes)}")
        size = _choose(out, special, nan, size, "float", lanes)
    sign = out.emit(f"shl {whole} {wide}, {constant(32 - form.bits, 'i32', lanes)}")
    result = intrinsic(out, "copysign", "float", lanes, size, _unbits(out, sign, lanes))
    if form.special != "fnuz":
        return result
    special = out.emit(f"icmp eq {whole} {wide}, {constant(mark, 'i32', lanes)}")
    return _choose(out, special, nan, result, "float", lanes)


def _decode_scale(out: Lines, power: str, lanes: int) -> str:
    """Turn the exponents of powers of two, or 255 for NaN, into a float register."""
    whole = typed("i32", lanes)
    bits = out.emit(f"shl {whole} {power}, {constant(23, 'i32', lanes)}")
    is_least = out.emit(f"icmp eq {whole} {power}, {constant(0, 'i32', lanes)}")
    bits = _choose(out, is_least, constant(1 << 22, "i32", lanes), bits, "i32", lanes)
    is_nan = out.emit(f"icmp eq {whole} {power}, {constant(255, 'i32', lanes)}")
    quiet = constant(float("nan"), "float", lanes)
    return _choose(out, is_nan, quiet, _unbits(out, bits, lanes), "float", lanes)


def to_memory(out: Lines, x: str, form: Format, lanes: int) -> str:
    """Turn a register value into the memory type."""
    if form.register == form.memory:
        return x
    if form.narrow:
        return _encode(out, x, form, lanes)
    return out.emit(f"zext {typed(form.register, lanes)} {x} to {typed(form.memory, lanes)}")


def from_memory(out: Lines, x: str, form: Format, lanes: int) -> str:
    """Turn what was loaded into a register value."""
    if form.register == form.memory:
        return x
    stored = typed(form.memory, lanes)
    if form.narrow:
        return _decode(out, x, form, lanes)
    if form.kind == "bool":
        return out.emit(f"icmp ne {stored} {x}, {constant(0, form.memory, lanes)}")
    return out.emit(f"trunc {stored} {x} to {typed(form.register, lanes)}")


# Conversions


def convert(out: Lines, x: str, source: Format, target: Format, lanes: int) -> str:
    """Convert values as JAX does: truncating, saturating, NaN to zero."""
    if source == target:
        return x
    if target.kind == "bool":
        compare = "fcmp une" if source.kind == "float" else "icmp ne"
        zero = constant(0, source.register, lanes)
        return out.emit(f"{compare} {typed(source.register, lanes)} {x}, {zero}")
    if target.kind == "float":
        return _to_float(out, x, source, target, lanes)
    if source.kind == "float":
        return _float_to_integer(out, x, source, target, lanes)
    if source.bits == target.bits:
        return x
    change = "trunc" if source.bits > target.bits else "sext" if source.kind == "signed" else "zext"
    return out.emit(
        f"{change} {typed(source.register, lanes)} {x} to {typed(target.register, lanes)}"
    )


def _to_float(out: Lines, x: str, source: Format, target: Format, lanes: int) -> str:
    """Convert anything to a floating-point format."""
    before, after = typed(source.register, lanes), typed(target.register, lanes)
    if source.kind != "float":
        change = "sitofp" if source.kind == "signed" else "uitofp"
        x = out.emit(f"{change} {before} {x} to {after}")
    elif source.register != target.register:
        change = "fpext" if target.register == "double" else "fptrunc"
        x = out.emit(f"{change} {before} {x} to {after}")
    return round_narrow(out, x, target, lanes) if target.narrow else x


def _float_to_integer(out: Lines, x: str, source: Format, target: Format, lanes: int) -> str:
    """Convert to an integer: towards zero, saturating, NaN to 0."""
    real, whole = typed(source.register, lanes), typed(target.register, lanes)
    signed = target.kind == "signed"
    digits = target.bits - signed
    low, high = (-(1 << digits) if signed else 0), (1 << digits)
    significant = 53 if source.register == "double" else 24
    exact = digits < significant
    least = constant(float(low - 1 if exact else low), source.register, lanes)
    strict = "ogt" if exact else "oge"
    if not signed:
        least, strict = constant(-1.0, source.register, lanes), "ogt"
    above = out.emit(f"fcmp {strict} {real} {x}, {least}")
    below = out.emit(f"fcmp olt {real} {x}, {constant(float(high), source.register, lanes)}")
    inside = out.emit(f"and {typed('i1', lanes)} {above}, {below}")
    zero = constant(0, source.register, lanes)
    safe = _choose(out, inside, x, zero, source.register, lanes)
    result = out.emit(f"{'fptosi' if signed else 'fptoui'} {real} {safe} to {whole}")
    over = out.emit(f"fcmp oge {real} {x}, {constant(float(high), source.register, lanes)}")
    result = _choose(
        out, over, constant(high - 1, target.register, lanes), result, target.register, lanes
    )
    if not signed:
        return result
    under = out.emit(f"fcmp olt {real} {x}, {constant(float(low), source.register, lanes)}")
    return _choose(
        out, under, constant(low, target.register, lanes), result, target.register, lanes
    )


def bitcast(out: Lines, x: str, source: Format, target: Format, lanes: int) -> str:
    """Read the bits of x as another dtype of the same width."""
    stored = to_memory(out, x, source, lanes)
    before, after = typed(source.memory, lanes), typed(target.memory, lanes)
    if before != after:
        stored = out.emit(f"bitcast {before} {stored} to {after}")
    return from_memory(out, stored, target, lanes)


# Operations of one format


def _choose(out: Lines, condition: str, x: str, y: str, register: str, lanes: int) -> str:
    """Choose lane by lane."""
    kind = typed(register, lanes)
    return out.emit(f"select {typed('i1', lanes)} {condition}, {kind} {x}, {kind} {y}")


def _binary(real: str, whole: str) -> Callable[..., str]:
    """Make the emitter of an operation that is one instruction for each kind."""

    def run(out: Lines, args: list[str], form: Format, lanes: int) -> str:
        """Emit the instruction."""
        name = real if form.kind == "float" else whole
        return out.emit(f"{name} {typed(form.register, lanes)} {args[0]}, {args[1]}")

    return run


def _rounded(name: str) -> Callable[..., str]:
    """Make the emitter of an operation that is one intrinsic on floats."""

    def run(out: Lines, args: list[str], form: Format, lanes: int) -> str:
        """Emit the call."""
        return intrinsic(out, name, form.register, lanes, *args)

    return run


def _is_constant(text: str) -> bool:
    """Tell whether an operand is spelled as a constant."""
    return not text.startswith("%")


def _constant_value(text: str) -> int | None:
    """Read an integer constant, splat or not."""
    if text.startswith("splat ("):
        text = text[:-1].rsplit(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def _divide(out: Lines, args: list[str], form: Format, lanes: int, remainder: bool) -> str:
    """Divide; integers truncate and are total."""
    x, y = args
    kind, register = typed(form.register, lanes), form.register
    if form.kind == "float":
        return out.emit(f"{'frem' if remainder else 'fdiv'} {kind} {x}, {y}")
    name = ("s" if form.kind == "signed" else "u") + ("rem" if remainder else "div")
    divisor = _constant_value(y)
    if divisor is not None and divisor not in (0, -1):
        return out.emit(f"{name} {kind} {x}, {y}")
    zero, one = constant(0, register, lanes), constant(1, register, lanes)
    by_zero = out.emit(f"icmp eq {kind} {y}, {zero}")
    safe = _choose(out, by_zero, one, y, register, lanes)
    if form.kind == "signed":
        negated = out.emit(f"icmp eq {kind} {y}, {constant(-1, register, lanes)}")
        safe = _choose(out, negated, one, safe, register, lanes)
        result = _quotient(out, name, x, safe, register, lanes)
        if not remainder:  # that of -1 is that of 1
            other = out.emit(f"sub {kind} {zero}, {x}")
            result = _choose(out, negated, other, result, register, lanes)
    else:
        result = _quotient(out, name, x, safe, register, lanes)
    other = x if remainder else constant(-1, register, lanes)
    return _choose(out, by_zero, other, result, register, lanes)


def _quotient(
    out: Lines,
    name: str,
    x: str,
    y: str,
    register: str,
    lanes: int,
) -> str:
    """Divide integers, or take the remainder, where that is defined: `name` is an instruction.

    Vectors of words have no such instruction.  A quotient of doubles is exact after truncation: two
    words whose quotient is not whole miss the next whole number by more than its last place.
    """
    kind = typed(register, lanes)
    if lanes == 1 or register != "i32":
        return out.emit(f"{name} {kind} {x}, {y}")
    sign, wide = name[0], typed("double", lanes)
    real_x, real_y = (out.emit(f"{sign}itofp {kind} {word} to {wide}") for word in (x, y))
    real = out.emit(f"fdiv {wide} {real_x}, {real_y}")
    quotient = out.emit(f"fpto{sign}i {wide} {real} to {kind}")
    if name.endswith("div"):
        return quotient
    product = out.emit(f"mul {kind} {quotient}, {y}")
    return out.emit(f"sub {kind} {x}, {product}")


def _div(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """x / y."""
    return _divide(out, args, form, lanes, remainder=False)


def _rem(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """The remainder of x / y, with the sign of x."""
    return _divide(out, args, form, lanes, remainder=True)


def _neg(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """-x; LLVM is kept from changing a factor's sign instead, which is not that of a NaN."""
    kind = typed(form.register, lanes)
    if form.kind == "float":
        x = intrinsic(out, "arithmetic.fence", form.register, lanes, args[0])
        return out.emit(f"fneg {kind} {x}")
    return out.emit(f"sub {kind} {constant(0, form.register, lanes)}, {args[0]}")


def _abs(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """|x|."""
    x = args[0]
    if form.kind == "float":
        return intrinsic(out, "fabs", form.register, lanes, x)
    if form.kind != "signed":
        return x
    kind = typed(form.register, lanes)
    negative = out.emit(f"icmp slt {kind} {x}, {constant(0, form.register, lanes)}")
    return _choose(out, negative, _neg(out, args, form, lanes), x, form.register, lanes)


def _sign(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """-1, 0 or 1; NaN and signed zeros stay what they are."""
    x, kind, register = args[0], typed(form.register, lanes), form.register
    one, zero = constant(1, register, lanes), constant(0, register, lanes)
    if form.kind == "float":
        nonzero = out.emit(f"fcmp one {kind} {x}, {zero}")
        unit = intrinsic(out, "copysign", register, lanes, one, x)
        return _choose(out, nonzero, unit, x, register, lanes)
    nonzero = out.emit(f"icmp ne {kind} {x}, {zero}")
    result = _choose(out, nonzero, one, zero, register, lanes)
    if form.kind != "signed":
        return result
    negative = out.emit(f"icmp slt {kind} {x}, {zero}")
    return _choose(out, negative, constant(-1, register, lanes), result, register, lanes)


def _extremum(greater: bool) -> Callable[..., str]:
    """Make the emitter of min or max; NaN wins over numbers, and -0.0 is below 0.0."""

    def run(out: Lines, args: list[str], form: Format, lanes: int) -> str:
        """Emit an intrinsic; for bools, a logical operation."""
        x, y = args
        kind, register = typed(form.register, lanes), form.register
        if form.kind == "bool":
            return out.emit(f"{'or' if greater else 'and'} {kind} {x}, {y}")
        if form.kind != "float":
            prefix = "s" if form.kind == "signed" else "u"
            return intrinsic(out, prefix + ("max" if greater else "min"), register, lanes, x, y)
        name = "maximum" if greater else "minimum"
        return intrinsic(out, name, register, lanes, x, y)

    return run


def _not(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """Flip every bit."""
    kind = typed(form.register, lanes)
    return out.emit(f"xor {kind} {args[0]}, {constant(-1, form.register, lanes)}")


def _shift(name: str) -> Callable[..., str]:
    """Make the emitter of a shift that is total: past the width come zeros, or the sign."""

    def run(out: Lines, args: list[str], form: Format, lanes: int) -> str:
        """Emit the shift, with the count limited unless it is a small constant."""
        x, count = args
        kind, register = typed(form.register, lanes), form.register
        known = _constant_value(count)
        if known is not None and 0 <= known < form.bits:
            return out.emit(f"{name} {kind} {x}, {count}")
        last = constant(form.bits - 1, register, lanes)
        limited = intrinsic(out, "umin", register, lanes, count, last)
        shifted = out.emit(f"{name} {kind} {x}, {limited}")
        if name == "ashr":
            return shifted
        past = out.emit(f"icmp ugt {kind} {count}, {last}")
        return _choose(out, past, constant(0, register, lanes), shifted, register, lanes)

    return run


def _popcount(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """The number of bits that are set."""
    return intrinsic(out, "ctpop", form.register, lanes, args[0])


def _clz(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """The number of leading zeros."""
    kind = typed(form.register, lanes)
    name = f"llvm.ctlz.{_suffix(form.register, lanes)}"
    out.declare(name, f"{kind} ({kind}, i1 immarg)")
    return out.emit(f"call {kind} @{name}({kind} {args[0]}, i1 false)")


def _mulhi(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """The high half of the full product."""
    kind, double = typed(form.register, lanes), f"i{2 * form.bits}"
    wide = typed(double, lanes)
    widen = "sext" if form.kind == "signed" else "zext"
    left, right = (out.emit(f"{widen} {kind} {arg} to {wide}") for arg in args)
    product = out.emit(f"mul {wide} {left}, {right}")
    high = out.emit(f"lshr {wide} {product}, {constant(form.bits, double, lanes)}")
    return out.emit(f"trunc {wide} {high} to {kind}")


def _compare(real: str, signed: str, unsigned: str) -> Callable[..., str]:
    """Make the emitter of a comparison."""

    def run(out: Lines, args: list[str], form: Format, lanes: int) -> str:
        """Emit the comparison; the result is a bool."""
        test = f"icmp {signed if form.kind == 'signed' else unsigned}"
        if form.kind == "float":
            test = f"fcmp {real}"
        return out.emit(f"{test} {typed(form.register, lanes)} {args[0]}, {args[1]}")

    return run


def _is_finite(out: Lines, args: list[str], form: Format, lanes: int) -> str:
    """Neither infinite nor NaN."""
    size = intrinsic(out, "fabs", form.register, lanes, args[0])
    limit = constant(float("inf"), form.register, lanes)
    return out.emit(f"fcmp olt {typed(form.register, lanes)} {size}, {limit}")


_EXACT: dict[str, Callable[..., str]] = {
    "neg": _neg,
    "abs": _abs,
    "sign": _sign,
    "min": _extremum(greater=False),
    "max": _extremum(greater=True),
    "floor": _rounded("floor"),
    "ceil": _rounded("ceil"),
    "trunc": _rounded("trunc"),
    "round_even": _rounded("roundeven"),
    "copysign": _rounded("copysign"),
    "and": _binary("", "and"),
    "or": _binary("", "or"),
    "xor": _binary("", "xor"),
    "not": _not,
    "shift_left": _shift("shl"),
    "shift_right_logical": _shift("lshr"),
    "shift_right_arithmetic": _shift("ashr"),
    "popcount": _popcount,
    "clz": _clz,
    "mulhi": _mulhi,
    "eq": _compare("oeq", "eq", "eq"),
    "ne": _compare("une", "ne", "ne"),
    "lt": _compare("olt", "slt", "ult"),
    "le": _compare("ole", "sle", "ule"),
    "gt": _compare("ogt", "sgt", "ugt"),
    "ge": _compare("oge", "sge", "uge"),
    "is_finite": _is_finite,
}
_INEXACT: dict[str, Callable[..., str]] = {
    "add": _binary("fadd", "add"),
    "sub": _binary("fsub", "sub"),
    "mul": _binary("fmul", "mul"),
    "div": _div,
    "rem": _rem,
    "fma": _rounded("fma"),
    "sqrt": _rounded("sqrt"),
}
COMBINES = frozenset(("add", "mul", "min", "max", "and", "or", "xor"))


def is_operation(name: str) -> bool:
    """Tell whether `name` is emitted here; other names are recipes over these."""
    return name in _EXACT or name in _INEXACT or name in ("select", "convert", "bitcast")


def operate(
    out: Lines, name: str, args: list[str], source: Format, target: Format, lanes: int
) -> str:
    """Emit one operation.

    source: the format of the last operand; target: the format of the result.
    """
    if name == "select":
        return _choose(out, args[0], args[1], args[2], target.register, lanes)
    if name == "convert":
        return convert(out, args[0], source, target, lanes)
    if name == "bitcast":
        return bitcast(out, args[0], source, target, lanes)
    if source.kind == "bool":
        name = {"add": "or", "mul": "and"}.get(name, name)
    exact = _EXACT.get(name)
    if exact is not None:
        return exact(out, args, source, lanes)
    result = _INEXACT[name](out, args, source, lanes)
    return round_narrow(out, result, source, lanes) if source.narrow else result


def identity(combine: str, form: Format) -> bool | int | float:
    """Return the neutral element of a reduction."""
    if combine == "add":
        return -0.0 if form.kind == "float" else 0
    if combine == "mul":
        return 1
    if combine in ("or", "xor"):
        return 0
    if combine == "and":
        return -1 if form.kind != "bool" else True
    if form.kind == "bool":
        return combine == "min"
    if form.kind == "float":
        return float("inf") if combine == "min" else -float("inf")
    signed = form.kind == "signed"
    least, most = (-(1 << (form.bits - 1)) if signed else 0), (1 << (form.bits - signed)) - 1
    return most if combine == "min" else least
