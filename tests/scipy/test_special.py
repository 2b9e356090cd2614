"""Special functions against SciPy, in float64 and float32, with their derivatives."""

import math

import numpy as np
import pytest
from scipy import special

import tapeless as jax
from tapeless.scipy import special as ours
from tests.meta import names

RANDOM = np.random.default_rng(0)
N = 60


def between(low: float, high: float) -> np.ndarray:
    """Return random numbers of an interval."""
    return RANDOM.uniform(low, high, N)


WIDE = np.concatenate([between(-6, 6), between(-1, 1)])
POSITIVE = np.concatenate([between(1e-3, 5), 10 ** between(-3, 2)])
OTHER = np.concatenate([between(0.1, 8), 10 ** between(-2, 2)])
SMALL = np.concatenate([between(0, 1), 10 ** between(-30, -1)])

# name: arguments, relative error in float64 and in float32
CASES = {
    "beta": ((POSITIVE, OTHER), 1e-12, 1e-5),
    "betaln": ((POSITIVE, OTHER), 1e-10, 1e-6),
    "boxcox": ((POSITIVE, WIDE), 1e-13, 1e-5),
    "boxcox1p": ((POSITIVE, WIDE), 1e-13, 1e-5),
    "comb": ((np.floor(between(0, 60)), np.floor(between(0, 20))), 1e-12, 1e-5),
    "dawsn": ((np.concatenate([WIDE, 10 ** between(0, 3)]),), 1e-13, 1e-7),
    "digamma": ((OTHER,), 1e-13, 1e-5),
    "entr": ((POSITIVE,), 1e-13, 1e-6),
    "erf": ((WIDE,), 1e-14, 1e-6),
    "erfc": ((WIDE,), 1e-12, 1e-5),
    "erfcinv": ((np.concatenate([SMALL, between(1, 2)]),), 1e-13, 1.8e-7),
    "erfcx": ((np.concatenate([between(-5, 5), 10 ** between(0, 3)]),), 1e-13, 1e-7),
    "erfinv": ((between(-1, 1),), 1e-13, 5e-6),
    "exp1": ((POSITIVE,), 1e-13, 1e-7),
    "expi": ((np.concatenate([5 * WIDE, between(0, 80)]),), 1e-12, 1e-7),
    "expit": ((WIDE,), 1e-14, 1e-6),
    "expn": ((np.floor(between(0, 6)), between(0.01, 8)), 1e-13, 1e-7),
    "factorial": ((np.floor(between(0, 30)),), 1e-13, 1e-7),
    "gamma": ((np.concatenate([WIDE, between(0, 30)]),), 1e-12, 1e-7),
    "gammaln": ((OTHER,), 1e-13, 1e-5),
    "gammasgn": ((10 * WIDE,), 0, 0),
    "hyp1f1": ((between(0.1, 5), between(0.5, 5), between(-20, 20)), 1e-11, 1e-7),
    "hyp2f1": ((between(0.1, 3), between(0.1, 3), between(0.5, 5), between(-4, 0.99)), 1e-11, 1e-7),
    "i0": ((WIDE,), 1e-14, 6e-7),
    "i0e": ((WIDE,), 1e-14, 5e-7),
    "i1": ((WIDE,), 1e-14, 8e-7),
    "i1e": ((WIDE,), 1e-14, 6e-7),
    "kl_div": ((POSITIVE, OTHER), 1e-11, 1e-2),
    "log_ndtr": ((np.concatenate([WIDE, between(-100, 0)]),), 1e-13, 3e-7),
    "logit": ((between(0, 1),), 1e-12, 1e-4),
    "ndtr": ((WIDE,), 1e-13, 1e-5),
    "ndtri": ((SMALL,), 1e-13, 1.7e-7),
    "owens_t": ((WIDE, np.concatenate([between(-3, 3), between(-100, 100)])), 1e-12, 1e-7),
    "poch": ((POSITIVE, np.full(2 * N, 1.7)), 1e-11, 1e-3),
    "rel_entr": ((POSITIVE, OTHER), 1e-12, 1e-4),
    "spence": ((POSITIVE,), 1e-13, 1e-7),
    "xlog1py": ((POSITIVE, OTHER), 1e-13, 1e-6),
    "xlogy": ((POSITIVE, OTHER), 1e-13, 1e-6),
}
# Derivatives by the last argument are compared with differences of SciPy's values.
DIFFERENTIABLE = ["betaln", "dawsn", "erfcx", "exp1", "expi", "expn", "gamma", "hyp1f1", "hyp2f1",
                  "log_ndtr", "ndtr", "owens_t", "spence", "xlogy", "xlog1py", "i0"]  # fmt: skip
