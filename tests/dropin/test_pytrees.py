"""Libraries that look into JAX's registry of containers find how each comes apart."""

import pytest

from tapeless.dropin.pytrees import registry


def test_containers_come_apart_and_together_again():
    children, data = registry[dict].to_iter({"b": 1, "a": 2})
    assert list(children) == [2, 1]
    assert registry[dict].from_iter(data, [3, 4]) == {"a": 3, "b": 4}
    assert registry[list].from_iter(registry[list].to_iter([1])[1], [5]) == [5]
    assert list in registry
    assert int not in registry
    with pytest.raises(KeyError):
        registry[int]
