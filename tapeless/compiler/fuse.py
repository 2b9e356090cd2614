"""The fusion plan: which values are stored, and which are computed where they are used.

Every value could be virtual; then each consumer computes it again.  The plan stores a value when

    a rule needs it in memory (a library call), or puts it there itself, or a caller gets it;
    it would be evaluated more than once, and that costs more than a store and the loads;
    the expression that hangs on it has grown so large that it must be cut.

To count evaluations, the plan walks backwards and keeps for every value its *contexts*: the loop
nests and paths by which it is pulled, each with the number of elements. Two pulls at the same
index in one nest are one context, because expressions are interned: in `a = f(x); b = a + g(a)` f
is computed once. A pull at another index (a reduction, a broadcast, a shift) is a context of its
own. Nests of one shape between two fences count as one, since the builder joins them.

The cost of a value is that of everything virtual below it; so the store lands on the cheapest cut
only approximately, next to the consumers that multiply it. Work is linear in the number of
equations: context sets and expression sizes are capped.

Operations that contain programs (loops, branches) read their operands from memory, unless those
cost nothing, such as constants and views; the programs inside are planned for themselves.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tapeless.compiler.demand import by_rows
from tapeless.compiler.packs import packed_ahead
from tapeless.compiler.probe import SERIAL_PENALTY, Access, Probe, probe
from tapeless.compiler.scanrows import scans_by_rows
from tapeless.compiler.simplify import simplify
from tapeless.compiler.splicing import spliced
from tapeless.core.interpret import last_uses
from tapeless.core.jaxpr import Eqn, Jaxpr, Literal, Var, subjaxprs
from tapeless.kernel.build import LOCAL_SIZE
from tapeless.prims.bits import random_unwrap_p
from tapeless.prims.check import check_p
from tapeless.prims.join import split_p
from tapeless.prims.slice import slice_p
from tapeless.prims.structural import broadcast_in_dim_p, reshape_p, squeeze_p
from tapeless.util.cache import weak_identity_cache

__all__ = ["Plan", "describe", "plan_program"]

MAX_CONTEXTS = 8
MAX_EQUATIONS = 48
MAX_NODES = 400
FEWEST_LANES = 4
LOCAL_WORK = 512.0  # up to which a small array is written out in registers
STORE_COST = 2.0
CACHED = 1 << 20  # bytes, up to which memory costs that little
MEMORY_COST = 6.0  # how many times as much beyond
STRIDED_COST = 3.0  # what a load down a column costs more
MOST_OF_SLICE = 2.5  # times as many elements that are stored instead of a slice of them
FEWEST_IN_ROW = 8  # elements of a row for which a loop of its own pays
INDEX_WORK = 2.0  # up to which what follows from the index alone is computed where it is read
LOAD_COST = 1.0
_VIEWS = (slice_p, split_p, squeeze_p, broadcast_in_dim_p)


@dataclass(frozen=True, slots=True)
class Plan:
    """A simplified program with decisions.

    stored: the values to put in memory; cuts: those after which the open loop nest is closed, to
    bound its size; dying: per equation, the values that nothing uses after it; reasons: words;
    wide: small stored values that are so much work that a loop shall make them, not a line for each
    element.
    """

    jaxpr: Jaxpr
    stored: frozenset[Var]
    cuts: frozenset[Var]
    dying: tuple[tuple[Var, ...], ...]
    reasons: dict[Var, str] = field(default_factory=dict)
    wide: frozenset[Var] = frozenset()


@weak_identity_cache
def plan_program(jaxpr: Jaxpr, whole: bool, demanded: bool = False) -> Plan:
    """Simplify a program and decide what is stored.

    whole: the program's results go to a caller; otherwise, to the rule of an enclosing operation;
    demanded: that is one for rows on demand.
    """
    simple = _by_rows(jaxpr, demanded)
    before = len(simple.eqns)
    simple, probes = _expand(simple)
    if len(probes) != before:
        simple, probes = _expand(_by_rows(simple, demanded))
    packed = packed_ahead(simple, _by_rows)
    if packed is not simple:
        simple, probes = _expand(packed)
    planner = _Planner(simple, probes, whole)
    planner.decide()
    cuts = planner.cut()
    dying = tuple(tuple(ends) for ends in last_uses(simple))
    reasons = planner.reasons
    return Plan(simple, frozenset(reasons), cuts, dying, reasons, planner.wide())


def _by_rows(jaxpr: Jaxpr, demanded: bool = False) -> Jaxpr:
    """Simplify a program, and let rows that differ go their own ways."""
    return by_rows(scans_by_rows(simplify(jaxpr)), demanded)


def _expand(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Probe | None]]:
    """Replace operations without a rule by simpler ones; return the probes of what is left."""
    eqns: list[Eqn] = []
    constants: dict[Var, object] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    probes: list[Probe | None] = []
    stack = list(reversed(jaxpr.eqns))
    while stack:
        eqn = stack.pop()
        if eqn.primitive is check_p:
            eqns.append(eqn)
            probes.append(_watching(eqn))
            continue
        if eqn.effects or subjaxprs(eqn.params):
            eqns.append(eqn)
            probes.append(None)
            continue
        avals = tuple(atom.aval for atom in eqn.invars)
        outs = tuple(var.aval for var in eqn.outvars)
        found = probe(eqn.primitive, avals, outs, eqn.params)
        if found.decomposed is None:
            eqns.append(eqn)
            probes.append(found)
        else:
            program = found.decomposed
            constants.update(zip(program.constvars, program.consts, strict=True))
            stack.extend(reversed(spliced(program, eqn)))
    consts = tuple(constants.values())
    return jaxpr.replace(constvars=tuple(constants), consts=consts, eqns=eqns), probes


def _watching(eqn: Eqn) -> Probe:
    """Return what a check does: it pulls its condition in a nest, and the rest hardly ever."""
    size = float(eqn.invars[0].aval.size)
    reads = ((Access(size, size, identity=True),), *((),) * (len(eqn.invars) - 1))
    return Probe(reads=reads, forced=(False,) * len(eqn.invars))


Context = object


class _Planner:
    """Decides for one program."""

    def __init__(self, jaxpr: Jaxpr, probes: Sequence[Probe | None], whole: bool) -> None:
        """probes: per equation; None for operations that contain programs or have effects."""
        self.jaxpr = jaxpr
        self.probes = probes
        self.whole = whole
        self.reasons: dict[Var, str] = {}
        self.contexts: dict[Var, dict[Context, float]] = {}
        self.work: dict[Var, float] = {}
        self.fences: list[int] = []
        self.indices: set[Var] = set()
        self.straight: set[Var] = set()

    def decide(self) -> None:
        """Estimate costs forwards, then decide backwards."""
        self._estimate()
        for atom in self.jaxpr.outvars:
            if type(atom) is Var:
                self.contexts[atom] = {("result", atom): float(max(atom.aval.size, 1))}
                if self.whole:
                    self.store(atom, "result")
        for position in reversed(range(len(self.jaxpr.eqns))):
            self._equation(position)

    def cut(self) -> frozenset[Var]:
        """Store values, going forwards, where expressions would become too large.

        An operand that others use as well is stored rather than the result, so that all of them
        start from it. What is stored in a loop of another shape is read from there. What a nest
        before a cut has computed is stored there, if that is cheaper than to compute it again
        behind the cut (`_Past`).
        """
        past = _Past(self)
        members: dict[Var, frozenset[int]] = {}
        uses = Counter(atom for eqn in self.jaxpr.eqns for atom in {*eqn.invars})
        cuts: set[Var] = set()
        nothing: frozenset[int] = frozenset()
        sizes = [0 if found is None else found.n_nodes for found in self.probes]
        for position, eqn in enumerate(self.jaxpr.eqns):
            found = self.probes[position]
            if found is None or found.statements:
                continue
            past.recall(eqn, members)
            shape = eqn.outvars[0].aval.shape if eqn.outvars else ()
            operands = [
                x
                for x in dict.fromkeys(eqn.invars)
                if x in members and (x not in self.reasons or x.aval.shape == shape)
            ]
            below = nothing.union({position}, *(members[x] for x in operands))
            if _is_large(below, sizes):
                for x in operands:
                    shared = uses[x] > 1 and x.aval.size <= eqn.outvars[0].aval.size
                    if shared and 4 * len(members[x]) > MAX_EQUATIONS:
                        self.store(x, "large")
                        cuts.add(x)
                        past.computed_first(members.pop(x))
                kept = (members.get(x, nothing) for x in operands)
                below = nothing.union({position}, *kept)
            large = _is_large(below, sizes)
            for var in eqn.outvars:
                if large:
                    self.store(var, "large")
                    cuts.add(var)
                else:
                    members[var] = below
            past.computed(eqn, position, below)
            if large:
                past.end_nest()
        return frozenset(cuts)

    def store(self, var: Var, reason: str) -> None:
        """Decide to store a value."""
        self.reasons.setdefault(var, reason)

    def wide(self) -> frozenset[Var]:
        """Return the stored small values that are much work."""
        return frozenset(
            var
            for var in self.reasons
            if FEWEST_LANES <= var.aval.size <= LOCAL_SIZE and self.work.get(var, 0.0) > LOCAL_WORK
        )

    def _estimate(self) -> None:
        """Estimate the work that is needed to compute all elements of each value once."""
        fence = 0
        for eqn, found in zip(self.jaxpr.eqns, self.probes, strict=True):
            fence += found is None or found.statements
            self.fences.append(fence)
            if found is None or found.statements:
                continue
            below = sum(
                access.evaluations * self._work_per_element(atom)
                for atom, accesses in zip(eqn.invars, found.reads, strict=True)
                for access in accesses
            )
            if all(type(atom) is Literal or atom in self.indices for atom in eqn.invars):
                self.indices.update(eqn.outvars)
            if all(self._is_straight(*each) for each in zip(eqn.invars, found.reads, strict=True)):
                self.straight.update(eqn.outvars)
            for var, work in zip(eqn.outvars, found.work, strict=True):
                self.work[var] = min(work + below, 1e15)

    def _work_per_element(self, atom: object) -> float:
        """Return the estimated work for one element of a value."""
        if type(atom) is not Var or atom not in self.work:
            return 0.0
        return self.work[atom] / max(atom.aval.size, 1)

    def _is_straight(self, atom: object, accesses: Sequence[Access]) -> bool:
        """Tell whether an operand is pulled at the result's own place, and so is all below it."""
        if type(atom) is Var and atom in self.work and atom not in self.straight:
            return False
        return all(access.identity for access in accesses)

    def _is_free(self, var: Var) -> bool:
        """Tell whether an element costs no more than a load from memory."""
        work = self._work_per_element(var)
        return work == 0 or var in self.indices and work <= INDEX_WORK

    def _equation(self, position: int) -> None:
        """Decide about an equation's results, and tell its operands where they are pulled."""
        eqn, found = self.jaxpr.eqns[position], self.probes[position]
        if found is None:
            for var in eqn.outvars:
                self.store(var, "result of a program")
            n_stored = len(eqn.invars) - sum(eqn.params.get("bases", ()))
            for number, atom in enumerate(eqn.invars):
                if type(atom) is not Var or self._is_free(atom):
                    continue
                if number < n_stored:
                    self.store(atom, "operand of a program")
                    self._pulled(atom, [(("operand", position), 1.0)])
                else:
                    context = ("nest", atom.aval.shape, self.fences[position])
                    self._pulled(atom, [(context, float(atom.aval.size))])
            return
        bases: dict[Context, float] = {}
        for var, stored in zip(eqn.outvars, found.stored, strict=True):
            contexts: dict[Context, float] = self.contexts.pop(var, {})
            if not stored and var not in self.reasons:
                if found.in_pieces and _wants_whole(var, contexts):
                    self.store(var, "in pieces")
                self._choose(var, contexts, eqn)
            if stored or var in self.reasons:
                size = float(max(var.aval.size, 1))
                contexts = {("nest", var.aval.shape, self.fences[position]): size}
                self._in_own_shape(eqn)
            bases.update(contexts)
        if found.statements:
            bases = {("statements", position): 1.0}
        if not eqn.outvars:
            aval = eqn.invars[0].aval
            bases = {("nest", aval.shape, self.fences[position]): float(aval.size)}
        out_size = max(eqn.outvars[0].aval.size, 1) if eqn.outvars else 1
        for number, atom in enumerate(eqn.invars):
            if type(atom) is not Var:
                continue
            if found.forced[number]:
                self.store(atom, "needed in memory")
            if found.statements:
                pulls = _statement_pulls(position, number, found)
            else:
                pulls = _pulls(position, number, found, bases, out_size)
            self._pulled(atom, pulls)

    def _in_own_shape(self, eqn: Eqn) -> None:
        """Store what a stored value is a reshape of, if each element's place had to be divided.

        Loops over the operand's own axes need no divisions, and the reshape is the same memory.
        What is pulled at the element's own place has its place back without them. Words of keys
        are made together, and lie as the keys do.
        """
        operand = eqn.invars[0] if eqn.primitive in (reshape_p, random_unwrap_p) else None
        if type(operand) is not Var or operand not in self.work:
            return
        if eqn.primitive is random_unwrap_p:
            self.store(operand, "keys of words")
            return
        if operand in self.straight:
            return
        rows, joined = _strides(operand.aval.shape), _strides(eqn.outvars[0].aval.shape)
        if not rows <= joined and operand.aval.shape[-1] >= FEWEST_IN_ROW:
            self.store(operand, "reshaped")

    def _pulled(self, var: Var, pulls: Iterable[tuple[Context, float]]) -> None:
        """Add contexts to a value; too many of them and it is stored."""
        contexts = self.contexts.setdefault(var, {})
        for context, count in pulls:
            contexts[context] = max(contexts.get(context, 0.0), count)
        if len(contexts) > MAX_CONTEXTS and self.work.get(var, 0.0) > 0:
            self.store(var, "many uses")

    def _choose(self, var: Var, contexts: dict[Context, float], eqn: Eqn) -> None:
        """Store a value if it would be evaluated so often that memory is cheaper.

        Of a slice, what it is cut from is stored, if that is not much larger: there it is read as
        well, and so are other slices. So is what is stretched.
        """
        size = max(var.aval.size, 1)
        evaluations = sum(contexts.values())
        extra = (evaluations / size - 1) * self.work.get(var, 0.0)
        loads = 0.0 if size <= LOCAL_SIZE else LOAD_COST * evaluations
        memory = STORE_COST * size + loads
        if self._is_read_both_ways(var, contexts):
            strided = sum(count for key, count in contexts.items() if _is_across(key))
            memory = MEMORY_COST * (memory + STRIDED_COST * strided)
        if evaluations > 1.01 * size and extra > memory:
            self.store(self._source(var, eqn), f"pulled {evaluations / size:.3g} times")

    def _source(self, var: Var, eqn: Eqn) -> Var:
        """Return what a value is a view of, if that is computed and not much larger; or itself."""
        whole = eqn.invars[0] if eqn.primitive in _VIEWS else None
        if type(whole) is Var and whole in self.work:
            if whole.aval.size <= MOST_OF_SLICE * var.aval.size:
                return whole
        return var

    def _is_read_both_ways(self, var: Var, contexts: dict[Context, float]) -> bool:
        """Tell whether a large value is pulled along its rows and across: no cache has both."""
        size = var.aval.size * getattr(var.aval.dtype, "itemsize", 8)
        return size > CACHED and len({_is_across(context) for context in contexts}) == 2