OUTSIDE = {"bernoulli", "bessel_jn", "betainc", "fresnel", "gammainc", "gammaincc", "log_softmax",
           "loggamma", "logsumexp", "multigammaln", "polygamma", "sici", "softmax", "sph_harm_y",
           "wofz", "zeta"}  # fmt: skip


def test_all_functions_are_here():
    assert set(CASES) | OUTSIDE == set(names.stored_names()["jax.scipy.special"])


@pytest.mark.parametrize("name", sorted(CASES))
def test_value_in_float64(name):
    arguments, tolerance, _ = CASES[name]
    with jax.enable_x64(True):
        values = getattr(ours, name)(*arguments)
        assert values.dtype == "float64"
    expected = getattr(special, name)(*arguments)
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=1e-200)


@pytest.mark.parametrize("name", sorted(CASES))
def test_value_in_float32(name):
    arguments, _, tolerance = CASES[name]
    narrow = [x.astype("float32") for x in arguments]
    with np.errstate(all="ignore"):
        expected = getattr(special, name)(*[x.astype(float) for x in narrow]).astype("float32")
    values = jax.jit(getattr(ours, name))(*narrow)
    assert values.dtype == "float32"
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=1e-36)


def numbers_of_all_exponents(low: float, high: float) -> np.ndarray:
    """Return the float32 numbers between two positive ones whose bits are evenly spread."""
    first, last = np.array([low, high], "float32").view("int32").tolist()
    return np.linspace(first, last, 100001).astype("int32").view("float32")


@pytest.mark.parametrize(("n", "x"), [(2.0, 1.0), (True, 1.0), (1j, 1.0), (2, 1j), (2.0, 1j)])
def test_polygamma_takes_integers_and_real_numbers(n, x):
    with pytest.raises(ValueError, match="polygamma"):
        ours.polygamma(n, x)
    found = ours.polygamma(np.int8(2), np.array([1, 3], np.int32))
    np.testing.assert_allclose(found, special.polygamma(2, [1.0, 3.0]), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "x", "most"),
    [
        ("ndtri", numbers_of_all_exponents(1.2e-38, 0.9999999), 2.1),
        ("ndtri", 1 - numbers_of_all_exponents(2**-24, 0.75), 2.1),
        ("erfcinv", numbers_of_all_exponents(2.4e-38, 1.9999999), 2.4),
        ("erfcinv", 2 - numbers_of_all_exponents(2**-23, 1.5), 2.4),
        ("log_ndtr", numbers_of_all_exponents(1e-30, 13.0), 4.0),
        ("log_ndtr", -numbers_of_all_exponents(1e-30, 1e18), 2.5),
        ("log_ndtr", -numbers_of_all_exponents(0.01, 30.0), 2.5),
    ],
)
def test_normal_quantiles_lose_few_units_in_the_last_place(name, x, most):
    expected = getattr(special, name)(x.astype(float))
    values = np.asarray(jax.jit(getattr(ours, name))(x)).astype(float)
    unit = np.spacing(np.abs(expected).astype("float32")).astype(float)
    assert (np.abs(values - expected) / unit).max() <= most


