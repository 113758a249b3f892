"""A function's body as one expression, so that two ways to write it read the same.

Local variables are put in where they are used, helpers of the same file are called in place,
conditions become conditional expressions. What cannot be written so (loops, assignments to
entries, calls for their effect) stays a statement, in order, with the variables that it may
use. A function then consists of statements before, the value that it returns, and changes to
its arguments after. `autograder.merging` compares such forms.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.parameters import NoForm as NoForm
from autograder.parameters import all_arguments, given_by, renamed_like
from autograder.spellings import canonical_call, choice, item_of, simplified, truth
from autograder.syntax_trees import assignment, key, name, names_bound, rebuilt, size

# Above, a form is no help: shared parts count wherever they stand.
MAX_NODES = 6000
MAX_DEPTH = 6

# Called twice they give two results, so they are called where they stand, once.
_DRAWS = {
    "standard_normal", "normal", "random", "uniform", "integers", "choice", "permutation",
    "shuffle", "randn", "rand", "rand_like", "randn_like", "bernoulli", "dropout",
}  # fmt: skip
_SOURCES = {"default_rng", "Generator", "RandomState", "manual_seed"}

# Results that share memory with what they are taken from: a change to one changes the other.
_VIEWS = {
    "T", "mT", "view", "reshape", "transpose", "swapaxes", "permute", "squeeze", "unsqueeze",
    "expand", "ravel", "detach", "numpy", "data",
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A function: its arguments, what it does first, what it returns, what it changes then."""

    arguments: ast.arguments
    before: tuple[ast.stmt, ...]
    value: ast.expr
    after: tuple[ast.stmt, ...]


@dataclass
class _Scene:
    """Where statements are read: local variables as expressions, what was done so far."""

    variables: dict[str, ast.expr]
    parameters: set[str]
    before: list[ast.stmt] = field(default_factory=list)
    after: list[ast.stmt] = field(default_factory=list)
    inside: int = 0  # how many calls of helpers deep
    repeated: bool = False  # in a comprehension: what is drawn there is drawn many times

    def branch(self) -> _Scene:
        """The same for one branch of a condition, with nothing done yet."""
        variables = dict(self.variables)
        return _Scene(variables, self.parameters, inside=self.inside, repeated=self.repeated)


