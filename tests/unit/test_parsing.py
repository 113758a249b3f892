"""Cells into statements: what a notebook adds to Python, and what a syntax error costs."""

import ast
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autograder.parsing import BrokenCell, Cell, _statements_of, parse


def read(*sources, kind="notebook"):
    cells = [
        Cell(f"cell {number}", textwrap.dedent(source)) for number, source in enumerate(sources, 1)
    ]
    return parse(cells, kind)


def statements(source, kind="notebook"):
    """The statements of one cell that parses."""
    found, broken = read(source, kind=kind)
    assert broken == []
    return found


def only(source):
    (statement,) = statements(source)
    return statement


def texts(source, kind="notebook"):
    return [item.source for item in statements(source, kind)]


class TestStatements:
    def test_each_has_its_text_and_line(self):
        found = statements(
            """
            import math

            # a remark
            def area(r):
                return math.pi * r ** 2
            x = area(
                3)
            """
        )
        assert [(item.line, item.source) for item in found] == [
            (2, "import math"),
            (5, "def area(r):\n    return math.pi * r ** 2"),
            (7, "x = area(\n    3)"),
        ]
        assert {item.cell for item in found} == {"cell 1"}

    def test_a_decorator_belongs_to_its_definition(self):
        found = only("@cache\n@other(\n  1)\ndef f(): pass")
        assert (found.line, found.source[:6]) == (1, "@cache")

    def test_several_on_one_line(self):
        source = "é = 'ü'; b = 2; c = [\n    3,\n]; d = 4  # end\ne = 5;\nif x: f = 6; g = 7"
        assert texts(source) == [
            "é = 'ü'",
            "b = 2",
            "c = [\n    3,\n]",
            "d = 4  # end",
            "e = 5;",
            "if x: f = 6; g = 7",
        ]
        assert [item.line for item in statements(source)] == [1, 1, 1, 3, 4, 5]

    def test_what_is_sent_to_the_worker(self):
        wire = statements("\nx = 1")[0].to_wire()
        assert wire == {"source": "x = 1", "line": 2, "cell": "cell 1"}

    @pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
    def test_any_kind_of_line_ending(self, ending):
        found = statements(ending.join(["x = 1", "", "def f():", "    return x", "y = 2"]))
        assert [(item.line, item.source) for item in found] == [
            (1, "x = 1"),
            (3, "def f():\n    return x"),
            (5, "y = 2"),
        ]

    def test_form_feeds_and_odd_separators_are_no_lines(self):
        found = statements("x = 'a\x0bb\u2028c'\n\x0cy = 2\nz = 3")
        assert [(item.line, item.source[:1]) for item in found][::2] == [(1, "x"), (3, "z")]

    def test_warnings_of_the_parser_are_not_ours(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert only(r"pattern = '\d'").binds == {"pattern"}
            with pytest.raises(DeprecationWarning):
                warnings.warn("the filters are as before", DeprecationWarning, stacklevel=1)

    def test_threads_do_not_lose_the_filters(self):
        before = list(warnings.filters)
        cell = Cell("c", "x = '\\d'\n" * 20)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: parse([cell], "notebook"), range(50)))
        assert warnings.filters == before

    def test_what_fails_only_when_it_is_compiled_is_a_statement(self):
        found = statements("return 3\nx = 1\ndef f():\n    print(y); global y")
        assert [sorted(item.binds) for item in found] == [[], ["x"], []]