@pytest.mark.parametrize("name", ["ndtri", "erfcinv"])
def test_quantiles_of_float32_have_ends(name):
    end = 1 if name == "ndtri" else 2
    x = np.array([0, end, -0.0, 1.5 * end, -1e-30, np.nan, np.inf, -np.inf], "float32")
    expected = getattr(special, name)(x.astype(float))
    np.testing.assert_array_equal(jax.jit(getattr(ours, name))(x), expected)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivative(name):
    *others, x = CASES[name][0]
    f, reference = getattr(ours, name), getattr(special, name)
    step = 1e-5 * np.maximum(np.abs(x), 1e-2)
    expected = (reference(*others, x + step) - reference(*others, x - step)) / (2 * step)
    with jax.enable_x64(True):
        slope = jax.grad(lambda x: f(*others, x).sum())(x)
        again = jax.jvp(jax.grad(lambda x: f(*others, x).sum()), (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-7 * np.abs(expected).max())
    assert not np.isnan(again).any()


@pytest.mark.parametrize("name", ["fresnel", "sici"])
def test_pairs_of_integrals(name):
    x = np.concatenate([POSITIVE, between(0, 500)])
    with jax.enable_x64(True):
        pairs = zip(getattr(ours, name)(x), getattr(special, name)(x), strict=True)
        for value, expected in pairs:
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)


def test_wofz():
    z = between(-10, 10) + 1j * between(-3, 10)
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours.wofz(z), special.wofz(z), rtol=1e-12)


def test_gamma_of_float32_is_nearly_rounded_correctly():
    x = np.concatenate([np.linspace(-34, 35, 20001), numbers_of_all_exponents(1e-38, 35.0)])
    x = x.astype("float32")
    x = np.concatenate([x[x != np.round(x)], np.arange(1, 35, dtype="float32")])
    expected = special.gamma(x.astype(float))
    unit = np.spacing(np.abs(expected).astype("float32")).astype(float)
    assert (np.abs(np.asarray(ours.gamma(x)) - expected) / unit).max() < 0.51
    found = ours.gamma(np.array([0.0, -0.0, -1, -2, -np.inf, np.inf, np.nan, -50.5], "float32"))
    np.testing.assert_array_equal(found, [np.inf, -np.inf, *[np.nan] * 3, np.inf, np.nan, 0])


@pytest.mark.parametrize("power", [-30, -6, 0, 3, 8, 30])
def test_betaln_of_float32_at_all_exponents(power):
    a = (10.0 ** between(power - 1, power + 1)).astype("float32")
    b = (10.0 ** between(-30, 30)).astype("float32")
    expected = special.betaln(a.astype(float), b.astype(float))
    np.testing.assert_allclose(ours.betaln(a, b), expected, rtol=2e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_logarithm_of_beta_of_one_and_one_is_zero(dtype):
    with jax.enable_x64(True):
        one = np.ones(3, dtype)
        np.testing.assert_array_equal(ours.betaln(one, one), 0)


@pytest.mark.parametrize("ways", [1, 1j, 1 + 2j, -3 + 1e-3j])
def test_wofz_of_all_exponents(ways):
    z = 10.0 ** np.arange(-300, 300, 7) * ways
    z = np.concatenate([z, [complex(np.inf, 1), complex(-np.inf, 0)]])
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours.wofz(z), special.wofz(z), rtol=1e-12)


def test_dawson_of_all_exponents():
    x = np.array([*10.0 ** np.arange(-300, 300, 1.7), -np.inf, np.inf, 1.7e308, -1e-308, np.nan])
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours.dawsn(x), special.dawsn(x), rtol=2e-14)


def test_owens_function_where_its_ways_meet():
    h, a = np.meshgrid([0, 1e-200, 0.3, 1.9, 2.1, 4.4, 4.5, 8, 30, 1e200], [0, 0.05, 0.99, 1, 1.01])
    h, a = np.append(h, [0, 1, -np.inf, np.nan, 1]), np.append(a, [np.inf, -np.inf, 1, 1, np.nan])
    with jax.enable_x64(True):
        found = ours.owens_t(h, a)
        np.testing.assert_allclose(found, special.owens_t(h, a), rtol=1e-12, atol=1e-200)


def test_bessel_functions_of_integer_order():
    z = np.array([0.5, 3.0, 10.0, 0.0])
    expected = [[special.jn(order, x) for x in z] for order in range(5)]
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours.bessel_jn(z, v=4), expected, atol=1e-14)


