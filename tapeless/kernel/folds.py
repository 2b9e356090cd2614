"""Index arithmetic and reductions: the part of the kernel builder that needs no memory.

`fold` reduces over several axes. Few cheap elements are written out; a named operation becomes
nested `Reduce` nodes, with axes joined where the indices allow, so that a sum over a whole array
is one long loop; a function of two accumulators becomes one `Reduce` in index order.

The variables of reductions are shared: the fold that is n levels inside other folds uses the n-th
variable of its extent. So two sums over rows that need the same product use one variable, the
product is one node, and the emitter may run the sums in one loop. A variable is never captured:
what is pulled inside a fold uses variables of deeper levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from tapeless.kernel.graph import collapse, substitute, walk
from tapeless.kernel.ir import Affine, Const, Index, Reduce, Scalar
from tapeless.kernel.parts import Element, Pair, PartNodes, Parts, parts_of
from tapeless.kernel.value import IndexLike

__all__ = ["UNROLLED_FOLD", "FoldNodes"]

UNROLLED_FOLD = 8
_EXTREMES = ("min", "max")
_IDENTITY = {"add": 0, "mul": 1, "xor": 0}


class FoldNodes(PartNodes):
    """Node constructors with indices of arrays, and reductions."""

    def __init__(self) -> None:
        """Start outside of all reductions."""
        super().__init__()
        self._n_names = 0
        self._level = 0
        self._flat: dict[tuple[tuple, tuple], Affine] = {}
        self._fold_variables: dict[tuple[int, int, int], Index] = {}

    # Indices

    def flat_index(self, index: Sequence[IndexLike], shape: Sequence[int]) -> Affine:
        """Return the row-major position of `index`."""
        key = (tuple(index), tuple(shape))
        flat = self._flat.get(key)
        if flat is None:
            flat = self.affine(0)
            for i, extent in zip(index, shape, strict=True):
                if extent != 1:
                    flat = self.index_add(self.index_mul(flat, extent), i)
            self._flat[key] = flat
        return flat

    def iadd(self, x: IndexLike, y: IndexLike) -> Affine:
        """Add two indices."""
        return self.index_add(x, y)

    def imul(self, x: IndexLike, factor: int) -> Affine:
        """Multiply an index by an integer."""
        return self.index_mul(x, factor)

    def idiv(self, x: IndexLike, divisor: int) -> Affine:
        """Divide an index that is not negative, rounding down."""
        return self.index_div(x, divisor)

    def imod(self, x: IndexLike, divisor: int) -> Affine:
        """Give the remainder of an index that is not negative."""
        return self.index_mod(x, divisor)

    def renumbering(
        self, old: tuple[int, ...], new: tuple[int, ...]
    ) -> Callable[[tuple[IndexLike, ...]], list[IndexLike]]:
        """Return the function from an index of the shape `new` to that of the place in `old`."""
        groups = _matching_groups(old, new)

        def renumber(index: tuple[IndexLike, ...]) -> list[IndexLike]:
            """Go from the new index to the old one, group by group."""
            result: list[IndexLike] = []
            for extents, dims in groups:
                if len(extents) == 1 and len(dims) == 1:
                    result.append(index[dims[0]])
                else:
                    position = self.flat_index([index[i] for i in dims], [new[i] for i in dims])
                    result += self.unravel(position, extents)
            return result

        return renumber

    # Reductions

    def fold(
        self,
        extents: Sequence[int],
        element: Callable[[tuple[IndexLike, ...]], Any],
        combine: str | Callable,
        init: Any,
        most: int = UNROLLED_FOLD,
    ) -> Any:
        """Fold the elements at all indices below `extents`, in row-major order, from `init`.

        combine: the name of an associative operation (add, mul, min, max, and, or, xor), or a
        function of an accumulator and an element, each what `element` gives: an element, or a tuple
        of elements, and then `init` is a tuple too. most: up to so many are written out, if cheap.
        """
        total = math.prod(extents)
        if total == 0:
            probe = element(tuple(0 for _ in extents))
            return self._as_elements(init, probe)
        if total == 1 and combine == "add" and _is_zero(init):
            # Adding it to the one term would change the sign of a zero.
            return element(tuple(0 for _ in extents))
        if total <= most:
            unrolled = self._fold_unrolled(extents, element, combine, init)
            if unrolled is not None:
                return unrolled
        if isinstance(combine, str):
            return self._fold_named(extents, element, combine, init)
        return self._fold_general(extents, element, combine, init)

    def _fold_unrolled(
        self, extents: Sequence[int], element: Callable, combine: str | Callable, init: Any
    ) -> Any:
        """Fold a few cheap elements without a loop; None when they are not cheap."""
        first = element(tuple(0 for _ in extents))
        nodes = walk(_scalars(first))
        if len(nodes) > 64 or any(type(node) is Reduce for node in nodes):
            return None
        total = self._as_elements(init, first)
        values = [element(tuple(position)) for position in np.ndindex(*extents)]
        if not isinstance(combine, str):
            return reduce(combine, values, total)
        if combine in _EXTREMES:
            values = [self._extreme_of(combine, values)]
        return reduce(partial(self.op, combine), values, total)

    def _extreme_of(self, combine: str, values: list[Any]) -> Any:
        """Compare values in pairs, then the better ones: few comparisons wait for each other."""
        while len(values) > 1:
            rest = values[len(values) // 2 * 2 :]
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [self.op(combine, x, y) for x, y in pairs] + rest
        return values[0]

    def _fold_named(
        self, extents: Sequence[int], element: Callable, combine: str, init: Any
    ) -> Element:
        """Fold by nested reductions, as few as the indices allow."""
        variables, index = self._fold_index(extents)
        value = self._inside(element, index)
        start = self._as_elements(init, value)
        sizes = [extent for extent in extents if extent != 1]
        level = len(sizes)
        roots, variables, sizes = self.collapsed(
            variables, sizes, parts_of(value), lambda n, size: self._fold_variable(level + n, size)
        )
        results = []
        for part, first in zip(roots, parts_of(start), strict=True):
            if type(value) is Pair and combine != "add":
                return self._fold_general(extents, element, getattr(self, combine), init)
            inner = first
            if combine in _IDENTITY:
                inner = self.const(_IDENTITY[combine], first.dtype)
            for depth in reversed(range(len(sizes))):
                begin = first if depth == 0 else inner
                part = self.reduce(variables[depth], sizes[depth], (part,), (begin,), combine)[0]
            if not sizes:
                part = self.op(combine, first, part)
            results.append(part)
        return Pair(*results) if isinstance(value, Pair) else results[0]

    def _fold_general(
        self, extents: Sequence[int], element: Callable, combine: Callable, init: Any
    ) -> Any:
        """Fold by one reduction, in index order, with a function of two accumulators."""
        total = math.prod(extents)
        var = self._fold_variable(0, total)
        value = self._inside(element, self.unravel(var, extents))
        start = self._as_elements(init, value)

        def step(accumulators: tuple[Scalar, ...], new: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
            """Combine flat tuples of scalars."""
            return _scalars(combine(_like(start, accumulators), _like(value, new)))

        results = self.reduce(var, total, _scalars(value), _scalars(start), step)
        return _like(start, results)

    def unravel(self, flat: IndexLike, shape: Sequence[int]) -> tuple[IndexLike, ...]:
        """Return the index of the row-major position `flat`."""
        index: list[IndexLike] = []
        for position in reversed(range(len(shape))):
            if position == 0:
                index.append(flat)
            else:
                index.append(self.index_mod(flat, shape[position]))
                flat = self.index_div(flat, shape[position])
        return tuple(reversed(index))

    # Private parts

    def _inside(self, element: Callable, index: tuple[IndexLike, ...]) -> Any:
        """Pull an element one level deeper."""
        self._level += 1
        try:
            return element(index)
        finally:
            self._level -= 1

    def _fold_variable(self, position: int, extent: int) -> Index:
        """Return the variable of a reduction at this level; `position` counts nested ones."""
        key = (self._level, position, extent)
        found = self._fold_variables.get(key)
        if found is None:
            found = self._fold_variables[key] = self.index(self.name("r"), extent)
        return found

    def _fold_index(
        self, extents: Sequence[int]
    ) -> tuple[tuple[Index, ...], tuple[IndexLike, ...]]:
        """Return the variables of a reduction over several axes, and the index."""
        index = tuple(
            0 if extent == 1 else self._fold_variable(position, extent)
            for position, extent in enumerate(extents)
        )
        return tuple(i for i in index if isinstance(i, Index)), index

    def name(self, letter: str) -> str:
        """Make a name for a loop variable."""
        self._n_names += 1
        return f"{letter}{self._n_names}"

    def fresh_index(
        self, shape: Sequence[int], letter: str
    ) -> tuple[tuple[Index, ...], tuple[IndexLike, ...]]:
        """Make a variable for each axis whose extent is not 1; return them, and the index."""
        index = tuple(
            0 if extent == 1 else self.index(self.name(letter), extent) for extent in shape
        )
        return tuple(i for i in index if isinstance(i, Index)), index

    def collapsed(
        self,
        variables: Sequence[Index],
        extents: Sequence[int],
        roots: Sequence[Scalar],
        make: Callable[[int, int], Index],
    ) -> tuple[tuple[Scalar, ...], list[Index], list[int]]:
        """Join loops where the indices allow; return the changed roots, variables and extents.

        make(n, extent): the variable of the n-th loop, when several become one.
        """
        groups = collapse(variables, extents, roots)
        if len(groups) == len(variables):
            return tuple(roots), list(variables), list(extents)
        mapping: dict[Index, Affine] = {}
        kept: list[Index] = []
        sizes: list[int] = []
        for group in groups:
            size = math.prod(extents[position] for position in group)
            var = variables[group[0]]
            if len(group) > 1:
                var = make(len(kept), size)
                mapping.update((variables[position], self.affine(0)) for position in group)
                mapping[variables[group[-1]]] = self.affine(var)
            kept.append(var)
            sizes.append(size)
        return substitute(self, roots, mapping), kept, sizes

    def _as_elements(self, init: Any, like: Any) -> Any:
        """Turn numbers into constants of the dtypes of the elements `like`."""
        if type(like) is tuple:
            return tuple(self._as_elements(x, y) for x, y in zip(init, like, strict=True))
        return init if isinstance(init, (Scalar, Parts)) else self.const(init, like.dtype)


def _is_zero(init: Any) -> bool:
    """Tell whether what a fold starts with is zero."""
    parts = parts_of(init) if isinstance(init, Scalar | Parts) else (init,)
    return not any(part.value if isinstance(part, Const) else part for part in parts)


def _scalars(value: Any) -> tuple[Scalar, ...]:
    """Return the scalars of an element, or of a tuple of elements."""
    if type(value) is tuple:
        return tuple(scalar for element in value for scalar in parts_of(element))
    return parts_of(value)


def _like(template: Any, scalars: Sequence[Scalar]) -> Any:
    """Arrange scalars as the element, or tuple of elements, `template`."""
    if type(template) is not tuple:
        if isinstance(template, Pair):
            return Pair(*scalars)
        return Parts(scalars) if isinstance(template, Parts) else scalars[0]
    result = []
    for element in template:
        n_parts = len(parts_of(element))
        result.append(_like(element, scalars[:n_parts]))
        scalars = scalars[n_parts:]
    return tuple(result)


def _matching_groups(
    old: tuple[int, ...], new: tuple[int, ...]
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Split a reshape into independent ones: pairs of old extents and positions of new axes."""
    groups: list[tuple[tuple[int, ...], list[int]]] = []
    i = j = 0
    if 0 in old:
        return [(old, list(range(len(new))))]
    while i < len(old) or j < len(new):
        old_part, new_part = [old[i]] if i < len(old) else [], [j] if j < len(new) else []
        left, right = math.prod(old_part), math.prod(new[k] for k in new_part)
        i, j = i + len(old_part), j + len(new_part)
        while left != right:
            if left < right:
                old_part.append(old[i])
                left, i = left * old[i], i + 1
            else:
                new_part.append(j)
                right, j = right * new[j], j + 1
        groups.append((tuple(old_part), new_part))
    return groups
