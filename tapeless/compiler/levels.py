"""Blocks across nests: what one nest makes and the next ones use stays in the cache.

    for i < 500000: t[i] = x[2 i] + x[2 i + 1]
    for i < 250000: u[i] = t[2 i] + t[2 i + 1]

    becomes   for b < 250:
                for i < 2000: t'[i] = x[4000 b + 2 i] + x[4000 b + 2 i + 1]
                for i < 1000: u[1000 b + i] = t'[2 i] + t'[2 i + 1]

Neighbouring nests whose places move at fixed rates (as the levels of a recursion that halves, the
sweep back through them, chains of stencils) are cut into *blocks* that belong together: of a nest
a range of iterations, of a buffer a range of places, both moving by a share of the whole from block
to block. What only the group of nests uses is then needed for a block only: its temporaries are as
small as that, one for each thread. Blocks are independent, so that threads share them.

From the places that later nests read in a block follows, going backwards, which iterations of
earlier ones the block needs: a little more than its share where places overlap. These run in both
blocks. Each element is computed by the same operations as before. Where an end of the arrays cuts
a range, or a store stands alone (an *edge*, `reach.py`), some blocks take a branch of their own.

A temporary that two groups need, such as the levels on the way up that are wanted again on the way
down, is made in both of them, if that is less work than to fetch it from memory.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tapeless.compiler.blocktext import (
    Layout,
    Span,
    write_blocks,
)
from tapeless.compiler.plan import Costs, buffers_of, writes
from tapeless.compiler.reach import (
    Access,
    Nest,
    flipped,
    meet,
    nest_of,
)
from tapeless.kernel.ir import (
    Block,
    Buffer,
    If,
    Loop,
    Statement,
    While,
)
from tapeless.kernel.nodes import Nodes

__all__ = ["in_blocks"]

LARGE = 1 << 20  # bytes that a group touches; less stays in the cache
BLOCK = 5 << 12  # bytes that a block touches
WORK = 1 << 12  # operations of a block that the processor begins before the one before has ended
SHARE = 8  # times as many bytes touches the largest group, at most: text takes time to compile
LANES = 16  # of which a block has a multiple
RATIO = 16  # of the sizes of nests in a group, at most
WORTH = 8  # times as many bytes may a group touch as its temporaries take
OFTEN = 4  # blocks
CHEAP = 3.0  # operations for a byte that is made again rather than fetched
_ROUNDS = 12


def in_blocks(nodes: Nodes, body: Block, outside: Collection[Buffer] = ()) -> Block:
    """Return a block of statements in which groups of nests run block by block.

    outside: buffers that other statements use, or the caller.
    """
    touched = [buffers_of((statement,)) for statement in body]
    if _total(set().union(*touched)) < LARGE:
        return body
    users = Counter(buffer for buffers in touched for buffer in buffers)
    result: list[Statement] = []
    for item in _items(nodes, body, outside):
        for statement in item:
            own = buffers_of((statement,))
            others = {b for b in own if users[b] > (b in own) or b in outside}
            result.append(_inside(nodes, statement, others))
    return tuple(result)


def _inside(
    nodes: Nodes,
    statement: Statement,
    outside: Collection[Buffer],
) -> Statement:
    """Return a statement in whose blocks groups of nests run block by block."""
    if isinstance(statement, Loop):
        if sum(isinstance(inner, Loop) for inner in statement.body) < 2:
            return statement
        body = in_blocks(nodes, statement.body, outside)
        flags = (statement.independent, statement.reverse)
        return Loop(statement.var, statement.extent, body, *flags)
    if isinstance(statement, While):
        tested = buffers_of((While(statement.before, statement.condition, ()),))
        body = in_blocks(nodes, statement.body, {*outside, *tested})
        return While(statement.before, statement.condition, body)
    if isinstance(statement, If):
        branches = tuple(in_blocks(nodes, branch, outside) for branch in statement.branches)
        return If(statement.which, branches)
    return statement


def _total(buffers: Iterable[Buffer]) -> int:
    """Return the size of buffers together."""
    return sum(buffer.n_bytes for buffer in buffers)


@dataclass(slots=True, eq=False)
class _Group:
    """Neighbouring nests that go through their places at fixed rates.

    rates: iterations of each loop, and places of each buffer, for one iteration of the first loop;
    first: number of the first statement; again: nests of earlier groups that run here once more;
    written, read: buffers. What is read is not written any more.
    """

    first: int
    nests: list[Nest] = field(default_factory=list)
    rates: dict[Nest | Buffer, Fraction] = field(default_factory=dict)
    again: list[Nest] = field(default_factory=list)
    written: set[Buffer] = field(default_factory=set)
    read: set[Buffer] = field(default_factory=set)
    _bases: dict[Buffer, tuple] = field(default_factory=dict)
    _rate_of_size: dict[int, Fraction] = field(default_factory=dict)

    def add(
        self,
        nest: Nest,
        bulk: set[Buffer],
    ) -> bool:
        """Add the next nest, if it goes with the others; bulk: buffers that loops will fill."""
        writes, reads = nest.makes, nest.takes
        if not writes.isdisjoint(self.read | reads) or not bulk.issuperset(writes):
            return False
        own = [*nest.writes, *(x for x in nest.reads if x.buffer in self.written)]
        for x in own:
            if x.step is None or self._bases.setdefault(x.buffer, x.base) != x.base:
                return False
        if nest.var is not None and not self._set_rates(nest, own):
            return False
        self.nests.append(nest)
        self.written |= writes
        self.read |= reads
        return True

    @property
    def places(self) -> range:
        """Its statements in the block around."""
        return range(self.first, self.first + len(self.nests))

    def _set_rates(
        self,
        nest: Nest,
        own: Sequence[Access],
    ) -> bool:
        """Find the rate of a loop, and of what it writes; tell whether it fits the others."""
        if any(not access.step for access in own):
            return False
        steps = [(x.buffer, x.step) for x in own if x.step]
        known = [self.rates[buffer] / step for buffer, step in steps if buffer in self.rates]
        first = Fraction(1)
        if known:
            first = known[0]
        elif self._rate_of_size:
            first = self._rate_of_size.get(nest.size, Fraction(0))
        if first <= 0:
            return False
        new = dict(self.rates)
        for buffer, step in steps:
            if new.setdefault(buffer, first * step) != first * step:
                return False
        self.rates = {**new, nest: first}
        self._rate_of_size.setdefault(nest.size, first)
        return True

    def is_group(self) -> bool:
        """Tell whether there are several loops, and all edges belong to them."""
        loops = [nest for nest in self.nests if nest.var is not None]
        return len(loops) > 1 and self.written <= self.rates.keys()

    def trim(self) -> None:
        """Take the last edges out that belong to no loop."""
        while self.nests and not self.nests[-1].makes <= self.rates.keys():
            self.nests.pop()
        self.written = _made_by(self.nests)


def _made_by(nests: Sequence[Nest]) -> set[Buffer]:
    """Return the buffers that nests write."""
    return set().union(*(nest.makes for nest in nests))


def _items(
    nodes: Nodes,
    body: Block,
    outside: Collection[Buffer],
) -> list[Block]:
    """Return the statements of a block: each alone, or as the loop over blocks of a group."""
    found = _groups(nodes, body)
    touched = [buffers_of((statement,)) for statement in body] if found else []
    sizes = [_total(group.written | group.read) for group in found]
    least = max([LARGE, *(size // SHARE for size in sizes)])
    groups = [group for group, size in zip(found, sizes, strict=True) if size >= least]
    for group in groups:
        _make_again(group, found, body, touched)
    layouts: list[Layout | None] = []
    while groups:
        layouts = [_layout(group, groups, touched, outside) for group in groups]
        if all(layouts):
            break
        kept = []
        for group, layout in zip(groups, layouts, strict=True):
            if layout is not None:
                kept.append(group)
            elif group.again:
                group.again = []
                kept.append(group)
        groups = kept
    items: list[Block] = []
    position = 0
    for group, layout in zip(groups, layouts if groups else (), strict=True):
        items += [(statement,) for statement in body[position : group.first]]
        assert layout is not None, "groups without one were left out"
        items.append((write_blocks(nodes, layout),))
        position = group.places.stop
    return [*items, *((statement,) for statement in body[position:])]


def _groups(
    nodes: Nodes,
    body: Block,
) -> list[_Group]:
    """Find the groups in a block of statements."""
    nests = [nest_of(statement) for statement in body]
    largest = max((nest.size for nest in nests if nest and nest.var), default=1)
    bulk = _made_by([nest for nest in nests if nest and nest.var])
    found: list[_Group] = []
    group, scale = _Group(0), -1
    for number, nest in enumerate(nests):
        own = scale
        if nest and nest.var:
            own = int(math.log(largest / nest.size, RATIO))
            if _goes_back(nest, group.written):
                nest = flipped(nodes, nest)
        if nest is None or own != scale or not group.add(nest, bulk):
            found.append(group)
            group, scale = _started(group, nests[: number + 1], bulk), own
    group.trim()
    found.append(group)
    return [group for group in found if group.is_group()]


def _started(
    group: _Group,
    nests: Sequence[Nest | None],
    bulk: set[Buffer],
) -> _Group:
    """End a group; return one of the last nests, from the first edge on that was not its own."""
    group.trim()
    new = _Group(group.places.stop)
    for number in range(new.first, len(nests)):
        nest = nests[number]
        if nest is None or not new.add(nest, bulk):
            new = _Group(number)
            if nest is None or not new.add(nest, bulk):
                new = _Group(number + 1)
    return new


def _goes_back(
    nest: Nest,
    written: Collection[Buffer],
) -> bool:
    """Tell whether a loop reads what the group has made from its end."""
    steps = [x.step for x in nest.reads if x.buffer in written]
    return bool(steps) and all(step is not None and step < 0 for step in steps)


def _make_again(
    group: _Group,
    groups: Sequence[_Group],
    body: Block,
    touched: Sequence[set[Buffer]],
) -> None:
    """Choose nests of earlier groups whose results a group had better make itself.

    They read what no group has made, or what is made again as well.
    """
    costs = Costs()
    loops = [nest for nest in group.nests if nest.var]
    unfit = {x.buffer for nest in loops for x in nest.reads if not _is_fit(x)}
    for earlier in groups[: groups.index(group)]:
        own = {*group.places, *earlier.places}
        others = [buffers for number, buffers in enumerate(touched) if number not in own]
        wanted = (group.read & earlier.written).difference(unfit, *others)
        changed = writes(body[earlier.places.stop : group.first]) | group.written
        cheap = [nest for nest in earlier.nests if _is_cheap(nest, costs)]
        cheap = [nest for nest in cheap if nest.takes.isdisjoint(changed)]
        chosen = _makers(earlier, cheap, wanted)
        if chosen and _set_rates_before(chosen, group):
            group.again = [*group.again, *chosen]


def _makers(
    earlier: _Group,
    cheap: Sequence[Nest],
    wanted: set[Buffer],
) -> list[Nest]:
    """Return nests that make wanted buffers as a whole, out of each other's and of older ones."""
    while wanted:
        made: set[Buffer] = set()
        chosen: list[Nest] = []
        for nest in cheap:
            if nest.makes <= wanted and nest.takes & earlier.written <= made:
                chosen.append(nest)
                made |= nest.makes
        partly = made & _made_by([nest for nest in earlier.nests if nest not in chosen])
        if not partly:
            return chosen
        wanted = wanted - partly
    return []