class Forms:
    """Makes forms of functions that may call `helpers`: functions of their file."""

    def __init__(self, helpers: Mapping[str, ast.FunctionDef]) -> None:
        self.helpers = helpers
        self._draws = 0
        self._sources = 0
        self._effects = 0

    def of(self, function: ast.FunctionDef, like: ast.arguments | None = None) -> Form:
        """The form of a function; its arguments get the names that `like` has for them."""
        self._draws = self._sources = self._effects = 0
        arguments, renamed = renamed_like(function.args, like)
        parameters = {argument.arg for argument in all_arguments(arguments)}
        scene = _Scene({old: name(new) for old, new in renamed.items()}, parameters)
        value = self._run(function.body, scene) or ast.Constant(value=None)
        form = Form(arguments, tuple(scene.before), value, tuple(scene.after))
        if sum(size(node) for node in (*form.before, form.value, *form.after)) > MAX_NODES:
            raise NoForm
        return form

    # --- statements -----------------------------------------------------------------------

    def _run(self, statements: Sequence[ast.stmt], scene: _Scene) -> ast.expr | None:
        """Read statements in order; what they return, or None when they do not."""
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            match statement:
                case ast.Return(value=value):
                    return ast.Constant(value=None) if value is None else self._value(value, scene)
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.With(items=[ast.withitem(context_expr=context)], body=body) if (
                    _only_silences(context)
                ):
                    return self._run([*body, *rest], scene)
                case ast.If():
                    chosen = self._chosen(statement, scene)
                    if chosen is not None:
                        return self._run([*chosen, *rest], scene)
                    if _is_guard(statement):
                        test = self._value(statement.test, scene)
                        body = [self._in_statement(item, scene) for item in statement.body]
                        scene.before.append(ast.If(test=test, body=body, orelse=[]))
                    elif not all(_is_simple(item) for item in ast.walk(statement)):
                        self._barrier(statement, scene)
                    elif any(isinstance(item, ast.Return) for item in ast.walk(statement)):
                        return self._either(
                            statement, [*statement.body, *rest], [*statement.orelse, *rest], scene
                        )
                    else:
                        self._either(statement, statement.body, statement.orelse, scene)
                case ast.Assign(targets=[target], value=value) if _is_pattern(target):
                    self._bind(target, self._value(value, scene), scene)
                case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                    self._bind(target, self._value(value, scene), scene)
                case ast.AugAssign(target=ast.Name()):
                    self._update(statement, scene)
                case ast.Assign(targets=[ast.Attribute() as target], value=value):
                    # of a module under construction: nothing else reads or writes it here
                    scene.before.append(
                        ast.Assign(
                            targets=[self._in_target(target, scene)],
                            value=self._value(value, scene),
                            type_comment=None,
                        )
                    )
                case _:
                    self._barrier(statement, scene)
        return None

    def _chosen(self, statement: ast.If, scene: _Scene) -> list[ast.stmt] | None:
        """The branch that is taken whatever the arguments are; None when it depends on them."""
        known = truth(self._value(statement.test, scene))
        return None if known is None else statement.body if known else statement.orelse

    def _either(
        self,
        statement: ast.If,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        scene: _Scene,
    ) -> ast.expr | None:
        """Both branches of a condition; variables become conditional expressions."""
        test = self._value(statement.test, scene)
        yes, no = scene.branch(), scene.branch()
        values = self._run(body, yes), self._run(orelse, no)
        for source, target in ((yes.before, no.before), (yes.after, no.after)):
            if source or target:
                whole = ast.If(test=test, body=source or [ast.Pass()], orelse=target)
                (scene.before if source is yes.before else scene.after).append(whole)
        for local in {**yes.variables, **no.variables}:
            ours, theirs = yes.variables.get(local), no.variables.get(local)
            scene.variables[local] = choice(test, ours or theirs, theirs or ours)
        if values == (None, None):
            return None
        nothing = ast.Constant(value=None)
        return choice(test, values[0] or nothing, values[1] or nothing)

    def _bind(self, target: ast.expr, value: ast.expr, scene: _Scene) -> None:
        if isinstance(target, ast.Name):
            scene.variables[target.id] = value
            return
        assert isinstance(target, (ast.Tuple, ast.List))
        value = self._unpacked(value, len(target.elts), scene)
        for position, inner in enumerate(target.elts):
            self._bind(inner, item_of(value, position), scene)

    def _unpacked(self, value: ast.expr, count: int, scene: _Scene) -> ast.expr:
        """A sequence that can be taken apart, and raises like an assignment to several names."""
        if isinstance(value, (ast.Tuple, ast.List, ast.IfExp)):
            return value
        call = ast.Call(func=name("_Unpacked"), args=[value, ast.Constant(count)], keywords=[])
        if not (isinstance(value, ast.Attribute) and value.attr == "shape"):
            return call
        # a size is read by its place in the shape elsewhere: that is the form for all
        guard = ast.Expr(value=call)
        if key(guard) not in {key(done) for done in scene.before}:
            scene.before.append(guard)
        return value

    def _update(self, statement: ast.AugAssign, scene: _Scene) -> None:
        """`x += y`: another value, and where x is an argument, a change to it afterwards."""
        assert isinstance(statement.target, ast.Name)
        local = statement.target.id
        old = scene.variables.get(local)
        if old is None:
            raise NoForm
        operand = self._value(statement.value, scene)
        new = simplified(ast.BinOp(left=old, op=statement.op, right=operand))
        if isinstance(old, ast.Name) and old.id in scene.parameters:
            target = name(old.id, stored=True)
            scene.after.append(ast.AugAssign(target=target, op=statement.op, value=operand))
            for other, value in scene.variables.items():
                if isinstance(value, ast.Name) and value.id == old.id:
                    scene.variables[other] = new
        elif _may_share(old):
            raise NoForm
        scene.variables[local] = new

    def _barrier(self, statement: ast.stmt, scene: _Scene) -> None:
        """A statement that stays as it is, with all variables before it."""
        if scene.inside or scene.after:
            raise NoForm
        for local, value in list(scene.variables.items()):
            if not (isinstance(value, ast.Name) and value.id == local):
                scene.before.append(assignment(local, value))
                scene.variables[local] = name(local)
        scene.before.append(statement)
        for local in names_bound(statement):
            scene.variables[local] = name(local)

    def _in_statement(self, statement: ast.stmt, scene: _Scene) -> ast.stmt:
        """A statement without bindings, its variables put in."""
        made = rebuilt(
            statement,
            lambda node: self._value(node, scene) if isinstance(node, ast.expr) else node,
        )
        assert isinstance(made, ast.stmt)
        return made

    def _in_target(self, target: ast.Attribute, scene: _Scene) -> ast.Attribute:
        return ast.Attribute(
            value=self._value(target.value, scene), attr=target.attr, ctx=ast.Store()
        )

    # --- expressions ----------------------------------------------------------------------

    def _value(self, node: ast.expr, scene: _Scene) -> ast.expr:
        """An expression with local variables put in and helpers called in place."""
        if isinstance(node, ast.Name):
            return scene.variables.get(node.id, node)
        if isinstance(node, ast.NamedExpr):
            raise NoForm
        if isinstance(
            node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        ):
            inner = scene.branch()
            inner.repeated = True
            for bound in names_bound(node):
                inner.variables.pop(bound, None)
            made = rebuilt(node, lambda child: self._below(child, inner))
            assert isinstance(made, ast.expr)
            if not scene.repeated and not isinstance(node, ast.Lambda) and _draws_in(made):
                self._draws += 1
                return self._once(f"_draw{self._draws}", made, scene)
            return made
        made = rebuilt(node, lambda child: self._below(child, scene))
        assert isinstance(made, ast.expr)
        if isinstance(made, ast.Call):
            return self._call(made, scene)
        return simplified(made)

    def _below(self, node: ast.AST, scene: _Scene) -> ast.AST:
        if isinstance(node, ast.expr):
            return self._value(node, scene)
        return rebuilt(node, lambda child: self._below(child, scene))  # type: ignore[no-any-return]

    def _call(self, call: ast.Call, scene: _Scene) -> ast.expr:
        function = call.func
        called = function.attr if isinstance(function, ast.Attribute) else ""
        if called in _SOURCES and not scene.repeated:
            self._sources += 1
            return self._once(f"_source{self._sources}", call, scene)
        if called in _DRAWS and not scene.repeated:
            self._draws += 1
            return self._once(f"_draw{self._draws}", call, scene)
        if called.endswith("_") and not called.endswith(
            "__"
        ):  # PyTorch's names for changes in place
            if scene.repeated:
                raise NoForm
            self._effects += 1
            return self._once(f"_effect{self._effects}", call, scene)
        if isinstance(function, ast.Lambda):
            given = given_by(function.args, call)
            if given is not None:
                inner = _Scene(
                    given, scene.parameters, scene.before, scene.after, scene.inside, scene.repeated
                )
                return self._value(function.body, inner)
        if isinstance(function, ast.Name) and function.id in self.helpers:
            return self._in_place(self.helpers[function.id], call, scene)
        return canonical_call(call)

    def _once(self, local: str, call: ast.expr, scene: _Scene) -> ast.expr:
        scene.before.append(assignment(local, call))
        return name(local)

    def _in_place(self, helper: ast.FunctionDef, call: ast.Call, scene: _Scene) -> ast.expr:
        """What a helper returns, or the call as it is when that is no expression."""
        given = given_by(helper.args, call)
        if given is None or scene.inside >= MAX_DEPTH or scene.repeated:
            return call
        inner = _Scene(given, scene.parameters, inside=scene.inside + 1)
        counted = self._draws, self._sources, self._effects
        try:
            value = self._run(helper.body, inner) or ast.Constant(value=None)
        except NoForm:
            self._draws, self._sources, self._effects = counted
            return call
        scene.before += inner.before
        scene.after += inner.after
        return value