class TestNames:
    @pytest.mark.parametrize(
        ("source", "binds"),
        [
            ("def f(): pass", {"f"}),
            ("async def f(): await g()", {"f"}),
            ("class A:\n    x = 1\n    def m(self): y = 2", {"A"}),
            ("f = lambda x: x", {"f"}),
            ("import numpy as np, a.b.c", {"np", "a"}),
            ("from a import b as c, d", {"c", "d"}),
            ("from a import *", set()),
            ("a, (b, *c) = d = f()", {"a", "b", "c", "d"}),
            ("x: int = 3", {"x"}),
            ("x: int", set()),
            ("x += 1", {"x"}),
            ("del x", set()),
            ("for i in r:\n    j = i", {"i", "j"}),
            ("with f() as g: h = 1", {"g", "h"}),
            ("try:\n    import a\nexcept E as e:\n    a = None", {"a", "e"}),
            ("if True:\n    def f(): pass\nelse:\n    f = None", {"f"}),
            ("print(x := 3)", {"x"}),
            ("[y := i for i in r]", {"y"}),
            ("match v:\n    case {'a': b, **rest}: pass", {"b", "rest"}),
            ("def f():\n    global cache\n    cache = {}", {"f", "cache"}),
            ("A.forward = f", set()),
            ("table[0] = 1", set()),
        ],
    )
    def test_bound(self, source, binds):
        assert only(source).binds == binds

    @pytest.mark.parametrize(
        ("source", "reads"),
        [
            ("def f(x, y=default): return x + scale", {"default", "scale"}),
            ("def f():\n    def g(): return deep\n    return g", {"deep"}),
            (
                "@deco(a)\nclass A(Base, metaclass=M): size = size",
                {"deco", "a", "Base", "M", "size"},
            ),
            ("f = partial(g, axis=0)", {"partial", "g"}),
            ("x = [f(i) for i in r if i in k]", {"f", "r", "k"}),
            ("def f(x: Float[Array, 'n']) -> T: y: U = 1", {"Float", "Array", "T", "U"}),
            ("def f():\n    global cache\n    cache = cache or new()", {"cache", "new"}),
            ("def f():\n    import numpy as np\n    return np", set()),
        ],
    )
    def test_read(self, source, reads):
        assert only(source).reads == reads

    @pytest.mark.parametrize(
        ("source", "changes"),
        [
            ("A.forward = f", {"A"}),
            ("a.b.c[0].d = 1", {"a"}),
            ("A.x, (B[0], c) = 1, (2, 3)", {"A", "B"}),
            ("table[0] += 1", {"table"}),
            ("for i in r:\n    table[i] = i", {"table"}),
            ("if x:\n    T.a = 1", {"T"}),
            ("del table[0]", {"table"}),
            ("def f(): A.x = 1", set()),
            ("f().x = 1", set()),
            ("y = A.x", set()),
        ],
    )
    def test_changed(self, source, changes):
        assert only(source).changes == changes

    def test_postponed_annotations_are_not_read(self):
        found, _ = read("from __future__ import annotations", "def f(x: T = d) -> U: return g(x)")
        assert found[1].reads == {"d", "g"}
        assert found[1].binds == {"f"}

    def test_annotations_may_be_a_name_like_any_other(self):
        found, _ = read("from __future__ import annotations", "annotations = 1")
        assert found[1].binds == {"annotations"}


class TestMagics:
    def test_lines_that_only_a_notebook_understands(self):
        found = statements(
            """
            %matplotlib inline
            import numpy as np
            !ls "it's
            !!ls
            ?np.array
            np.array?
            np.array??
            help?
            %timeit np.ones(3)
            pip install torch
            x = 1
            """
        )
        assert [(item.line, item.source) for item in found if item.source != "pass"] == [
            (3, "import numpy as np"),
            (12, "x = 1"),
        ]

    @pytest.mark.parametrize(
        ("line", "python"),
        [
            ("x = !ls", "x = None"),
            ("x = %pwd", "x = None"),
            ("x =!ls -l | grep 'a'", "x = None"),
            ("a, b = !ls", "a, b = None"),
            ("t.files[0] = !ls", "t.files[0] = None"),
            ("%time y = f(1)", "y = f(1)"),
            ("%time", "pass"),
            ("%time !ls", "pass"),
            ("%timeit -n 3 f(1)", "pass"),
        ],
    )
    def test_assigned_and_timed(self, line, python):
        assert texts(line) == [python]

    def test_inside_blocks(self):
        source = "if x:\n    %magic\n    y = 1\nelse:\n\t!ls\nfor i in r:\n    z = !echo {i}"
        assert texts(source) == [
            "if x:\n    pass\n    y = 1\nelse:\n\tpass",
            "for i in r:\n    z = None",
        ]

    def test_a_magic_may_go_on_below(self):
        found = statements("!ls \\\n  -l \\\n  'a\nx = 1\n%time y = (2 + \\\n   3)")
        assert [(item.line, item.source) for item in found][1:] == [
            (4, "x = 1"),
            (5, "y = (2 + \\\n   3)"),
        ]

    def test_python_that_looks_like_one_is_left_alone(self):
        kept = [
            "text = '''\n%not one\n!neither\nhelp?\n'''",
            "x = (a\n% b)",
            "y = a \\\n% b",
            's = "one\\\n!two"',
            "z = [\n    # a quote ' in a remark\n    a\n% b]",
            "w = f'{a!r}' 'it\\'s' \"#\" # ' \"",
            "u = r'\\'",
            "v = {'a': [1,\n'''(''']}",
            "if a != b: c = '%s' % d",
        ]
        assert texts("%magic\n" + "\n".join(kept[:6])) == ["pass", *kept[:6]]
        assert texts("\n".join([kept[7], kept[8]]) + "\n!ls") == [kept[7], kept[8], "pass"]

    def test_a_cell_of_another_language(self):
        assert texts("%%bash\nfor i in *; do echo $i; done") == []
        assert texts("\n\n%%html\n<b>") == []

    @pytest.mark.parametrize("magic", ["time", "capture out", "prun -q"])
    def test_a_cell_that_is_only_measured(self, magic):
        found = only(f"\n%%{magic}\n\ndef f(): pass")
        assert (found.line, found.binds) == (4, {"f"})

    def test_what_timeit_binds_stays_within_it(self):
        assert texts("%%timeit\nx = 1") == []

    def test_a_cell_may_be_indented_as_a_whole(self):
        source = "\n    def f():\n        return 1\n    !ls\nx = 2\n"  # the helper would dedent it
        found, broken = parse([Cell("c", source)], "notebook")
        assert broken == []
        assert [(item.line, item.source) for item in found] == [
            (2, "def f():\n    return 1"),
            (4, "pass"),
            (5, "x = 2"),
        ]

    def test_a_syntax_error_beside_a_magic_is_the_students(self):
        found, (broken,) = read("!ls\nx = 1\ndef f(:\n    pass")
        assert (found, broken.line) == ([], 3)

    def test_a_string_that_is_never_closed_hides_nothing_wrongly(self):
        _, (broken,) = read("x = 'abc\n!ls\ny = 2")
        assert (broken.line, broken.message) == (1, "unterminated string literal")