def _is_cheap(
    nest: Nest,
    costs: Costs,
) -> bool:
    """Tell whether it is less work to compute than to fetch the results of a nest."""
    n_bytes = nest.size * max(access.buffer.dtype.itemsize for access in nest.writes)
    return nest.var is None or costs.statement(nest.statement) <= CHEAP * n_bytes


def _is_fit(access: Access) -> bool:
    """Tell whether the places of a loop move up at a known rate."""
    return access.step is not None and access.step > 0


def _set_rates_before(
    nests: Sequence[Nest],
    group: _Group,
) -> bool:
    """Find the rates of nests that run before a group; tell whether they have one.

    The rates follow from what is read of their results.
    """
    readers = [*nests, *group.nests]
    rates = dict(group.rates)
    for nest in reversed(nests):
        if nest.var is None:
            continue
        steps = {x.buffer: x.step for x in nest.writes if x.step}
        found: set[Fraction] = set()
        for reader in readers:
            uses = [x for x in reader.reads if x.step and x.buffer in steps]
            if reader in rates:
                found.update(rates[reader] * (x.step or 0) / steps[x.buffer] for x in uses)
        if len(found) != 1 or min(found) <= 0:
            return False
        rates[nest] = min(found)
        for buffer, step in steps.items():
            rates[buffer] = rates[nest] * step
    group.rates.update(rates)
    return True


