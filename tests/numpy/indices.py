"""Indices of an array of three axes, as NumPy takes them."""

import numpy as np

import tapeless.numpy as jnp

__all__ = ["INDICES", "X", "as_jax"]

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
_I = np.array([0, 2])
_J = np.array([[1], [0]])
_ROWS = np.array([True, False, True])
_CELLS = X[..., 0] > 0
_S = np.s_

INDICES = [
    *(0, -1, (1, 2), (), (0, 1, 2), _S[1:2], _S[:, 1], _S[::2], _S[::-1], _S[::-2, 1:], _S[0:0]),
    *(_S[..., 0], _S[0, ..., None], _S[None, ..., None], _S[2:0:-1, ::-1], _S[-2:, :-1, 4:9]),
    *(_I, (_I, _I), _S[:, _I], _S[_I, :, _I], _S[0, :, _I], (_I, 1), (1, _I), _S[:, _I, _I]),
    *((_J, _I), _S[_J, :], _S[_J, :, _I], (_J, _J, _J), (_I, None, _I), (None, _I), (_I, -1, _I)),
    *(
        _S[_I, ::-1],
        _S[:, _I, ::-1],
        _S[_I, 0:2],
        _S[_I, ::2],
        _S[0, _I, :2],
        _S[:, None, _I, None],
    ),
    *(_ROWS, (_ROWS, 0), _CELLS, (_CELLS, 1), (0, _CELLS[0]), _S[:, None, _CELLS[0]], X > 0),
    *(np.array([], int), True, False, (_ROWS, _I), _S[..., _I, 1]),
    # An ellipsis keeps arrays apart even where it stands for no axis.
    *(_S[:, _I, ..., 0], _S[:, 0, ..., _I], _S[:, _I, ..., _I], _S[0, ..., _CELLS[0], :]),
    *(_S[:, _J, None, ..., 1], _S[:, 0, _I, ...], _S[:, True, ..., 0, 1], _S[0, ..., 1, 2]),
]


def as_jax(index):
    """Return an index with Arrays for NumPy arrays."""
    if isinstance(index, tuple):
        return tuple(as_jax(entry) for entry in index)
    return jnp.asarray(index) if isinstance(index, np.ndarray) else index