class TestBrokenCells:
    def test_one_of_twenty(self):
        cells = [f"def f{number}(x):\n    return x" for number in range(20)]
        cells[7] = "def f7(x):\n    return x +"
        found, broken = read(*cells)
        assert len(found) == 19
        assert broken == [BrokenCell("cell 8", 2, "invalid syntax", frozenset({"f7"}))]
        assert broken[0].words == "line 2 of cell 8 is not Python (invalid syntax)"

    def test_what_it_would_have_bound(self):
        _, (broken,) = read(
            """
            def f(: pass
            async def g(): pass
            class A(B): pass
            h = 1
            i: int = 2
            if j == 3: pass
            k(l=4)
            """
        )
        assert broken.defines == {"f", "g", "A", "h", "i"}

    @pytest.mark.parametrize(
        ("source", "line", "message"),
        [
            ("x = 1\ny = 2\0", 2, "it holds a character that no text has"),
            ("x = '\ud800'", 1, "it holds a character that no text has"),
            ("x = " + "-" * 10_000 + "1", 1, "it is nested too deeply"),
            ("x = 1" + " + 1" * 10_000, 1, "it is nested too deeply"),
            ("x = " + "(" * 500, 1, "too many nested parentheses"),
            ("if x:\n  y\n z", 3, "unindent does not match any outer indentation level"),
            ("x = '''abc\n", 1, "unterminated triple-quoted string literal"),
            ("x = f'" + "{x}" * 10_000 + "'", 1, "an f-string in it is too long"),
            ("x = f'''\n" + "{x}\n" * 10_000 + "'''", 6668, "an f-string in it is too long"),
        ],
    )
    def test_where_and_why(self, source, line, message):
        found, (broken,) = parse([Cell("c", source)], "notebook")
        assert (found, broken.line, broken.message) == ([], line, message)

    def test_long_text_that_is_no_fstring(self):
        text = "x = '" + "{a}" * 30_000 + "'\ny = '''" + "f'{b}\n" * 10_000 + "'''"
        assert [sorted(item.binds) for item in statements(text)] == [["x"], ["y"]]

    def test_lone_carriage_returns_count_as_lines(self):
        _, (broken,) = read("x = 1\ry = 2\rz = (")
        assert broken.line == 3


