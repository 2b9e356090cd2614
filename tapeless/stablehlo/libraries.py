"""Custom calls: routines of LAPACK by the names that JAX gives them, and calls that mean nothing.

    lapack_sgetrf_ffi     LU            lapack_ssyevd_ffi   symmetric eigenproblem
    lapack_spotrf_ffi     Cholesky      lapack_sgeev_ffi    eigenproblem
    lapack_sgeqrf_ffi     QR, packed    lapack_sgesdd_ffi   singular values
    lapack_sorgqr_ffi     the Q of it   lapack_strsm_ffi    triangular solve
    ...

The letter is the dtype: s, d, c, z.  Options are the letters that LAPACK takes, as their codes.
The last result is LAPACK's status; here it is 0, or 1 where a Cholesky factor does not exist.
Layouts are of no interest: values have no layout.

Marks of a compiler (`Sharding`) return their operand.  Any other target, calls back into Python
among them, is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.linalg.matrices import adjoint
from tapeless.stablehlo.calls import Call, Rule, Rules
from tapeless.stablehlo.elements import RULES as ELEMENT_RULES

__all__ = ["RULES"]


def _options(call: Call) -> dict[str, Any]:
    """Return the options of a routine."""
    found = call.get("mhlo.backend_config", None) or call.get("backend_config", {})
    return found if isinstance(found, dict) else {}


def _option(call: Call, name: str, default: str = "") -> str:
    """Return an option of a routine as its letter."""
    code = _options(call).get(name)
    if code is None:
        return default or call.fail(f"the option {name} is missing")
    return chr(code) if isinstance(code, int) and 0 < code < 128 else str(code)


def _status(call: Call) -> Value:
    """Return the status of a routine that went well."""
    return lax.full(call.outs[-1].shape, 0, call.outs[-1].dtype)


def _plus_one(x: Value) -> Value:
    """Count from one, as LAPACK does."""
    return lax.add(x, lax.full_like(x, 1))


def _getrf(call: Call, a: Value) -> list[Value]:
    """a: (n, m) -> L and U in one, pivots, status."""
    factors, pivots, _ = lax.linalg.lu(a)
    return [factors, _plus_one(pivots), _status(call)]


def _potrf(call: Call, a: Value) -> list[Value]:
    """a: (n, n) -> the factor, status."""
    lower = _option(call, "uplo") == "L"
    factor = lax.linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    aval = typeof(factor)
    failed = lax.reduce_or(lax.ne(factor, factor), (aval.ndim - 2, aval.ndim - 1))
    status = lax.convert_element_type(failed, call.outs[-1].dtype)
    return [factor if lower else adjoint(factor), status]


def _geqrf(call: Call, a: Value) -> Sequence[Value]:
    """a: (n, m) -> R and reflectors, their factors."""
    return lax.linalg.geqrf(a)


def _geqp3(call: Call, a: Value, order: Value) -> list[Value]:
    """a: (n, m) -> R and reflectors of the columns in an order, the order, factors.

    order: zeros, which leave all columns free; that is all that is ever asked for.
    """
    chosen = lax.linalg.qr(a, pivoting=True, full_matrices=False)[2]
    packed, taus = lax.linalg.geqrf(lax.linalg.permuted_columns(a, chosen))
    return [packed, _plus_one(lax.convert_element_type(chosen, call.outs[1].dtype)), taus]


def _orgqr(call: Call, a: Value, taus: Value) -> Value:
    """a: (n, m), reflectors, taus: (k) -> orthonormal columns (n, m)."""
    return lax.linalg.householder_product(a, taus)


def _ormqr(call: Call, a: Value, taus: Value, c: Value) -> Value:
    """Return Q c, or its like."""
    options = _options(call)
    left, transpose = (bool(options.get(name, True)) for name in ("left", "transpose"))
    return lax.linalg.ormqr(a, taus, c, left=left, transpose=transpose)


def _syevd(call: Call, a: Value) -> list[Value]:
    """a: (n, n) -> eigenvectors, eigenvalues, status."""
    lower = _option(call, "uplo") == "L"
    vectors, values = lax.linalg.eigh(a, lower=lower, symmetrize_input=False)
    return [vectors, values, _status(call)]


def _gesdd(call: Call, a: Value) -> list[Value]:
    """a: (n, m) -> what LAPACK leaves of a, singular values, u, v, status."""
    mode = _option(call, "mode")
    if mode == "N":
        values = lax.linalg.svd(a, compute_uv=False)
        u, v = (lax.full(aval.shape, 0, aval.dtype) for aval in call.outs[2:4])
    else:
        u, values, v = lax.linalg.svd(a, full_matrices=mode == "A")
    return [a, values, u, v, _status(call)]


def _geev(call: Call, a: Value) -> list[Value]:
    """a: (n, n) -> eigenvalues (real ones as two arrays), left and right vectors, status."""
    wanted = [_option(call, name) == "V" for name in ("compute_left", "compute_right")]
    values, *vectors = lax.linalg.eig(
        a, compute_left_eigenvectors=wanted[0], compute_right_eigenvectors=wanted[1]
    )
    rest = iter(vectors)
    types = call.outs[-3:-1]
    left, right = (
        next(rest) if flag else lax.full(aval.shape, 0, aval.dtype)
        for flag, aval in zip(wanted, types, strict=True)
    )
    return [*_eigenvalues(a, values), left, right, _status(call)]


def _eigenvalues(a: Value, values: Value) -> list[Value]:
    """Return eigenvalues as LAPACK does: those of a real matrix in two arrays."""
    if dtypes.issubdtype(typeof(a).dtype, np.complexfloating):
        return [values]
    return [lax.real(values), lax.imag(values)]


def _gees(call: Call, a: Value) -> list[Value]:
    """a: (n, n) -> the Schur form, vectors, eigenvalues, how many were sorted, status."""
    if _option(call, "sort", "N") != "N":
        call.refuse("sorted Schur forms are not supported")
    form, *vectors = lax.linalg.schur(a, compute_schur_vectors=_option(call, "mode") == "V")
    other = vectors[0] if vectors else lax.full(call.outs[1].shape, 0, call.outs[1].dtype)
    values = lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
    sorted_count = lax.full(call.outs[-2].shape, 0, call.outs[-2].dtype)
    return [form, other, *_eigenvalues(a, values), sorted_count, _status(call)]


def _gehrd(call: Call, a: Value) -> list[Value]:
    """a: (n, n) -> the Hessenberg form and reflectors, their factors, status."""
    return [*lax.linalg.hessenberg(a), _status(call)]


def _sytrd(call: Call, a: Value) -> list[Value]:
    """a: (n, n) -> reflectors, diagonal, the one beside it, factors, status."""
    return [*lax.linalg.tridiagonal(a, lower=_option(call, "uplo") == "L"), _status(call)]


def _gtsv(
    call: Call,
    lower: Value,
    diagonal: Value,
    upper: Value,
    b: Value,
) -> list[Value]:
    """lower, diagonal, upper: (n), b: (n, m) -> what LAPACK leaves of three, solution, status."""
    solution = lax.linalg.tridiagonal_solve(lower, diagonal, upper, b)
    return [lower, diagonal, upper, solution, _status(call)]


def _trsm(call: Call, a: Value, b: Value) -> Value:
    """a: (n, n), b: (n, m) or (m, n) -> the solution, of the shape of b."""
    kind = _option(call, "trans_x")
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=_option(call, "side") == "L",
        lower=_option(call, "uplo") == "L",
        transpose_a=kind != "N",
        conjugate_a=kind == "C",
        unit_diagonal=_option(call, "diag") == "U",
    )


def _top_k(call: Call, x: Value, *others: Value) -> Sequence[Value]:
    """x: (m, n) -> the k largest of each row, their positions."""
    return lax.top_k(x, call.integer("k"))


def _approximate_top_k(call: Call, x: Value, *others: Value) -> Sequence[Value]:
    """x: (m, n), positions, two initial values -> the k extreme elements, their positions."""
    options = _options(call)
    k, axis = (int(options[name]) for name in ("top_k", "reduction_dim"))
    chosen = str(call.get("called_computations", [""])[0])
    if "gt" in chosen:
        return lax.approx_max_k(x, k, axis)
    if "lt" in chosen:
        return lax.approx_min_k(x, k, axis)
    call.refuse("elements are compared by a function of an unknown name")


_LAPACK: dict[str, Rule] = {
    "geev": _geev,
    "gees": _gees,
    "gehrd": _gehrd,
    "geqp3": _geqp3,
    "geqrf": _geqrf,
    "gesdd": _gesdd,
    "getrf": _getrf,
    "gtsv": _gtsv,
    "heevd": _syevd,
    "hetrd": _sytrd,
    "orgqr": _orgqr,
    "ormqr": _ormqr,
    "potrf": _potrf,
    "syevd": _syevd,
    "sytrd": _sytrd,
    "trsm": _trsm,
    "ungqr": _orgqr,
    "unmqr": _ormqr,
}
_MARKS = frozenset(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement "
    "LayoutConstraint".split()
)


def _custom_call(call: Call, *operands: Value) -> Any:
    """Call the routine that the target names."""
    target = str(call.get("call_target_name"))
    routine = _routine(target)
    if routine is not None:
        return routine(call, *operands)
    if target in _MARKS and len(operands) == 1:
        return operands[0]
    reason = "is no routine that is known here"
    if "callback" in target:
        reason = "calls back into the Python process that wrote the module"
    call.refuse(f"the custom call @{target} {reason}. Export the function without it.")


def _routine(target: str) -> Callable[..., Any] | None:
    """Return the rule of a target that is known."""
    match = re.fullmatch(r"lapack_[sdcz](\w+?)(?:_ffi)?", target)
    if match is not None:
        return _LAPACK.get(match.group(1))
    if target == "ApproxTopK":
        return _approximate_top_k
    return ELEMENT_RULES.get(target.replace("mhlo.", "chlo.", 1))


RULES: Rules = {
    "stablehlo.custom_call": _custom_call,
    "chlo.top_k": _top_k,
}
