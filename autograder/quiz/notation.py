"""Formulas as people type them, made into trees: nothing of what was typed is ever run.

    n^2·d_k + √d_k   →   ("+", ("*", ("**", n, 2), d_k), ("call", "sqrt", d_k))

The text is cut into signs of a fixed list, and written anew from these: as Python, with names
that are ours (`s0`, `c1`), the multiplications that were left out, and nothing else. Python's
parser knows the precedence, and its tree is walked. What mathematicians read in two
ways, such as 1/2n, is refused with a sentence.
"""

from __future__ import annotations

import ast
import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.symbols import CONSTANTS, FUNCTIONS, Symbol, meant_by, spelled
from autograder.quiz.typed_text import LONGEST_NUMBER, decimal, read_text
from autograder.source_trees import parse_expression

# A tree is ("number", "1/2"), ("symbol", "n"), ("constant", "pi"), ("neg", tree),
# ("call", "sqrt", tree), or an operator with two trees. Plain, so that it travels as JSON.
Tree = tuple[object, ...]

LONGEST_FORMULA = 400
MOST_TOKENS = 250
DEEPEST = 30

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<root>√)
      | (?P<sign>\*\*|\^|//|[-+*/%])
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])""",
    re.VERBOSE,
)
_WHAT_TO_WRITE = {
    ",": "write a decimal point and no separators in a formula",
    "=": "write the right-hand side of the formula only, without =",
    "|": "write abs(…) for the absolute value",
    "!": "there are no factorials here; write the formula with + - * / ^ and brackets",
    "\\": "write the formula as on a keyboard and not in LaTeX: sqrt(d_k), n^2 * d_k",
    "∞": "write a formula with finite numbers",
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def parse(text: str, symbols: Sequence[Symbol]) -> Tree:
    """The tree of a formula. NotAnAnswer, in a sentence, for what is none or is ambiguous."""
    if len(text) > LONGEST_FORMULA:
        raise NotAnAnswer(f"this is too long for a formula; write at most {LONGEST_FORMULA} signs")
    written = _Writer(symbols)
    source = written.python(_plain(text))
    try:
        tree = parse_expression(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotAnAnswer("this is no whole formula; look at its brackets and operators") from None
    return written.tree(tree)


def _plain(text: str) -> str:
    if re.search(r"[⁰¹²³⁴-⁹ⁿ]\s*(\^|\*\*)", text):
        raise NotAnAnswer("write brackets around a power that is raised again: (n^2)^3")
    # n²d is n² times d, while n^2d leaves a doubt: a space keeps them apart
    apart = "".join(
        f"{sign} " if _script(sign) and _script(after) != _script(sign) else sign
        for sign, after in itertools.pairwise(f"{text} ")
    )
    plain = spelled(read_text(apart)).strip("'\"` ")
    plain = re.sub(r"^=\s*", "", plain)
    return re.sub(r"_ ?\{(\w+)\}", r"_\1", plain)


def _script(sign: str) -> str:
    kind = unicodedata.decomposition(sign).partition(" ")[0]
    return kind if kind in ("<super>", "<sub>") else ""


@dataclass
class _Level:
    """What has been written since a bracket opened, as far as it decides what comes next."""

    operand: bool = False  # something that can be multiplied stands last
    divisor: bool = False  # … and it stands behind / or // or %
    exponent: bool = False  # … behind a power, and not in brackets
    bare: str = ""  # … behind a function or root without brackets
    pending: str = ""  # that function or root, before its operand


@dataclass
class _Writer:
    """One formula: the Python that is written for it, and what its names stand for."""

    symbols: Sequence[Symbol]
    leaves: dict[str, Tree] = field(default_factory=dict)
    out: list[str] = field(default_factory=list)
    levels: list[_Level] = field(default_factory=lambda: [_Level()])

    def python(self, text: str) -> str:
        spaced, at, tokens = False, 0, 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if not found:
                known = _WHAT_TO_WRITE.get(text[at])
                raise NotAnAnswer(
                    known or f"{text[at]!r} has no meaning in a formula; leave it out"
                )
            at, tokens = found.end(), tokens + 1
            if tokens > MOST_TOKENS:
                raise NotAnAnswer("this formula is too long; write it more simply")
            kind, typed = str(found.lastgroup), found[0]
            if kind != "space":
                getattr(self, f"_{kind}")(typed, spaced, text[at:].lstrip()[:1])
            spaced = kind == "space"
        if len(self.levels) > 1 or not self.levels[0].operand:
            raise NotAnAnswer("this is no whole formula; look at its brackets and operators")
        return " ".join(self.out)

    def _number(self, typed: str, spaced: bool, after: str) -> None:
        if self.levels[-1].operand:
            raise NotAnAnswer(f"write · or ^ before the number {typed[:LONGEST_NUMBER]}")
        if len(typed) > LONGEST_NUMBER:
            raise NotAnAnswer("this number is too large to be meant")
        self._leaf(("number", str(decimal(typed))), spaced)

    def _name(self, typed: str, spaced: bool, after: str) -> None:
        names = [symbol.name for symbol in self.symbols]
        level = self.levels[-1]
        if typed in "xX" and level.operand and typed.lower() not in map(str.lower, names):
            self._sign("*", spaced, after)
            return
        meant = meant_by(typed, self.symbols)
        if meant[0] in FUNCTIONS and meant[0] not in names:
            if level.pending:
                raise NotAnAnswer(f"write brackets after {_root_of(level.pending)}")
            self._before_operand(spaced)
            self.out.append(meant[0])
            if after not in ("(", "[", "{"):
                self.out.append("(")
                level.pending = meant[0]
            level.operand = False
            return
        if len(meant) > 1 and (level.pending or (level.exponent and not level.operand)):
            raise NotAnAnswer(f"{typed} is a product; write brackets around it")
        for place, name in enumerate(meant):
            kind = "constant" if name in CONSTANTS and name not in names else "symbol"
            self._leaf((kind, name), spaced or place > 0)

    def _root(self, typed: str, spaced: bool, after: str) -> None:
        self._name("sqrt", spaced, after)

    def _leaf(self, leaf: Tree, spaced: bool) -> None:
        self._before_operand(spaced)
        level = self.levels[-1]
        name = f"{leaf[0]}"[0] + str(len(self.leaves))
        self.leaves[name] = leaf
        self.out.append(name)
        level.operand, level.bare = True, level.pending
        if level.pending:
            self.out.append(")")
            level.pending = ""

    def _before_operand(self, spaced: bool) -> None:
        """Write the multiplication that was left out, where it can be meant in one way only."""
        level = self.levels[-1]
        if not level.operand:
            return
        if level.divisor:
            raise NotAnAnswer("write brackets to say what is divided by: 1/(2 n) or (1/2) n")
        if level.bare:
            raise NotAnAnswer(f"write brackets to say what {_root_of(level.bare)} is taken of")
        if level.exponent and not spaced:
            raise NotAnAnswer(
                "write brackets around the exponent, or · after it: n^(2 d) or n^2 · d"
            )
        self.out.append("*")
        level.operand = level.exponent = False

    def _sign(self, typed: str, spaced: bool, after: str) -> None:
        level, sign = self.levels[-1], "**" if typed == "^" else typed
        if not level.operand and sign not in "+-":
            raise NotAnAnswer("this is no whole formula; look at its brackets and operators")
        if level.pending:
            raise NotAnAnswer(f"write brackets after {_root_of(level.pending)}")
        if sign == "**" and level.bare not in ("", "sqrt"):
            raise NotAnAnswer(f"write brackets to say what {level.bare} is taken of")
        if level.operand:
            if sign == "**":
                level.exponent = True
            else:
                level.exponent = False
                level.divisor = sign in ("/", "//", "%")
            level.bare = ""
        level.operand = False
        self.out.append(sign)

    def _open(self, typed: str, spaced: bool, after: str) -> None:
        # n^2(d+1) leaves no doubt; after a function's name `operand` is false
        self._before_operand(True)
        if len(self.levels) > DEEPEST:
            raise NotAnAnswer("there are too many brackets in one another; write it more simply")
        self.levels.append(_Level())
        self.out.append("(")

    def _close(self, typed: str, spaced: bool, after: str) -> None:
        if len(self.levels) == 1 or not self.levels[-1].operand:
            raise NotAnAnswer("this is no whole formula; look at its brackets and operators")
        self.levels.pop()
        self.out.append(")")
        level = self.levels[-1]
        level.operand, level.exponent, level.bare = True, False, ""

    def tree(self, node: ast.expr) -> Tree:
        """Python's tree of what was written here, in our own nodes; no other node can occur."""
        if isinstance(node, ast.Name):
            return self.leaves[node.id]
        if isinstance(node, ast.BinOp):
            sign = _OPERATORS[type(node.op)]
            return (sign, self.tree(node.left), self.tree(node.right))
        if isinstance(node, ast.UnaryOp):
            inner = self.tree(node.operand)
            return ("neg", inner) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return ("call", node.func.id, self.tree(node.args[0]))
        raise NotAnAnswer("this is no whole formula; look at its brackets and operators")


def _root_of(function: str) -> str:
    return "√" if function == "sqrt" else function


_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "neg": 3, "**": 4}


def shown(tree: Tree) -> str:
    """A formula as Python writes it, with the brackets that it needs."""
    kind = tree[0]
    if kind == "number":
        return str(tree[1]) if "/" not in str(tree[1]) else f"({tree[1]})"
    if kind in ("symbol", "constant"):
        return str(tree[1])
    inner = [part for part in tree[1:] if isinstance(part, tuple)]
    if kind == "call":
        return f"{tree[1]}({shown(inner[0])})"
    rank = _PRECEDENCE[str(kind)]
    if kind == "neg":
        return f"-{_bracketed(inner[0], rank)}"
    left, right = inner
    sign = str(kind) if rank == 4 else f" {kind} "
    first = _bracketed(left, rank + (kind == "**"))
    return f"{first}{sign}{_bracketed(right, rank + (kind in ('-', '/', '//', '%', '*')))}"


def _bracketed(tree: Tree, rank: int) -> str:
    text = shown(tree)
    return f"({text})" if _PRECEDENCE.get(str(tree[0]), 9) < rank else text
