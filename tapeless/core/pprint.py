"""Program text, character for character as JAX 0.12 prints it.

    { lambda CONSTANTS ; INPUTS. let EQUATIONS in (OUTPUTS,) }

Variables are named a, b, ..., z, ba, ... in the order in which they appear; nested programs go on
with fresh names.  A result that nothing uses is `_`.  A `jit` equation is a frame around its
program: inputs and outputs of the program bear the names of what is outside.

A nested program that occurs more than once, or is long, is written once, above the others, as
`let name = {...} in`.

Which parameters are shown is the primitive's business: `Primitive.printed`.  The layout is the
document printer's (`util/layout.py`): an equation, a parameter list or a program is on one line if
it fits, on several if not, while lists of variables fill their lines.

`core/jaxpr.py` cannot import this file, which reads it.  So this file fills in `printers` there.
"""

from __future__ import annotations

import re
import string
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapeless import config
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, jaxprs_in, printers, subjaxprs
from tapeless.core.source import names_text
from tapeless.util.layout import Document, brk, concat, group, join, nest, note, pretty, style, text
from tapeless.util.records import record

__all__ = ["eqn_text", "jaxpr_text"]

# A nested program with more equations than this is written above the others.
LONG = 10

# Where an object lies is no part of a program.
ADDRESS = re.compile("0x[0-9a-f]+")


@record
class Settings:
    """What to print besides the equations."""

    source_info: bool = False
    print_shapes: bool = True
    custom_pp_eqn_rules: bool = True
    name_stack: bool = False
    print_effects: bool = False


@dataclass(slots=True)
class Names:
    """The names that variables have been given, and those of the programs written above."""

    settings: Settings
    variables: dict[Var, str] = field(default_factory=dict)
    programs: dict[Jaxpr, str] = field(default_factory=dict)
    count: int = 0

    def of(self, var: Var) -> str:
        """Return the name of a variable, a fresh one if it has none."""
        if var not in self.variables:
            self.variables[var] = self.fresh()
        return self.variables[var]

    def fresh(self) -> str:
        """Return the next name that no program has."""
        name = letters(self.count)
        self.count += 1
        return self.fresh() if name in self.programs.values() else name

    def forget(self, program: Jaxpr) -> None:
        """Take the names from a program's variables: another one that is printed has them, too."""
        bound = [*program.constvars, *program.invars]
        for eqn in program.eqns:
            bound.extend(eqn.outvars)
        for var in bound:
            self.variables.pop(var, None)

    def share(self, inner: Sequence[Atom], outer: Sequence[Atom]) -> None:
        """Give variables of a nested program the names outside, each name to one variable."""
        taken: set[Var] = set()
        for own, other in zip(inner, outer, strict=True):
            if type(own) is Literal or type(other) is Literal:
                continue
            if own not in self.variables and other not in taken:
                taken.add(other)
                self.variables[own] = self.of(other)


def jaxpr_text(
    jaxpr: Jaxpr, *, width: int = 80, use_color: bool | None = None, **settings: bool
) -> str:
    """Return the text of a program; `settings` are those of `Settings`."""
    names = Names(Settings(**settings), programs=_shared_programs(jaxpr))
    parts: list[Document | str] = []
    for shared, name in names.programs.items():
        names.forget(shared)
        parts += [f"let {name} = ", _program(shared, names), " in", brk()]
    # In the outermost program, and only there, what is not used has no name.
    used = set(jaxpr.outvars).union(*[eqn.invars for eqn in jaxpr.eqns])
    unused = {var for eqn in jaxpr.eqns for var in eqn.outvars} - used
    names.variables.update(dict.fromkeys(unused, "_"))
    parts.append(_program(jaxpr, names))
    return pretty(concat(parts), width, _coloured(use_color))


def eqn_text(eqn: Eqn) -> str:
    """Return the text of one equation, its names given anew."""
    return pretty(_equation(eqn, Names(Settings())), 80, _coloured(None))


def letters(number: int) -> str:
    """Return the name number `number`: a, ..., z, ba, bb, ...

    >>> letters(0), letters(25), letters(26), letters(26 * 26)
    ('a', 'z', 'ba', 'baa')
    """
    rest, last = divmod(number, 26)
    return (letters(rest) if rest else "") + string.ascii_lowercase[last]


def _shared_programs(jaxpr: Jaxpr) -> dict[Jaxpr, str]:
    """Return the nested programs that are reached more than once or are long, with names."""
    visits: dict[Jaxpr, int] = {}
    names: dict[Jaxpr, str] = {}
    queue = deque([jaxpr])
    while queue:
        program = queue.popleft()
        visits[program] = visits.get(program, 0) + 1
        if visits[program] > 2:
            continue  # What is inside has been reached twice already.
        for eqn in program.eqns:
            nested = subjaxprs(_shown(eqn))
            queue.extend(nested)
            named = eqn.primitive.shares_names
            name = str(eqn.params["name"]).strip("<>") if named else "jaxpr"
            for sub in nested:
                names.setdefault(sub, name)
    unique: dict[Jaxpr, str] = {}
    taken: dict[str, int] = {}
    for program, name in names.items():
        if visits[program] > 1 or len(program.eqns) > LONG:
            number = taken[name] = taken.get(name, -1) + 1
            unique[program] = f"{name}{number}" if number else name
    return unique