def _is_pattern(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(_is_pattern(inner) for inner in target.elts)
    return isinstance(target, ast.Name)


def _only_silences(context: ast.expr) -> bool:
    """`with np.errstate(…)`: changes what is warned of, not what comes out."""
    function = context.func if isinstance(context, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in ("errstate", "catch_warnings")


def _is_guard(statement: ast.If) -> bool:
    return not statement.orelse and all(isinstance(item, ast.Raise) for item in statement.body)


def _is_simple(node: ast.AST) -> bool:
    """Whether a part of a condition leaves nothing behind but local variables."""
    if not isinstance(node, ast.stmt):
        return True
    if isinstance(node, ast.Assign):
        return len(node.targets) == 1 and _is_pattern(node.targets[0])
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, (ast.If, ast.Return, ast.Pass))


def _draws_in(node: ast.AST) -> bool:
    """Whether random numbers are drawn somewhere in an expression."""
    return any(isinstance(part, ast.Attribute) and part.attr in _DRAWS for part in ast.walk(node))


def _may_share(value: ast.expr) -> bool:
    """Whether an expression may be a view of something else."""
    if isinstance(value, ast.Call):
        function = value.func
        return isinstance(function, ast.Attribute) and function.attr in _VIEWS
    if isinstance(value, ast.Attribute):
        return value.attr in _VIEWS
    return isinstance(value, (ast.Subscript, ast.IfExp, ast.Name))
