"""Loop programs as text: the listing that `TAPELESS_SHOW=kernels` and `Compiled.as_text()` print.

    for i1 < 4:
      %1 = x[5*i1 + 2]
      y[i1] = sum(r2 < 5; %1 * z[r2])

A node that is used more than once is named, above the first statement that needs it, in the
innermost block; everything else is printed in place. The text says what is computed, not where
the emitter places it. A store to memory of which something is known, such as the user's line that
it comes from, has that as a comment, unless the store before it has the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tapeless.kernel.graph import children, walk
from tapeless.kernel.ir import (
    Affine,
    Alloc,
    Block,
    Buffer,
    Call,
    Const,
    If,
    Index,
    Load,
    Loop,
    Op,
    Reduce,
    Scalar,
    Statement,
    Store,
    While,
)

__all__ = ["listing"]

_INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&", "or": "|"},
    **{"xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
}


def listing(body: Block, notes: Mapping[Buffer, str] = MappingProxyType({})) -> str:
    """Return the text of a block; notes: the comment on stores to a buffer."""
    return "\n".join(_Printer(notes).block(body, ""))


class _Printer:
    """The names given to shared nodes so far."""

    def __init__(self, notes: Mapping[Buffer, str]) -> None:
        """Start without names."""
        self.notes = notes
        self.note = ""
        self.names: dict[int, str] = {}
        self.shared: set[int] = set()
        self.n_names = 0

    def block(self, body: Iterable[Statement], indent: str) -> list[str]:
        """Return the lines of a block; names made in it end with it."""
        outer = dict(self.names)
        outer_shared = self.shared
        roots = [x for s in body if isinstance(s, Store) for x in (s.index, s.value)]
        self.shared = outer_shared | {id(node) for node in _shared(roots)}
        lines: list[str] = []
        for statement in body:
            lines += self.statement(statement, indent)
        self.names, self.shared = outer, outer_shared
        return lines

    def statement(self, statement: Statement, indent: str) -> list[str]:
        """Return the lines of a statement."""
        inner = indent + "  "
        if isinstance(statement, Store):
            return self.store(statement, indent)
        if isinstance(statement, Loop):
            lines, (extent,) = self.named(indent, statement.extent)
            kind = "" if statement.independent else " in order"
            kind += " downwards" if statement.reverse else ""
            head = f"{indent}for {statement.var.name} < {extent}{kind}:"
            return [*lines, head, *self.block(statement.body, inner)]
        if isinstance(statement, If):
            lines, (which,) = self.named(indent, statement.which)
            for position, branch in enumerate(statement.branches):
                lines.append(f"{indent}case {which} == {position}:")
                lines += self.block(branch, inner)
            return lines
        if isinstance(statement, While):
            lines = [f"{indent}while:", *self.block(statement.before, inner)]
            named, (condition,) = self.named(inner, statement.condition)
            lines += [*named, f"{indent}holds {condition}:"]
            return lines + self.block(statement.body, inner)
        if isinstance(statement, Call):
            scalars = [arg for arg in statement.args if isinstance(arg, Scalar)]
            lines, _ = self.named(indent, *scalars)
            args = ", ".join(map(self.argument, statement.args))
            return [*lines, f"{indent}{statement.symbol}({args})"]
        assert isinstance(statement, Alloc), "a statement is one of six"
        return [f"{indent}alloc {statement.buffer.name}"]

    def store(self, store: Store, indent: str) -> list[str]:
        """Return the lines of a store."""
        roots = (store.index, store.value, *([] if store.guard is None else [store.guard]))
        lines, (index, value, *guard) = self.named(indent, *roots)
        sign = "=" if store.accumulate is None else f"{store.accumulate}="
        suffix = f" if {guard[0]}" if guard else ""
        note = self.notes.get(store.buffer, "")
        comment = f"  # {note}" if note not in ("", self.note) else ""
        self.note = note
        line = f"{indent}{store.buffer.name}[{index}] {sign} {_bare(value)}{suffix}"
        return [*lines, line + comment]

    def argument(self, arg: Buffer | tuple[Buffer, Affine] | Scalar) -> str:
        """Return an argument of a call."""
        if isinstance(arg, Buffer):
            return arg.name
        if isinstance(arg, tuple):
            return f"&{arg[0].name}[{self.text(arg[1])}]"
        return self.text(arg)

    def named(self, indent: str, *roots: object) -> tuple[list[str], list[str]]:
        """Return lines that name the shared nodes below `roots`, and the texts of `roots`."""
        scalars = [root for root in roots if isinstance(root, Scalar)]
        lines = []
        again = {id(node) for node in _shared(scalars)} | self.shared
        for node in walk(scalars):
            if id(node) in again and id(node) not in self.names:
                text = _bare(self.text(node))
                self.n_names += 1
                self.names[id(node)] = f"%{self.n_names}"
                lines.append(f"{indent}%{self.n_names} = {text}")
        return lines, [self.text(root) if isinstance(root, Scalar) else str(root) for root in roots]

    def text(self, node: Scalar) -> str:
        """Return the text of an expression."""
        name = self.names.get(id(node))
        if name is not None:
            return name
        if isinstance(node, Index):
            return node.name
        if isinstance(node, Const):
            return str(node.value)
        if isinstance(node, Affine):
            return self.sum(node)
        if isinstance(node, Load):
            guard = "" if node.guard is None else f" if {self.text(node.guard)}"
            return f"{node.buffer.name}[{self.text(node.index)}{guard}]"
        if isinstance(node, Reduce):
            return self.reduction(node)
        assert isinstance(node, Op), "a scalar is one of six"
        args = [self.text(arg) for arg in node.args]
        if node.name in _INFIX:
            return f"({args[0]} {_INFIX[node.name]} {args[1]})"
        name = node.dtype.name if node.name == "convert" else node.name
        return f"{name}({', '.join(map(_bare, args))})"

    def sum(self, node: Affine) -> str:
        """Return the text of an affine index."""
        terms = [
            self.text(term) if coefficient == 1 else f"{coefficient}*{self.text(term)}"
            for term, coefficient in node.terms
        ]
        if node.const or not terms:
            terms.append(str(node.const))
        return " + ".join(terms)

    def reduction(self, node: Reduce) -> str:
        """Return the text of a reduction."""
        name = node.combine if isinstance(node.combine, str) else "fold"
        which = f".{node.which}" if len(node.elements) > 1 else ""
        elements = ", ".join(_bare(self.text(element)) for element in node.elements)
        inits = ", ".join(map(self.text, node.inits))
        return f"{name}{which}({node.var.name} < {node.extent}; {elements}; from {inits})"


def _bare(text: str) -> str:
    """Drop parentheses around a whole expression."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def _shared(roots: Iterable[Scalar]) -> list[Scalar]:
    """Return the operations that have several users, or are deep, operands before users."""
    uses: dict[int, int] = {}
    depth: dict[int, int] = {}
    order: list[Scalar] = []
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            below = max((depth[id(child)] for child in children(node)), default=0)
            depth[id(node)] = 0 if below >= 12 else below + 1
            continue
        uses[id(node)] = uses.get(id(node), 0) + 1
        if uses[id(node)] == 1:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
    big = (Op, Load, Reduce)
    return [n for n in order if isinstance(n, big) and (uses[id(n)] > 1 or depth[id(n)] == 0)]