class TestBrokenModules:
    """A module is one cell: what is broken in it costs as little as can be."""

    def names(self, source):
        found, broken = read(source, kind="module")
        return [name for item in found for name in sorted(item.binds)], broken

    def test_the_other_definitions_count(self):
        names, (broken,) = self.names(
            """
            import numpy as np

            def f(x):
                return x

            def g(x):
                return x +

            @cache
            def h(x):
                return x
            y = 3
            """
        )
        assert names == ["np", "f", "h", "y"]
        assert (broken.line, broken.defines) == (8, {"g"})

    def test_lines_are_those_of_the_file(self):
        found, _ = read("x = 1\ndef f(:\n    pass\n\ndef g():\n    pass\nz = 2", kind="module")
        assert [(item.line, item.source) for item in found] == [
            (1, "x = 1"),
            (5, "def g():\n    pass"),
            (7, "z = 2"),
        ]
        _, (broken,) = read("x = 1\ny = (1,\n  2]\nz = 3", kind="module")
        assert broken.words == (
            "line 3 of cell 1 is not Python (closing parenthesis ']' does not match opening "
            "parenthesis '(' on line 2)"
        )

    def test_a_broken_statement_between_definitions(self):
        names, (broken,) = self.names("def f():\n    pass\nprint(f(1)\ndef g():\n    pass\n")
        assert (names, broken.line) == (["f", "g"], 3)

    def test_text_that_looks_like_a_beginning(self):
        names, broken = self.names(
            '''
            """A module.

            from the left, as
            def says
            """
            def f():
                """
            class of its own
                """
                return [
            x,
            y]
            def g(:
            if f:
                z = 1
            else:
                z = 2
            '''
        )
        assert names == ["f", "z"]
        assert [item.line for item in broken] == [14]

    def test_a_docstring_that_is_never_closed(self):
        names, broken = self.names(
            "def f():\n    '''one\n    return 1\ndef g():\n    '''two'''\n    return 2\n"
        )
        assert names == ["g"]
        assert [(item.line, set(item.defines)) for item in broken] == [(2, {"f"})]

    def test_magics_cost_nothing_there_either(self):
        assert self.names("!ls\nx = 1\n%magic\n")[0] == ["x"]


def seconds(source, kind):
    """Of the processor, so that what else the machine does has no part in it."""
    took = []
    for _ in range(2):
        _statements_of.cache_clear()  # or the second run of a short source takes no time at all
        start = time.process_time()
        parse([Cell("c", source)], kind)
        took.append(time.process_time() - start)
    return min(took)


@pytest.mark.parametrize("kind", ["notebook", "module"])
@pytest.mark.parametrize(
    "line",
    [
        "x = 1\n",
        "x=1;",
        "!ls\n",
        "x = (\n",
        "def f(\n",
        'x = """\n',
        '"""\n',
        "f'{x}'\n",
        "@a\n",
        "a?\n",
        "if x: y\n",
        "%time x = \\\n",
    ],
)
def test_time_grows_with_the_length_and_no_faster(line, kind):
    """Ten times the source must not take a hundred times as long."""
    short = max(seconds(line * 300, kind), 0.005)
    assert seconds(line * 3000, kind) < 40 * short


class TestAnything:
    @settings(deadline=None)
    @given(st.lists(st.text(), max_size=4), st.sampled_from(["notebook", "module"]))
    @example(["%%"], "notebook")
    @example(["x = !\\"], "notebook")
    @example(["'''\\"], "module")
    @example(["\ufeff", "\x00", "\r"], "module")
    def test_any_text_is_read(self, sources, kind):
        found, broken = parse([Cell("c", source) for source in sources], kind)
        for item in found:
            assert isinstance(item.node, ast.stmt)
            assert item.line >= 1
        for item in broken:
            assert item.line >= 1

    pieces = st.sampled_from(
        ["def f", "(", ")", ":", "\n", "    ", "x", "=", "!ls", "%m", "'", '"""', "\\", "?", "#",
         ";", "@", "class A", "if", "else:", "f'{", "}", "import a", "1", ",", "\t", "return"]
    )  # fmt: skip

    @settings(deadline=None)
    @given(st.lists(pieces, max_size=30).map("".join), st.sampled_from(["notebook", "module"]))
    def test_any_mixture_of_python_is_read(self, source, kind):
        parse([Cell("c", source)], kind)

    @settings(deadline=None)
    @given(st.lists(pieces, max_size=20).map("".join))
    def test_python_means_what_python_says(self, source):
        """What parses as it is, is cut into statements that are the same ones."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                whole = ast.parse(source)
        except SyntaxError:
            return
        found, broken = parse([Cell("c", source)], "notebook")
        if source.lstrip().startswith("%%"):
            return
        assert broken == []
        assert [ast.dump(item.node) for item in found] == [ast.dump(node) for node in whole.body]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = [ast.dump(ast.parse(item.source).body[0]) for item in found]
        assert again == [ast.dump(node) for node in whole.body]


def test_more_statements_than_anyone_writes():
    """Their names would take minutes to look up."""
    from autograder.parsing import MAX_STATEMENTS

    many = Cell("cell 1", "a=1;" * (MAX_STATEMENTS + 1))
    statements, broken = parse([many, Cell("cell 2", "b = 2")], "notebook")
    assert [statement.binds for statement in statements] == [{"b"}]
    assert broken[0].words == "line 1 of cell 1 is not Python (it holds more than 20000 statements)"