class _Past:
    """What nests have computed that a cut has ended: it is stored rather than computed again.

    A chain of operations and its gradient go through the same values, forwards and backwards, and
    the way back is in other nests.
    """

    def __init__(self, planner: _Planner) -> None:
        """Nothing is computed yet."""
        self.planner = planner
        self.makers: dict[Var, int] = {}
        self.current: set[int] = set()
        self.done: set[int] = set()
        self.left = CACHED  # bytes, so that what is kept stays in the cache

    def computed(self, eqn: Eqn, position: int, below: frozenset[int]) -> None:
        """Note an equation, and what is computed for it if its results are stored."""
        self.makers.update(dict.fromkeys(eqn.outvars, position))
        if not self.planner.reasons.keys().isdisjoint(eqn.outvars):
            self.current |= below

    def computed_first(self, below: frozenset[int]) -> None:
        """Note what is computed for an operand, after which the nest ends."""
        self.current |= below
        self.end_nest()

    def end_nest(self) -> None:
        """Note a cut."""
        self.done |= self.current
        self.current = set()

    def recall(self, eqn: Eqn, members: dict[Var, frozenset[int]]) -> None:
        """Store what ended nests have computed and an equation, or its operands, would pull."""
        seen: set[Var] = set()
        for x in eqn.invars:
            if type(x) is Var:
                self._recall(x, members, seen)

    def _recall(self, var: Var, members: dict[Var, frozenset[int]], seen: set[Var]) -> None:
        """Decide what to store of what a value needs, and note what is still computed for it."""
        if var in seen or var not in members or self.done.isdisjoint(members[var]):
            return
        seen.add(var)
        position = self.makers[var]
        if position in self.done and (
            var in self.planner.reasons or self._is_worth(var, members[var])
        ):
            self.planner.store(var, "computed before")
            del members[var]
            return
        found = {position}
        for x in self.planner.jaxpr.eqns[position].invars:
            if type(x) is Var:
                self._recall(x, members, seen)
                found |= members.get(x, frozenset())
        members[var] = frozenset(found)

    def _is_worth(self, var: Var, below: frozenset[int]) -> bool:
        """Tell whether memory for a value is cheaper than to compute it again."""
        size = max(var.aval.size, 1)
        probes = self.planner.probes
        work = sum(sum(found.work) for found in map(probes.__getitem__, below) if found)
        if work <= (STORE_COST + LOAD_COST) * size:
            return False
        if size <= LOCAL_SIZE and self.planner.work.get(var, 0.0) <= LOCAL_WORK:
            return False
        n_bytes = size * getattr(var.aval.dtype, "itemsize", 8)
        if n_bytes > self.left:
            return work > MEMORY_COST * (STORE_COST + LOAD_COST) * size
        self.left -= n_bytes
        return True