def _program(jaxpr: Jaxpr, names: Names) -> Document:
    """Return the document of a program."""
    constants = _binders(jaxpr.constvars, names)
    inputs = _binders(jaxpr.invars, names)
    head = [_keyword("lambda "), constants, "; ", inputs, ". ", _keyword("let")]
    eqns = [_equation(eqn, names) for eqn in jaxpr.eqns]
    body = nest(4, brk() + join(brk("; "), eqns))
    outs = _fill(_atoms(jaxpr.outvars, names), ",")
    comma = "," if len(jaxpr.outvars) == 1 else ""
    tail = [brk(), _keyword("in "), "(", nest(2, outs), comma, ")"]
    if names.settings.print_effects:
        effects = ", ".join(sorted(map(str, jaxpr.effects)))
        tail.append(f" : {{ {effects} }}")
    parts = ["{ ", nest(4, concat(head)), body, nest(2, concat(tail)), " }"]
    return group(concat(parts))


def _equation(eqn: Eqn, names: Names) -> Document:
    """Return the document of an equation: `b:f32[3] = name[parameters] a`."""
    settings = names.settings
    shown = _shown(eqn) if settings.custom_pp_eqn_rules else eqn.params
    for inner in subjaxprs(shown):
        if inner in names.programs:
            continue
        names.forget(inner)
        if eqn.primitive.shares_names and settings.custom_pp_eqn_rules:
            names.share(inner.invars, eqn.invars)
            names.share(inner.outvars, eqn.outvars)
    parts: list[Document | str] = []
    if settings.source_info:
        frame = eqn.source.frame
        parts.append(note("" if frame is None else str(frame)))
    if settings.name_stack:
        parts.append(note(f"[{names_text(eqn.source.names)}]"))
    results = nest(2, _binders(eqn.outvars, names))
    if settings.custom_pp_eqn_rules and eqn.primitive.has_phrase:
        used = results if _named(eqn.outvars, names) else None
        return concat([*parts, *eqn.primitive.phrase(used, _atoms(eqn.invars, names), eqn.params)])
    if eqn.outvars:
        parts += [results, " = "]
    name = eqn.primitive.printed_name or eqn.primitive.name
    parts += [name, _parameters(shown, names), " "]
    operands = _fill(_atoms(eqn.invars, names), "")
    return concat([*parts, nest(2, operands)])


def _named(variables: Iterable[Var], names: Names) -> bool:
    """Tell whether some results are used."""
    return any(names.of(var) != "_" for var in variables)


def _shown(eqn: Eqn) -> Mapping[str, Any]:
    """Return the parameters that are printed, in their order: the name first, then the alphabet."""
    params = eqn.primitive.printed(eqn.params)
    if eqn.primitive.prints_as_bound:
        return params
    order = sorted(params, key=lambda key: (key != "name", key))
    return {key: params[key] for key in order}


def _parameters(params: Mapping[str, Any], names: Names) -> Document:
    """Return the document of a parameter list; nothing for an empty one."""
    if not params:
        return text("")
    pairs = [f"{key}=" + _parameter(value, names) for key, value in params.items()]
    return _enclosed("[", pairs, "]")


def _parameter(value: Any, names: Names) -> Document:
    """Return the document of a parameter: a program, several, a function's name, or `str`."""
    if isinstance(value, Jaxpr):
        name = names.programs.get(value)
        return text(name) if name else _program(value, names)
    if type(value) is tuple and value and len(jaxprs_in(value)) == len(value):
        return _enclosed("(", [_parameter(item, names) for item in value], ")")
    return text(ADDRESS.sub("0xXXXXXXXXXXXX", str(value)))


def _enclosed(start: str, items: Sequence[Document], end: str) -> Document:
    """Return the document of a list on one line, or of one item a line."""
    body = nest(2, brk("") + join(brk(), items))
    return group(concat([start, body, brk(""), end]))


def _binders(variables: Iterable[Var], names: Names) -> Document:
    """Return the document of variables with their types."""
    items = []
    for var in variables:
        item = text(names.of(var))
        if names.settings.print_shapes:
            item += style(":" + var.aval.str_short(True), "magenta")
        items.append(item)
    return _fill(items, "")


def _fill(items: Sequence[Document], separator: str) -> Document:
    """Return the document of a list that fills its lines."""
    return join(separator + group(brk()), items)


def _atoms(atoms: Iterable[Atom], names: Names) -> list[Document]:
    """Return the documents of operands: names, and values with their types."""
    items = []
    for atom in atoms:
        if type(atom) is Literal:
            value = atom.val
            if type(value) not in (float, complex):  # these are shown as they were written
                value = np.asarray(value, atom.aval.dtype).item()
            items.append(text(f"{value}:{atom.aval.str_short(True)}"))
        else:
            items.append(text(names.of(atom)))
    return items


def _keyword(word: str) -> Document:
    """Return the document of a word of the language."""
    return style(word, "blue", bold=True)


def _coloured(use_color: bool | None) -> bool:
    """Tell whether to print in colour; by default, if allowed and the output is a terminal."""
    if use_color is None:
        return bool(config.current.jax_pprint_use_color) and sys.stdout.isatty()
    return use_color


printers.update(jaxpr=jaxpr_text, eqn=eqn_text)
