"""Windows are NumPy's."""

import pytest

from tests.support.against_numpy import check


@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name, size):
    check(name, size)


@pytest.mark.parametrize("beta", [0.0, 2.0, 14.0])
def test_kaiser(beta):
    for size in (0, 1, 2, 7):
        check("kaiser", size, beta)
