"""`jax.scipy.spatial.transform`: rotations of space, and paths between them.

A rotation is a quaternion of norm 1, (x, y, z, w) with the scalar last: by the angle t about the
unit vector u it is (u sin(t/2), cos(t/2)).  q and -q are the same rotation.  All functions take
several rotations at once, along leading axes.

    matrix            (3, 3), of which columns are where the axes go
    rotation vector   t u                 modified Rodrigues parameters   u tan(t/4)
    Euler angles      turns about three axes; capitals: axes that turn along (intrinsic), from left
                      to right; small letters: axes that stay (extrinsic)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tapeless import numpy as jnp
from tapeless import random
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, check_arraylike, promote_dtypes_inexact
from tapeless.util.names import close_module

__all__ = ["Rotation", "Slerp"]

_TINY_ANGLE = 1e-3


def _floats(
    name: str,
    x: Any,
    width: int | None = None,
) -> Value:
    """Return an operand as floats; with `width` elements along its last axis."""
    if not isinstance(x, (list, tuple)):
        check_arraylike(name, x)
    (array,) = promote_dtypes_inexact(asarray(x))
    array = array.astype(array.dtype)  # of no weak type
    if width is not None and (array.ndim == 0 or array.shape[-1] != width):
        raise ValueError(f"{name} needs arrays of shape (..., {width}), got {array.shape}")
    return array


def _normalized(quat: Value) -> Value:
    """Return quaternions of norm 1: (..., 4)."""
    return quat / jnp.linalg.norm(quat, axis=-1, keepdims=True)


def _product(
    p: Value,
    q: Value,
) -> Value:
    """Return the products of quaternions: (..., 4), (..., 4) -> (..., 4)."""
    p_vector, q_vector, p_scalar, q_scalar = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    vector = p_scalar * q_vector + q_scalar * p_vector + jnp.cross(p_vector, q_vector)
    scalar = p_scalar * q_scalar - (p_vector * q_vector).sum(axis=-1, keepdims=True)
    return jnp.concatenate([vector, scalar], axis=-1)


def _norm(x: Value) -> Value:
    """Return norms along the last axis, kept; with gradient 0 at 0."""
    square = (x * x).sum(axis=-1, keepdims=True)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


def _sequence_axes(seq: str) -> tuple[list[int], bool]:
    """Return the numbers of the axes of Euler angles, and whether they are intrinsic."""
    is_intrinsic = all(letter in "XYZ" for letter in seq)
    if not seq or not (is_intrinsic or all(letter in "xyz" for letter in seq)):
        raise ValueError(
            "Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got " + seq
        )
    if any(a == b for a, b in zip(seq, seq[1:], strict=False)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(letter) for letter in seq.lower()], is_intrinsic


def _about_axis(
    axis: int,
    angle: Value,
) -> Value:
    """Return the quaternions of turns about an axis: (...) -> (..., 4)."""
    parts = [jnp.zeros_like(angle)] * 3 + [jnp.cos(angle / 2)]
    parts[axis] = jnp.sin(angle / 2)
    return jnp.stack(parts, axis=-1)


def _quat_of_matrix(m: Value) -> Value:
    """Return the quaternion of matrices, by its largest component: (..., 3, 3) -> (..., 4)."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    diagonal = jnp.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        candidates.append(jnp.stack(parts, axis=-1))
    turn = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    candidates.append(jnp.stack([*turn, 1 + trace], axis=-1))
    largest = jnp.argmax(diagonal, axis=-1)[..., None, None]
    chosen = jnp.take_along_axis(jnp.stack(candidates, axis=-2), largest, axis=-2)
    return _normalized(chosen[..., 0, :])


def _euler_angles(
    quat: Value,
    axes: list[int],
    is_intrinsic: bool,
) -> Value:
    """Return Euler angles: (..., 4) -> (..., 3), after Bernardes and Viollet (2022)."""
    i, j, k = axes[::-1] if is_intrinsic else axes
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = quat[..., i], quat[..., j], quat[..., k] * sign, quat[..., 3]
    a, b, c, d = (w, x, y, z) if is_symmetric else (w - y, x + z, y + w, z - x)
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    if is_intrinsic:
        first, third = third, first
    # Where the middle angle is 0 or pi, only the sum of the others counts; the third is set to 0.
    eps = 1e-7
    is_zero, is_half = jnp.abs(middle) <= eps, jnp.abs(middle - math.pi) <= eps
    difference = 2 * half_difference * (1 if is_intrinsic else -1)
    first = jnp.where(is_zero, 2 * half_sum, jnp.where(is_half, difference, first))
    third = jnp.where(is_zero | is_half, 0, third)
    if not is_symmetric:
        middle = middle - math.pi / 2
        first, third = (first * sign, third) if is_intrinsic else (first, third * sign)
    angles = jnp.stack([first, middle, third], axis=-1)
    return (angles + math.pi) % (2 * math.pi) - math.pi