def test_spherical_harmonics():
    degrees, orders = np.array([0, 1, 2, 3, 5, 5]), np.array([0, -1, 2, 1, -3, 0])
    angles = np.linspace(0.1, 3, 6), np.linspace(0, 6, 6)
    with jax.enable_x64(True):
        values = ours.sph_harm_y(degrees, orders, *angles)
    np.testing.assert_allclose(values, special.sph_harm_y(degrees, orders, *angles), atol=1e-14)


def test_other_functions():
    with jax.enable_x64(True):
        np.testing.assert_allclose(ours.bernoulli(12), special.bernoulli(12), atol=1e-12)
        multi = special.multigammaln(POSITIVE + 2, 3)
        np.testing.assert_allclose(ours.multigammaln(POSITIVE + 2, 3), multi, rtol=1e-12)
        np.testing.assert_allclose(
            ours.zeta(OTHER + 1.5, POSITIVE), special.zeta(OTHER + 1.5, POSITIVE), rtol=1e-10
        )
        np.testing.assert_allclose(ours.softmax(WIDE), special.softmax(WIDE), rtol=1e-12)
        np.testing.assert_allclose(ours.logsumexp(WIDE), special.logsumexp(WIDE), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("xlogy", (0.0, 0.0)), ("entr", (0.0,)), ("entr", (-1.0,)), ("rel_entr", (0.0, 0.0)),
     ("kl_div", (-1.0, 1.0)), ("gamma", (0.0,)), ("gamma", (-1.0,)), ("gamma", (np.inf,)),
     ("expi", (0.0,)), ("exp1", (0.0,)), ("exp1", (-1.0,)), ("erfcinv", (0.0,)), ("ndtri", (1.0,)),
     ("ndtri", (2.0,)), ("erfcx", (np.inf,)), ("spence", (0.0,)), ("spence", (-1.0,)),
     ("factorial", (-1.0,)), ("log_ndtr", (-np.inf,)), ("comb", (3.0, 5.0))],
)  # fmt: skip
def test_edges(name, arguments):
    expected = getattr(special, name)(*arguments)
    np.testing.assert_allclose(getattr(ours, name)(*arguments), expected, rtol=1e-6)


def test_divergences_of_near_numbers_keep_their_digits():
    p = np.array([1.0, 1.0, 1.0001, 0.97, 1e-3], np.float32)
    q = np.array([1.0001, 1.04, 1.0, 1.0, 1.001e-3], np.float32)
    for name in ("kl_div", "rel_entr"):
        expected = getattr(special, name)(p.astype(np.float64), q.astype(np.float64))
        np.testing.assert_allclose(getattr(ours, name)(p, q), expected, rtol=1e-5)
        assert np.isnan(getattr(ours, name)(np.nan, 1.0))
        assert np.isnan(getattr(ours, name)(1.0, np.nan))


def test_a_wrong_argument_is_refused():
    with pytest.raises(ValueError, match="complex"):
        ours.erfcx(1j)
    with pytest.raises(NotImplementedError, match="exact"):
        ours.factorial(3, exact=True)


@pytest.mark.parametrize(
    ("name", "n"), [("spence", 1), ("ndtr", 1), ("log_ndtr", 1), ("hyp1f1", 3), ("hyp2f1", 4)]
)
def test_functions_that_take_sequences_in_jax(name: str, n: int) -> None:
    found = getattr(ours, name)(*n * [(0.25, 0.5)])
    np.testing.assert_allclose(found, getattr(special, name)(*n * [[0.25, 0.5]]), rtol=1e-5)


def test_loggamma_at_poles_is_scipys() -> None:
    x = np.array([0, -0.0, -1, -3, -np.inf, np.inf, np.nan, -0.5, -1.5, -170.5], np.float32)
    np.testing.assert_allclose(ours.loggamma(x), special.loggamma(x), rtol=1e-5)


