"""Rotations against SciPy's, and paths between them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scipy.spatial import transform as scipy_transform

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.scipy.spatial.transform import Rotation, Slerp
from tests.parity.expressions import check_error_class, check_value
from tests.scipy import libraries
from tests.support.against_numpy import normal, slope_error

QUATS = normal(6, 4)
OURS, THEIRS = Rotation.from_quat(QUATS), scipy_transform.Rotation.from_quat(QUATS)


def same(found, expected, tolerance=1e-5):
    """Assert that numbers agree."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def same_rotation(found, expected, tolerance=1e-5):
    """Assert that rotations agree."""
    same(found.as_matrix(), expected.as_matrix(), tolerance)


@pytest.mark.parametrize(("name", "arguments"), [
    ("as_matrix", ()), ("as_mrp", ()), ("as_rotvec", ()), ("as_rotvec", (True,)), ("as_quat", ()),
    ("as_quat", (True,)), ("magnitude", ()),
], ids=str)  # fmt: skip
def test_representations_are_scipys(name, arguments):
    same(getattr(OURS, name)(*arguments), getattr(THEIRS, name)(*arguments), 2e-4)
    one = getattr(OURS[2], name)(*arguments)
    same(one, getattr(THEIRS[2], name)(*arguments), 2e-4)


def test_the_scalar_of_a_quaternion_can_come_first():
    same(OURS.as_quat(scalar_first=True), np.roll(THEIRS.as_quat(), 1, axis=-1))


@pytest.mark.parametrize("seq", ["xyz", "zyx", "zxz", "yxy", "XYZ", "ZYX", "ZXZ", "XZY"])
def test_euler_angles_are_scipys(seq):
    same(OURS.as_euler(seq), THEIRS.as_euler(seq), 1e-4)
    angles = normal(5, 3)
    theirs = scipy_transform.Rotation.from_euler(seq, angles, degrees=True)
    same_rotation(Rotation.from_euler(seq, angles, degrees=True), theirs)


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("seq", ["xyz", "ZYX", "zxz", "XYX"])
@pytest.mark.parametrize("middle", [0, 90, 180])
def test_euler_angles_where_axes_coincide_give_the_rotation(seq, middle):
    angles = [20, middle, 0]
    ours = Rotation.from_euler(seq, np.array(angles), degrees=True)
    back = Rotation.from_euler(seq, ours.as_euler(seq))
    same_rotation(back, ours, 1e-3)


def test_fewer_axes():
    same_rotation(Rotation.from_euler("x", 0.3), scipy_transform.Rotation.from_euler("x", 0.3))
    theirs = scipy_transform.Rotation.from_euler("yz", [0.3, 0.2])
    same_rotation(Rotation.from_euler("yz", np.array([0.3, 0.2])), theirs)


@pytest.mark.parametrize("name", ["rotvec", "mrp"])
def test_constructions_are_scipys(name):
    for scale in (1.0, 1e-5, 0.0):
        vectors = (scale * normal(4, 3)).astype("float32")
        ours = getattr(Rotation, f"from_{name}")(vectors)
        same_rotation(ours, getattr(scipy_transform.Rotation, f"from_{name}")(vectors))
    back = Rotation.from_matrix(THEIRS.as_matrix())
    same_rotation(back, THEIRS)
    degrees = Rotation.from_rotvec(np.array([0.0, 0.0, 90.0]), degrees=True)
    same(degrees.as_rotvec(), [0, 0, np.pi / 2])


@pytest.mark.parametrize("axis", range(3))
def test_half_turns_have_matrices_and_back(axis):
    matrix = np.diag([1.0 if i == axis else -1.0 for i in range(3)])
    same(Rotation.from_matrix(matrix).as_matrix(), matrix)


def test_group():
    same_rotation(OURS * OURS[::-1], THEIRS * THEIRS[::-1])
    same_rotation(OURS[1] * OURS[2], THEIRS[1] * THEIRS[2])
    same_rotation(OURS * OURS.inv(), Rotation.identity(6))
    same(Rotation.identity().as_matrix(), np.eye(3))
    assert len(OURS) == 6
    assert OURS[0].single and not OURS.single  # noqa: PT018
    joined = Rotation.concatenate([OURS[0], OURS[1:]])
    same_rotation(joined, THEIRS)