class Rotation(NamedTuple):
    """One or several rotations: quat (..., 4), of norm 1.

    >>> quarter = Rotation.from_euler("z", 90, degrees=True)
    >>> quarter.apply(jnp.array([1.0, 0.0, 0.0])).round(3) + 0.0
    Array([0., 1., 0.], dtype=float32)
    """

    quat: Value

    @classmethod
    def concatenate(
        cls,
        rotations: Sequence[Rotation],
    ) -> Rotation:
        """Return several rotations in one, along the first axis."""
        return cls(jnp.concatenate([jnp.atleast_2d(each.quat) for each in rotations]))

    @classmethod
    def from_euler(
        cls,
        seq: str,
        angles: Any,
        degrees: bool = False,
    ) -> Rotation:
        """Return rotations by Euler angles: (..., k) -> (...); seq: k letters, like "xyz"."""
        axes, is_intrinsic = _sequence_axes(seq)
        check_arraylike("from_euler", angles)
        turns = _floats("from_euler", angles)
        if degrees:
            turns = jnp.deg2rad(turns)
        if turns.ndim == 0:
            turns = turns[None]
        if turns.shape[-1] != len(axes):
            raise ValueError(
                f"from_euler needs {len(axes)} angles along the last axis for the sequence {seq}, "
                f"got shape {turns.shape}"
            )
        quat = _about_axis(axes[0], turns[..., 0])
        for position, axis in enumerate(axes[1:], 1):
            other = _about_axis(axis, turns[..., position])
            quat = _product(quat, other) if is_intrinsic else _product(other, quat)
        return cls(quat)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
    ) -> Rotation:
        """Return the rotations of orthogonal matrices of determinant 1: (..., 3, 3) -> (...)."""
        m = _floats("from_matrix", matrix, 3)
        if m.ndim < 2 or m.shape[-2] != 3:
            raise ValueError(f"from_matrix needs arrays of shape (..., 3, 3), got {m.shape}")
        return cls(_quat_of_matrix(m))

    @classmethod
    def from_mrp(
        cls,
        mrp: Any,
    ) -> Rotation:
        """Return the rotations of modified Rodrigues parameters: (..., 3) -> (...)."""
        parameters = _floats("from_mrp", mrp, 3)
        square = (parameters * parameters).sum(axis=-1, keepdims=True)
        vector, scalar = 2 * parameters, 1 - square
        return cls(jnp.concatenate([vector, scalar], axis=-1) / (1 + square))

    @classmethod
    def from_quat(
        cls,
        quat: Any,
    ) -> Rotation:
        """Return the rotations of quaternions of any norm but 0: (..., 4) -> (...)."""
        return cls(_normalized(_floats("from_quat", quat, 4)))

    @classmethod
    def from_rotvec(
        cls,
        rotvec: Any,
        degrees: bool = False,
    ) -> Rotation:
        """Return the rotations of rotation vectors: (..., 3) -> (...)."""
        vector = _floats("from_rotvec", rotvec, 3)
        if degrees:
            vector = jnp.deg2rad(vector)
        angle = _norm(vector)
        is_tiny = angle <= _TINY_ANGLE
        safe = jnp.where(is_tiny, 1, angle)
        series = 0.5 - angle**2 / 48 + angle**4 / 3840
        scale = jnp.where(is_tiny, series, jnp.sin(safe / 2) / safe)
        return cls(jnp.concatenate([scale * vector, jnp.cos(angle / 2)], axis=-1))

    @classmethod
    def identity(
        cls,
        num: int | None = None,
        dtype: Any = float,
    ) -> Rotation:
        """Return the rotation that moves nothing, or `num` of them."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(
        cls,
        random_key: Any,
        num: int | None = None,
    ) -> Rotation:
        """Return a rotation drawn uniformly, or `num` of them."""
        shape = (4,) if num is None else (num, 4)
        return cls(_normalized(random.normal(random_key, shape)))

    def __getitem__(
        self,
        indexer: Any,
    ) -> Rotation:
        """Return some of the rotations."""
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """Return how many rotations there are."""
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    # A tuple repeats itself; rotations compose.
    def __mul__(  # pyrefly: ignore[bad-override]
        self,
        other: Rotation,
    ) -> Rotation:
        """Return the rotations that turn by `other` first, and then by this."""
        return Rotation(_product(self.quat, other.quat))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not several."""
        return self.quat.ndim == 1

    def apply(
        self,
        vectors: Any,
        inverse: bool = False,
    ) -> Value:
        """Return vectors rotated, or rotated back: (..., 3), in pairs with the rotations."""
        given = _floats("apply", vectors, 3)
        matrix = self.as_matrix()
        if inverse:
            matrix = jnp.swapaxes(matrix, -1, -2)
        return jnp.einsum("...jk,...k->...j", matrix, given, precision="highest")

    def as_euler(
        self,
        seq: str,
        degrees: bool = False,
    ) -> Value:
        """Return Euler angles between -pi and pi: (..., 3); seq: three letters, like "xyz".

        Where only the sum of the first and third angle is determined, the third is 0.
        """
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        angles = _euler_angles(self.quat, *_sequence_axes(seq))
        return jnp.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Value:
        """Return the matrices: (..., 3, 3)."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

    def as_mrp(self) -> Value:
        """Return modified Rodrigues parameters of norm at most 1: (..., 3)."""
        sign = jnp.where(self.quat[..., 3:] < 0, -1, 1).astype(self.quat.dtype)
        return sign * self.quat[..., :3] / (1 + sign * self.quat[..., 3:])

    def as_rotvec(
        self,
        degrees: bool = False,
    ) -> Value:
        """Return rotation vectors of norm at most pi: (..., 3)."""
        quat = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        vector, scalar = quat[..., :3], quat[..., 3:]
        sine = _norm(vector)
        angle = 2 * jnp.arctan2(sine, scalar)
        is_tiny = angle <= _TINY_ANGLE
        series = 2 + angle**2 / 12 + 7 * angle**4 / 2880
        scale = jnp.where(is_tiny, series, angle / jnp.where(is_tiny, 1, jnp.sin(angle / 2)))
        return jnp.rad2deg(scale * vector) if degrees else scale * vector

    def as_quat(
        self,
        canonical: bool = False,
        scalar_first: bool = False,
    ) -> Value:
        """Return the quaternions: (..., 4); canonical: with the scalar not negative."""
        quat = self.quat
        if canonical:
            quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def inv(self) -> Rotation:
        """Return the rotations back."""
        return Rotation(jnp.concatenate([-self.quat[..., :3], self.quat[..., 3:]], axis=-1))

    def magnitude(self) -> Value:
        """Return the angles: (...), between 0 and pi."""
        sine = _norm(self.quat[..., :3])[..., 0]
        return 2 * jnp.arctan2(sine, jnp.abs(self.quat[..., 3]))

    def mean(
        self,
        weights: Any = None,
    ) -> Rotation:
        """Return the rotation whose squared distance from all, as quaternions, is least.

        weights: (n), of the rotations.
        """
        n = len(self)
        given = jnp.ones(n, self.quat.dtype) if weights is None else _floats("mean", weights)
        if given.shape != (n,):
            raise ValueError(
                "Expected `weights` to have number of values equal to number of rotations, got "
                f"{given.size} values and {n} rotations."
            )
        moments = (given[:, None] * self.quat).T @ self.quat
        return Rotation(jnp.linalg.eigh(moments)[1][:, -1])


class Slerp(NamedTuple):
    """A path through rotations at given times, at constant speed in between.

    times: (n); timedelta: (n - 1), the time between them; rotations: the n - 1 that are left;
    rotvecs: (n - 1, 3), from each to the next.

    >>> ends = Rotation.from_euler("z", jnp.array([[0.0], [90.0]]), degrees=True)
    >>> Slerp.init(jnp.array([0.0, 1.0]), ends)(0.5).as_euler("xyz", degrees=True).round(3)
    Array([ 0.,  0., 45.], dtype=float32)
    """

    times: Value
    timedelta: Value
    rotations: Rotation
    rotvecs: Value

    @classmethod
    def init(
        cls,
        times: Any,
        rotations: Rotation,
    ) -> Slerp:
        """Return the path through `rotations` (n) at ascending times (n)."""
        if rotations.single or len(rotations) < 2:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        moments = _floats("Slerp", times)
        if moments.ndim != 1:
            raise ValueError(
                "Expected times to be specified in a 1 dimensional array, got "
                f"{moments.ndim} dimensions."
            )
        if moments.shape[0] != len(rotations):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {moments.shape[0]} timestamps."
            )
        left = rotations[:-1]
        rotvecs = (left.inv() * rotations[1:]).as_rotvec()
        return cls(moments, jnp.diff(moments), left, rotvecs)

    def __call__(
        self,
        times: Any,
    ) -> Rotation:
        """Return the rotations at times: () or (m); beyond the ends the path goes on."""
        moments = _floats("Slerp", times)
        if moments.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        last = self.timedelta.shape[0] - 1
        index = jnp.clip(jnp.searchsorted(self.times, moments, side="right") - 1, 0, last)
        share = (moments - self.times[index]) / self.timedelta[index]
        turn = Rotation.from_rotvec(self.rotvecs[index] * share[..., None])
        return self.rotations[index] * turn


close_module("jax.scipy.spatial.transform", globals())