def _strides(shape: Sequence[int]) -> set[int]:
    """Return how many elements one step along each axis goes over, and how many there are."""
    return set(accumulate(reversed(shape), operator.mul, initial=1))


def _is_across(context: Context) -> bool:
    """Tell whether a value is pulled column by column."""
    return type(context) is tuple and context[0] == "across"


def _wants_whole(var: Var, contexts: dict[Context, float]) -> bool:
    """Tell whether much of a value is pulled where loops are not cut into pieces."""
    evaluations = sum(contexts.values())
    return var.aval.size <= MOST_OF_SLICE * evaluations and any(map(_is_uncut, contexts))


def _is_uncut(context: Context) -> bool:
    """Tell whether a value is pulled by statements, or as `Access.uncut` says."""
    if type(context) is not tuple or context[0] == "statements":
        return True
    return context[0] in ("across", "along") and bool(context[1])


def _is_large(equations: frozenset[int], sizes: Sequence[int]) -> bool:
    """Tell whether an expression of some equations is too long for one loop."""
    return len(equations) > MAX_EQUATIONS or sum(map(sizes.__getitem__, equations)) > MAX_NODES


def _pulls(
    position: int, number: int, found: Probe, bases: dict[Context, float], out_size: int
) -> list[tuple[Context, float]]:
    """Return the contexts in which a virtual result pulls an operand, with numbers of elements."""
    pulls: list[tuple[Context, float]] = []
    for which, access in enumerate(found.reads[number]):
        for context, count in bases.items():
            if access.identity:
                pulls.append((context, count))
            else:
                is_nest = type(context) is tuple and context[0] == "nest"
                evaluations = access.evaluations if is_nest else access.most
                across = access.across or _is_across(context)
                uncut = access.uncut or _is_uncut(context)
                kind = "across" if across else "along"
                key = (kind, uncut, hash(context), position, number, which)
                pulls.append((key, evaluations * count / out_size))
    return pulls


def _statement_pulls(position: int, number: int, found: Probe) -> list[tuple[Context, float]]:
    """Return the context in which statements pull an operand, if they do."""
    counts = [
        access.evaluations * (SERIAL_PENALTY if access.serial else 1.0)
        for access in found.reads[number]
    ]
    return [(("statements", position, number), sum(counts))] if counts else []


def describe(plan: Plan) -> str:
    """Return the plan as text: a line per stored value, with the equation that it is of."""
    makers = {var: eqn for eqn in plan.jaxpr.eqns for var in eqn.outvars}
    lines = []
    for var, reason in plan.reasons.items():
        if not isinstance(var, Literal):
            line = f"store {var.aval.str_short(True)}: {reason}"
            if var in makers:
                line += f"  # {makers[var].primitive} {makers[var].source.summary()}"
            lines.append(line)
    return "\n".join(lines) or "store nothing"