@pytest.mark.parametrize("inverse", [False, True])
def test_vectors_are_turned(inverse):
    one, six = normal(3), normal(6, 3)
    same(OURS.apply(one, inverse), THEIRS.apply(one, inverse), 1e-4)
    same(OURS.apply(six, inverse), THEIRS.apply(six, inverse), 1e-4)
    same(OURS[0].apply(six, inverse=inverse), THEIRS[0].apply(six, inverse=inverse), 1e-4)


def test_means_are_scipys():
    same_rotation(OURS.mean(), THEIRS.mean(), 1e-4)
    weights = np.arange(1.0, 7.0)
    same_rotation(OURS.mean(weights), THEIRS.mean(weights), 1e-4)


def test_random_rotations_are_uniform():
    drawn = Rotation.random(jax.random.key(0), 4000)
    same(np.linalg.norm(drawn.quat, axis=-1), 1)
    same(drawn.apply(np.array([1.0, 0, 0])).mean(axis=0), 0, 0.05)
    assert Rotation.random(jax.random.key(0)).single


def test_paths_are_scipys():
    times = np.array([0, 1, 3, 4, 5, 7], "float32")
    ours, theirs = Slerp.init(times, OURS), scipy_transform.Slerp(times, THEIRS)
    moments = np.array([0, 0.3, 1, 3.9, 6, 7], "float32")
    same_rotation(ours(moments), theirs(moments), 1e-4)
    same_rotation(ours(2.5), theirs(2.5), 1e-4)


def test_gradients_match_differences_also_at_no_turn():
    def turned(v):
        return Rotation.from_rotvec(v).apply(np.array([1.0, 2.0, 3.0]))

    with jax.enable_x64(True):
        assert slope_error(turned, np.array([0.1, 0.5, -0.3])) < 1e-6
        assert slope_error(turned, np.zeros(3)) < 1e-6
        assert slope_error(lambda v: Rotation.from_rotvec(v).as_rotvec(), np.zeros(3)) < 1e-6


def test_rotations_are_trees_and_are_mapped():
    found = jax.jit(jax.vmap(lambda r, v: r.inv().apply(v)))(OURS, jnp.ones((6, 3)))
    same(found, THEIRS.apply(np.ones((6, 3)), inverse=True), 1e-4)
    assert jax.jit(lambda r: r.inv())(OURS[0]).single


NAMES = {"q": QUATS, "m": np.eye(3, dtype="float32")}
R, Q2 = "jax.scipy.spatial.transform.Rotation", "jax.scipy.spatial.transform.Rotation.from_quat(q)"
VALUES = [
    f"{R}.from_quat(np.array([1, 2, 3, 4]))",
    f"{R}.from_quat(q.reshape(2, 3, 4))",
    f"{R}.from_quat([1.0, 2.0, 3.0, 4.0])",
    f"{R}.from_euler('x', 0.3)",
    f"{R}.from_euler('xyz', np.ones((2, 3)))",
    f"{R}.from_euler('xX', np.ones(2))",
    f"{R}.from_euler('xx', np.ones(2))",
    f"{R}.from_matrix(2 * m)",
    f"{Q2}.as_euler('xy')",
    f"{Q2}.as_euler('abc')",
    f"{Q2}.mean(np.ones(3))",
    f"len({Q2}[0])",
    f"{Q2}[0][0]",
    f"{Q2}.apply(np.array([1, 2, 3]))",
    f"jax.scipy.spatial.transform.Slerp.init(np.arange(6.0), {Q2})",
    f"jax.scipy.spatial.transform.Slerp.init(np.arange(6.0), {Q2})(2.5)",
    f"jax.scipy.spatial.transform.Slerp.init(np.arange(3.0), {Q2})",
    f"jax.scipy.spatial.transform.Slerp.init(np.arange(1.0), {Q2}[0])",
    f"jax.scipy.spatial.transform.Slerp.init(np.ones((6, 1)), {Q2})",
    f"jax.scipy.spatial.transform.Slerp.init(np.arange(6.0), {Q2})(np.ones((2, 2)))",
]
ERRORS = [f"{R}.from_euler('xyz', np.ones(2))", f"{Q2}.apply(np.ones(2))", f"{Q2}.mean(np.ones(3))"]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return libraries.oracle()


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES, tolerance=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)
