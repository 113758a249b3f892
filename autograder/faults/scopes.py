"""What is known of the functions of a statement: names, sizes, masks, attributes, what is unused.

An edit that puts in a name takes one that is there and could be meant: a size for a size, a mask
for a mask, and first of all what the student has made and never used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.syntax import Node, is_stub

_MASK_WORDS = ("mask", "keep", "pad")


def is_mask(name: str) -> bool:
    """Whether a name is that of a mask."""
    return any(word in name.lower() for word in _MASK_WORDS)


def last_name(node: ast.AST) -> str:
    """“softmax” for `F.softmax`; "" for what is no name."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


@dataclass
class Scope:
    """What is known of the function in which a node stands.

    parents: of every node of the statement. function: the def. parameters: its names, without
    `self`. variables: names that it assigns, in order. unused: parameters and variables that
    nothing reads. attributes: what methods set on `self`; idle: those that nothing reads.
    modules: what NumPy, PyTorch … are called here. callables: functions of the exercise's parts.
    """

    parents: Mapping[ast.AST, ast.AST]
    function: ast.FunctionDef
    parameters: Sequence[str]
    variables: Sequence[str]
    unused: frozenset[str]
    attributes: Sequence[str] = ()
    idle: frozenset[str] = frozenset()
    modules: Mapping[str, str] = field(default_factory=dict)
    callables: Sequence[str] = ()
    torch: bool = False
    sizes: frozenset[str] = frozenset()
    listed: Sequence[str] = ()
    constructs: bool = False
    layers: frozenset[str] = frozenset()

    def alike(self, one: str, other: str) -> bool:
        """Whether two names may stand for each other: both sizes, both masks, or neither."""
        return (one in self.sizes, is_mask(one)) == (other in self.sizes, is_mask(other))

    @property
    def names(self) -> list[str]:
        """Names that an expression may read here: those that nothing reads yet come first."""
        every = dict.fromkeys([*self.parameters, *self.variables])
        return sorted(every, key=lambda name: name not in self.unused)

    def called(self, node: ast.AST) -> str:
        """The last name of the function in whose call a node stands, or ""."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.Call):
                return last_name(node.func)
            if isinstance(node, ast.stmt):
                break
        return ""

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement in which a node stands."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node


def functions_of(
    tree: ast.AST,
    parents: Mapping[ast.AST, ast.AST],
    frozen: frozenset[str],
    modules: Mapping[str, str],
    callables: Sequence[str],
    torch: bool,
) -> Iterator[tuple[ast.FunctionDef, Scope]]:
    """Every function of a statement that is no stub, with its scope."""
    attributes: list[str] = []
    read: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in ("add_module", "setattr"):
            attributes += _texts(tree)
        if isinstance(node, ast.Attribute) and last_name(node.value) == "self":
            if isinstance(node.ctx, ast.Store):
                attributes.append(node.attr)
            else:
                read.add(node.attr)
    own = list(dict.fromkeys(attributes))
    making = {
        last_name(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for part in ast.walk(node)
    }
    for function in _outermost(tree, frozen):
        used = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        parameters = [n for n in _parameters(function) if n != "self" and n.strip("_")]
        variables = list(
            dict.fromkeys(
                node.id
                for node in ast.walk(function)
                if isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and node.id.strip("_")
            )
        )
        every = (*parameters, *variables)
        unused = frozenset(n for n in every if n not in used and not n.startswith("_"))
        yield (
            function,
            Scope(
                parents,
                function,
                parameters,
                variables,
                unused,
                own if "self" in _parameters(function) else (),
                frozenset(own) - read,
                modules,
                _never_called(callables, tree),
                torch,
                _sizes(function, parameters),
                _listed(function, parameters),
                function.name == "__init__" or function.name in making,
                _layers(tree),
            ),
        )


# Parameters that are numbers, by their names; those of a constructor are anyway.
_SIZE_NAMES = re.compile(r"(d|n|b|h|dim|num|len|size|width|heads?|batch)(_\w+|\d*)$", re.IGNORECASE)


def _sizes(function: ast.FunctionDef, parameters: Sequence[str]) -> frozenset[str]:
    """Names of whole numbers, as far as names and what is assigned tell."""
    if function.name == "__init__":
        return frozenset(parameters)
    known = {name for name in parameters if _SIZE_NAMES.match(name) or name.endswith("_dim")}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            value = node.value
            whole = last_name(value) == "shape" or (
                isinstance(value, ast.Call)
                and last_name(value.func) in ("size", "len", "numel", "shape")
            )
            whole = whole or (
                isinstance(value, ast.Subscript) and last_name(value.value) == "shape"
            )
            whole = whole or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv))
            if whole:
                known |= {
                    n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)
                }
        elif isinstance(node, ast.For | ast.comprehension) and (
            isinstance(node.iter, ast.Call) and last_name(node.iter.func) in ("range", "arange")
        ):
            known |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    return frozenset(known)


def _layers(tree: ast.AST) -> frozenset[str]:
    """Attributes that are called: layers, and whatever else a module is made of."""
    return frozenset(
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and last_name(node.func.value) == "self"
    ) | frozenset(
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func)[:1].isupper()
        for target in node.targets
        if isinstance(target, ast.Attribute)
    )


def _never_called(callables: Sequence[str], tree: ast.AST) -> list[str]:
    """Parts that are never called where others are; who calls none writes all of it anew."""
    called = {last_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [name for name in callables if name not in called] if called & {*callables} else []


def _listed(function: ast.FunctionDef, parameters: Sequence[str]) -> list[str]:
    """Parameters of which items are taken, one after another."""
    taken = {
        last_name(node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)
    }
    taken |= {
        last_name(item)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and last_name(node.func) == "zip"
        for item in node.args
    }
    return [name for name in parameters if name in taken]


def _outermost(tree: ast.AST, frozen: frozenset[str]) -> Iterator[ast.FunctionDef]:
    """Functions and methods; a function inside another belongs to that one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Node) and (node.name in frozen or is_stub(node)):
            continue
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.stmt):
            yield from _outermost(node, frozen)


def _texts(tree: ast.AST) -> list[str]:
    """Texts that may be names of attributes."""
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.isidentifier()
    ]


def _parameters(function: ast.FunctionDef) -> list[str]:
    """Names of all parameters, also of the functions inside."""
    return [
        argument.arg
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    ]