def test_of_infinitely_many_there_are_infinitely_many_choices() -> None:
    n, k = np.float32([np.inf, np.inf, 2.0**31, 2.0**31, 5]), np.float32([2, np.inf, 1, 0, np.inf])
    np.testing.assert_allclose(ours.comb(n, k), special.comb(n, k), rtol=1e-6)


def test_zeta_has_its_limits() -> None:
    x = np.float32([np.inf, np.inf, np.inf, np.inf, 1e30, 1e30, 2, 1.5, 2, np.nan])
    q = np.float32([1, 2, 0.5, np.inf, 1, 3, np.inf, 1e30, 1e20, 1])
    expected = [1, 0, np.inf, 0, 1, 0, 0, 2e-15, 1e-20, np.nan]
    np.testing.assert_allclose(ours.zeta(x, q), expected, rtol=1e-5)


def test_digamma_has_the_signs_of_the_sides_of_its_pole() -> None:
    for dtype in ("float16", "float32"):
        found = ours.digamma(np.array([0.0, -0.0], dtype))
        np.testing.assert_array_equal(found, np.array([-np.inf, np.inf], dtype))


def test_modified_bessel_functions_have_derivatives_at_zero() -> None:
    x = np.array([-9.0, -1.001, -0.3, -1e-10, 0.0, 1e-300, 0.999, 3.0])
    with jax.enable_x64(True):
        for f, order in ((ours.i0, 0), (ours.i1, 1)):
            slope = jax.grad(lambda x, f=f: f(x).sum())
            again = jax.grad(lambda x, slope=slope: slope(x).sum())
            np.testing.assert_allclose(slope(x), special.ivp(order, x), rtol=1e-14, atol=1e-290)
            np.testing.assert_allclose(again(x), special.ivp(order, x, 2), rtol=1e-13, atol=1e-290)


def test_cosine_integral_is_even() -> None:
    x = np.array([-0.5, -3.0, -5.0, -1e8, -np.inf, -0.0])
    with jax.enable_x64(True):
        for value, expected in zip(ours.sici(x), special.sici(x), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(jax.grad(lambda x: ours.sici(x)[1])(-2.0), -np.cos(2) / 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_ndtr_vanishes_from_below(dtype) -> None:
    with jax.enable_x64(dtype == np.float64):
        found = ours.log_ndtr(np.array([40.0, 1e30, np.inf], dtype))
    assert (found == 0).all() and np.signbit(found).all()


def test_slope_of_log_ndtr_is_exact_far_below() -> None:
    x = np.array([-1e10, -1000.0, -30.0, -1.5, -0.5, 0.0, 2.0])
    expected = np.sqrt(2 / np.pi) / special.erfcx(-x / np.sqrt(2))
    for dtype, relative in ((np.float32, 5e-7), (np.float64, 2e-14)):
        with jax.enable_x64(dtype == np.float64):
            found = jax.grad(lambda x: ours.log_ndtr(x).sum())(x.astype(dtype))
        np.testing.assert_allclose(found, expected, rtol=relative)


def test_gamma_is_exact_for_small_integers_and_near_where_it_vanishes():
    n = np.arange(23.0)
    edge = -np.linspace(170.1, 177.9, 40)
    with jax.enable_x64(True):
        factorials, values = np.asarray(ours.factorial(n)), np.asarray(ours.gamma(edge))
        near = np.asarray(ours.gamma(np.linspace(-150.3, 170.0, 997)))
    np.testing.assert_array_equal(factorials, [float(math.factorial(k)) for k in range(23)])
    sizes = np.exp(special.gammaln(edge))
    np.testing.assert_allclose(values, special.gammasgn(edge) * sizes, rtol=1e-6)
    np.testing.assert_allclose(near, special.gamma(np.linspace(-150.3, 170.0, 997)), rtol=1e-13)


def test_gamma_of_float32_is_rounded_once():
    x = np.random.default_rng(0).uniform(-10, 30, 20_000).astype(np.float32)
    exact = special.gamma(x.astype(np.float64))
    error = np.abs(np.asarray(ours.gamma(x)) - exact)
    assert np.max(error / np.spacing(np.abs(exact).astype(np.float32))) < 0.501