def _layout(
    group: _Group,
    groups: Sequence[_Group],
    touched: Sequence[set[Buffer]],
    outside: Collection[Buffer],
) -> Layout | None:
    """Return what a block of a group consists of; None if it is not to run in blocks."""
    nests = [*group.again, *group.nests]
    made_again = _made_by(group.again)
    written = group.written | made_again
    private = made_again | _used_here_only(group, groups, touched, outside)
    total = _total(written.union(*(nest.takes for nest in nests)))
    later = set(outside).union(*touched[group.places.stop :])
    if WORTH * _total(private) < total or _needs_more(group, private, later):
        return None
    loops = [nest for nest in nests if nest.var is not None]
    units = _units({x: group.rates[x] for x in (*loops, *written)})
    n_units = max(-(-nest.extent // units[nest]) for nest in loops)
    size = _size(loops, n_units, total)
    count = -(-n_units // size)
    if count < OFTEN:
        return None
    shares = {x: size * unit for x, unit in units.items()}
    layout = Layout(nests, shares, private, written, count)
    return layout if _is_regular(layout) and _find_spans(layout) else None


def _size(
    loops: Sequence[Nest],
    n_units: int,
    n_bytes: int,
) -> int:
    """Return how many units a block has: few if they are little work, else what a cache holds.

    Then one block waits for memory while the next one computes.
    """
    costs = Costs()
    work = sum(costs.statement(nest.statement) for nest in loops)
    size = int(WORK * n_units / work)
    if size < LANES:
        size = max(1, BLOCK * n_units // n_bytes)
    return size - size % LANES if size > LANES else size


def _needs_more(
    group: _Group,
    private: Collection[Buffer],
    later: Collection[Buffer],
) -> bool:
    """Tell whether blocks need more memory than nests: what they touch lives from first to last."""
    touched = [nest.takes | nest.makes for nest in group.nests]
    temporaries = {b for b in set().union(*touched) if b.space == "temp"}
    most = 0
    for number, buffers in enumerate(touched):
        before = _made_by(group.nests[: number + 1]) | (temporaries - group.written)
        after = buffers.union(later, *touched[number:])
        most = max(most, _total(temporaries & before & after))
    again = set().union(*(nest.takes for nest in group.again))
    held = temporaries | {b for b in again if b.space == "temp"}
    return _total(held.difference(private)) > most


def _units(rates: dict[Nest | Buffer, Fraction]) -> dict[Nest | Buffer, int]:
    """Return the least integers that are to each other as rates are."""
    scale = math.lcm(*(rate.denominator for rate in rates.values()))
    whole = {x: int(rate * scale) for x, rate in rates.items()}
    shared = math.gcd(*whole.values())
    return {x: unit // shared for x, unit in whole.items()}


def _is_regular(layout: Layout) -> bool:
    """Tell whether all places that a group makes move with its blocks, and are made first.

    Of those that others see as well, each must be made once: blocks overlap.
    """
    bases: dict[Buffer, tuple] = {}
    made: set[Buffer] = set()
    for nest in layout.nests:
        if not layout.written.isdisjoint(nest.takes - made):
            return False
        made |= nest.makes
        for x in (*nest.reads, *nest.writes):
            if x.buffer not in layout.written:
                continue
            if x.step is None or bases.setdefault(x.buffer, x.base) != x.base:
                return False
            if nest.var and layout.shares[nest] * x.step != layout.shares[x.buffer]:
                return False
    kept = layout.written - layout.private
    places = [(nest, x) for nest in layout.nests for x in nest.writes if x.buffer in kept]
    for (one, x), (other, y) in itertools.combinations(places, 2):
        if x.buffer is y.buffer and meet(one, x, other, y):
            return False
    return True


def _used_here_only(
    group: _Group,
    groups: Sequence[_Group],
    touched: Sequence[set[Buffer]],
    outside: Collection[Buffer],
) -> set[Buffer]:
    """Return the temporaries that nothing outside of a group touches."""
    found = {buffer for buffer in group.written if buffer.space == "temp"}
    found = {buffer for buffer in found if group.rates[buffer] > 0}.difference(outside)
    alone = set(range(len(touched)))
    for other in groups:
        alone.difference_update(other.places)
        if other is group:
            continue
        used = _made_by(other.nests).union(*(nest.takes for nest in (*other.again, *other.nests)))
        found -= used - _made_by(other.again)
    return found.difference(*(touched[number] for number in alone))


def _find_spans(layout: Layout) -> bool:
    """Find what a block needs of each nest and buffer; tell whether that is a little only."""
    kept = layout.written - layout.private
    for nest in layout.nests:
        if nest.var is not None and not kept.isdisjoint(nest.makes):
            layout.spans[nest] = Span(0, layout.shares[nest])
    for _ in range(_ROUNDS):
        before = dict(layout.spans), dict(layout.edges)
        for nest in reversed(layout.nests):
            if nest.var is None:
                _edge_blocks(layout, nest, kept)
            else:
                _loop_span(layout, nest)
        if before == (layout.spans, layout.edges):
            loops = [nest for nest in layout.nests if nest in layout.spans]
            free = all(_is_free(layout, nest, x) for nest in loops for x in nest.reads)
            return free and all(map(layout.is_little, layout.shares))
    return False


def _is_free(
    layout: Layout,
    nest: Nest,
    access: Access,
) -> bool:
    """Tell whether places that are held from below are held in the first block only."""
    if access.least is None or access.buffer not in layout.written or not access.step:
        return True
    first = layout.shares[nest] + layout.spans[nest].low
    return access.step * first + access.low >= access.least


def _loop_span(
    layout: Layout,
    nest: Nest,
) -> None:
    """Widen the range of a loop to what is read of its results, and that of what it reads."""
    span = layout.spans.get(nest)
    for x in nest.writes:
        wanted = layout.spans.get(x.buffer)
        if wanted is not None and x.step:
            low = -((x.high - wanted.low) // x.step)
            span = Span(low, (wanted.high - 1 - x.low) // x.step + 1).joined(span)
    if span is None:
        return
    layout.spans[nest] = span
    for x in nest.reads:
        if x.buffer in layout.written and x.step:
            first, last = x.step * span.low + x.low, x.step * (span.high - 1) + x.high
            if x.least is not None:
                last = max(last, x.least)
            layout.want(x.buffer, Span(first, last + 1))


def _edge_blocks(
    layout: Layout,
    nest: Nest,
    kept: Collection[Buffer],
) -> None:
    """Find in which blocks an edge runs, and what it reads there."""
    found: set[int] = set(layout.edges.get(nest, ()))
    reads = [x for x in nest.reads if x.buffer in layout.written]
    for x in nest.writes:
        share, wanted = layout.shares[x.buffer], layout.spans.get(x.buffer)
        if wanted is not None:
            first = (x.low - wanted.high) // share + 1
            found |= layout.blocks(first, (x.high - wanted.low) // share)
        if x.buffer in kept:
            near = [y for y in (x, *reads) if layout.shares[y.buffer] > 0]
            block = near[0].low // layout.shares[near[0].buffer] if near else 0
            found.add(min(max(block, 0), layout.count - 1))
    layout.edges[nest] = tuple(sorted(found))
    for block in found:
        for x in reads:
            start = block * layout.shares[x.buffer]
            layout.want(x.buffer, Span(x.low - start, x.high + 1 - start))
