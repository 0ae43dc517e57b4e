"""Small faults that a source could have: comparisons, conditions, arithmetic, numbers, statements.

Texts are left alone (strings, f-strings, what a `raise` says), and so are annotations, decorators
and what stands directly in a class's body.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

Path = tuple[tuple[str, int | None], ...]  # fields, and places in them, from the module to a node

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.Continue: ast.Break, ast.Break: ast.Continue,
}  # fmt: skip
TEXTS = ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom
UNREAD = {"annotation", "returns", "decorator_list", "type_params", "op", "ops"}
UNIMPORTANT = {"strict"}  # zip's: only noticed where there is another fault


@dataclass(frozen=True)
class Mutant:
    """One fault: where, the lines of the outermost function around it, and what it looks like."""

    path: Path
    put: ast.AST
    line: int
    scope: tuple[int, int]  # (0, 0) outside of functions
    text: str

    def tree(self, source: str) -> ast.Module:
        """The source with the fault in it."""
        module = ast.parse(source)
        *way, (field, place) = self.path
        parent: ast.AST = module
        for name, index in way:
            inner = getattr(parent, name)
            parent = inner if index is None else inner[index]
        put = copy.deepcopy(self.put)
        if place is None:
            setattr(parent, field, put)
        else:
            getattr(parent, field)[place] = put
        return ast.fix_missing_locations(module)


def mutants_of(source: str) -> list[Mutant]:
    """All of them, in the order of the source."""
    return list(_within(ast.parse(source), (), (0, 0)))


def _within(parent: ast.AST, path: Path, scope: tuple[int, int]) -> Iterator[Mutant]:
    for field, content in ast.iter_fields(parent):
        if field in UNREAD:
            continue
        for place, node in enumerate(content) if isinstance(content, list) else [(None, content)]:
            if not isinstance(node, ast.AST) or _is_text(parent, node):
                continue
            here, around = (*path, (field, place)), scope
            if isinstance(node, ast.FunctionDef) and scope == (0, 0):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                around = (first, node.end_lineno or first)
            for put in _faults(node):
                line = getattr(node, "lineno", getattr(parent, "lineno", 0))
                before, after = _short(node), "(removed)" if _removes(put) else _short(put)
                yield Mutant(here, put, line, around, f"{before}  ->  {after}")
            if not isinstance(node, TEXTS):
                yield from _within(node, here, around)


def _is_text(parent: ast.AST, node: ast.AST) -> bool:
    """Whether it only explains, or is a part of a class that exists before any test does."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.keyword) and node.arg in UNIMPORTANT:
        return True
    return isinstance(parent, ast.ClassDef) and not isinstance(node, ast.FunctionDef)


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    yield from _of_expressions(node)
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            yield _changed(node, test=ast.UnaryOp(ast.Not(), node.test))
            if isinstance(node, ast.If) and not node.orelse:
                yield ast.Pass()
        case ast.comprehension(ifs=[test]):
            yield _changed(node, ifs=[ast.UnaryOp(ast.Not(), test)])
            yield _changed(node, ifs=[])
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Continue() | ast.Break():
            yield SWAPS[type(node)]()
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def _of_expressions(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                ops = list(node.ops)
                ops[index] = SWAPS[type(operator)]()  # type: ignore[call-overload]
                yield _changed(node, ops=ops)
        case ast.BoolOp():
            yield _changed(node, op=SWAPS[type(node.op)]())
            for index in range(len(node.values)):
                rest = node.values[:index] + node.values[index + 1 :]
                yield rest[0] if len(rest) == 1 else _changed(node, values=rest)
        case ast.BinOp() if not _wordy(node.left) and not _wordy(node.right):
            yield _changed(node, op=SWAPS[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield ast.Constant(1.5 * value or 1.0)


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    twin = copy.copy(node)
    for name, value in fields.items():
        setattr(twin, name, value)
    return twin


def _wordy(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _removes(node: ast.AST) -> bool:
    return isinstance(node, ast.Pass)


def _short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:70]
