"""Which file counts, which of its statements, and what bad files are told."""

import json
import os
import textwrap
import time
import warnings

import nbformat
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from autograder import files as reading
from autograder.files import MADE_BY_US, MAX_SOURCE, Unreadable
from autograder.submission import choose, is_touched, read

STUB = "def softmax(scores):\n    '''Doc.'''\n    # YOUR CODE HERE\n    raise NotImplementedError()"
GOOD = "def softmax(scores):\n    return scores"
NAMES, ANSWERS = ("softmax", "attend"), ("q_kind",)


def notebook(*sources, metadata=None, grade_ids=(), **more):
    cells = [
        {
            "cell_type": "code",
            "source": source,
            "metadata": {"nbgrader": {"grade_id": name}} if name else {},
            "outputs": [],
            "execution_count": None,
        }
        for source, name in zip(sources, [*grade_ids, *[None] * len(sources)], strict=False)
    ]
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata or {}, "cells": cells, **more}
    return json.dumps(book).encode()


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def write(folder, data, name="ps.py"):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def module(folder, source):
    return read(write(folder, source))


def kept(submission, *names):
    """The source of the slice."""
    return [submission.statements[i].source for i in submission.slice_for(names)]


def refused(folder, data, name="ps.ipynb"):
    with pytest.raises(Unreadable) as problem:
        read(write(folder, data, name))
    return str(problem.value)


class TestSlices:
    """The backward slice: what a name depends on, and nothing else."""

    def test_other_statements_are_dropped(self, folder):
        submission = module(
            folder,
            """
import numpy as np
import matplotlib.pyplot as plt
print("hello")
scale = 2
X = np.random.randn(1000, 1000)
def helper(x): return x * scale
for epoch in range(10**9):
    X = X @ X
while True:
    pass
plt.plot(X)
plt.show()
def attend(x): return helper(np.asarray(x))
attend(X)
assert attend(X) is not None
if __name__ == "__main__":
    scale = input()
""",
        )
        assert kept(submission, "attend") == [
            "import numpy as np",
            "scale = 2",
            "def helper(x): return x * scale",
            "def attend(x): return helper(np.asarray(x))",
        ]

    def test_every_binding_of_a_name_is_kept_in_order(self, folder):
        source = "scale = 1\ndef f(): return scale\nscale = 2\nother = 3\nscale += 1\ndef f(): pass"
        assert kept(module(folder, source), "f") == [
            "scale = 1",
            "def f(): return scale",
            "scale = 2",
            "scale += 1",
            "def f(): pass",
        ]

    @pytest.mark.parametrize(
        "source",
        [
            "from functools import partial\ndef g(x, axis): pass\nf = partial(g, axis=0)",
            "K = 1\nf = lambda x: x + K",
            "K = 1\ndef f(x, k=K): return k",
            "def f(n): return g(n - 1)\ndef g(n): return f(n - 1)",
            "class f:\n    pass\ndef forward(self): pass\nf.forward = forward",
            "class f:\n    pass\ndef forward(self): pass\n(f.forward, f.other) = forward, 1",
            "try:\n    import a\nexcept ImportError:\n    a = None\ndef f(): return a",
            "import sys\nif sys.version > '3':\n    def f(): pass\nelse:\n    f = None",
            "def deco(g): return g\n@deco\ndef f(): pass",
            "cache = {}\ndef f(x):\n    global cache\n    cache[x] = 1",
            "def fill():\n    global table\n    table = 1\ndef f(): return table",
            "table = [0] * 3\ntable[1] = 2\ndef f(): return table",
            "from typing import Any\ndef f(x: Any) -> Any: return x",
            "import dataclasses as d\n@d.dataclass\nclass A:\n    x: int\ndef f(): return A(1)",
            "async def f(): return await g()\nasync def g(): pass",
            "if (n := 3) > 2:\n    pass\ndef f(): return n",
            "with open('x') as file:\n    text = file.read()\ndef f(): return text",
            "match 3:\n    case f: pass",
            "a = 1; b = a; f = b",
        ],
    )
    def test_all_of_it_is_needed(self, folder, source):
        submission = module(folder, source)
        assert submission.slice_for(["f"]) == tuple(range(len(submission.statements)))

    def test_a_star_import_is_kept_only_where_a_name_has_no_other_source(self, folder):
        source = (
            "from numpy import *\nimport math\ndef f(x): return exp(x)\ndef g(x): return math.e"
        )
        submission = module(folder, source)
        assert kept(submission, "f") == ["from numpy import *", "def f(x): return exp(x)"]
        assert kept(submission, "g") == ["import math", "def g(x): return math.e"]

    def test_what_holds_for_the_whole_file_is_kept(self, folder):
        source = "from __future__ import annotations\nimport t\ndef f(x: t.T) -> U: return x"
        assert kept(module(folder, source), "f") == [
            "from __future__ import annotations",
            "def f(x: t.T) -> U: return x",
        ]
        assert module(folder, source).slice_for(["nothing"]) == ()

    def test_an_import_belongs_to_those_that_use_it(self, folder):
        submission = module(folder, "import torch\ndef f(): return torch\ndef g(): return 1")
        assert kept(submission, "g") == ["def g(): return 1"]
        assert kept(submission, "f", "g") == [item.source for item in submission.statements]

    def test_a_long_chain_takes_no_longer_than_its_length(self, folder):
        source = "\n".join(f"def f{i}(): return f{i + 1}()" for i in range(10_000))
        submission = module(folder, source)
        start = time.process_time()
        assert len(submission.slice_for(["f0"])) == 10_000
        assert time.process_time() - start < 1.0

    @pytest.mark.parametrize(
        "source",
        [
            "table = {}\nfor i in range(3):\n    table[i] = i\ndef f(): return table",
            "table = []\nfor i in range(3):\n    table.append(i)\ndef f(): return table",
            "table = []\ntable.append(1)\ndef f(): return table",
            "class f: pass\nsetattr(f, 'forward', None)",
            "class f: pass\nf.register()",
            "(f := 3)",
            "for f in (1, 2): pass",
            "n = 1\nwhile n < 5: n += 1\ndef f(): return n",
            "table = {0: 1}\ndel table[0]\ndef f(): return table",
            "def torch():\n    import torch\n\ndef f(): return torch\ntorch.register()",
        ],
    )
    def test_what_is_left_out_may_matter(self, folder, source):
        assert module(folder, source).left_out_for(["f"])

    @pytest.mark.parametrize(
        "source",
        [
            "def f(): pass\nprint(f())\nx = f()\nx.sort()",
            "import numpy as np\ndef f(): return np\nnp.random.seed(0)",
            "try:\n    import torch\nexcept ImportError:\n    raise\ndef f(): return torch\n"
            "torch.manual_seed(0)",
            "def f(x): return x\nfor i in range(3): f(i)",
            "table = {}\ntable[0] = 1\ndef f(): return table",
            "n = 1\ndef f(): return n\nif __name__ == '__main__':\n    n = 2",
            "def f(): return g()\ndef g(): pass\ndef h(table): table.append(g)",
        ],
    )
    def test_nothing_of_it_is_left_out(self, folder, source):
        assert not module(folder, source).left_out_for(["f"])


class TestWritten:
    @pytest.mark.parametrize(
        "source",
        [
            GOOD,
            "softmax = lambda scores: scores",
            "from functools import partial\nsoftmax = partial(print)",
            "class softmax:\n    def __call__(self, x): return x",
            "if True:\n    def softmax(x): return x",
            f"if fast:\n    def softmax(x): return x\nelse:\n{textwrap.indent(STUB, '    ')}",
            "try:\n    pass\nfinally:\n    def softmax(x): return x",
            "try:\n    def softmax(x): return x\nexcept* ValueError:\n    pass",
            "async def softmax(x): return x",
            "from other import softmax",
            "def softmax(x):\n    pass",
            "def softmax(x):\n    x = 1\n    raise NotImplementedError",
            "def softmax(x):\n    raise ValueError",
            f"{STUB}\nsoftmax = partial(g)",
            f"{STUB}\n{GOOD}",
            "def softmax(x)\n    return x",
            f"{STUB}\ndef softmax(x)\n    return x",
        ],
    )
    def test_yes(self, folder, source):
        assert module(folder, source).written("softmax")

    @pytest.mark.parametrize(
        "source",
        [
            "",
            STUB,
            "def softmax(x): raise NotImplementedError",
            "def softmax(x): raise NotImplementedError('later')",
            "class softmax:\n    size = 3\n    def forward(self): raise NotImplementedError",
            f"{GOOD}\n{STUB}",
            f"softmax = 3\n{STUB}",
            "del softmax",
            "softmax: object",
            "print(softmax)",
            "def other():\n    def softmax(x): return x",
            "class A:\n    def softmax(self): return 1",
        ],
    )
    def test_no(self, folder, source):
        submission = module(folder, source)
        assert not submission.written("softmax")
        assert not submission.stands("softmax")

    def test_a_broken_cell_costs_nothing_where_another_definition_stands(self, folder):
        book = read(write(folder, notebook(GOOD, "def softmax(x:\n  pass"), "ps.ipynb"))
        assert book.stands("softmax")
        assert book.broken_cell("softmax").label == "cell 2"

    def test_a_stub_that_comes_after_the_work(self, folder):
        own, stub = module(folder, f"{GOOD}\nx = 1\n{STUB}").hidden_by_stub("softmax")
        assert (own.line, stub.line) == (1, 4)
        assert module(folder, f"{STUB}\n{GOOD}").hidden_by_stub("softmax") is None
        assert module(folder, STUB).hidden_by_stub("softmax") is None
        assert module(folder, "").hidden_by_stub("softmax") is None

    def test_the_last_definition(self, folder):
        submission = module(
            folder, "def f(a): pass\nif x:\n    def f(b): pass\nf = 3\nclass A: pass"
        )
        assert submission.definition("f").args.args[0].arg == "b"
        assert submission.definition("A").name == "A"
        assert submission.definition("x") is None

    def test_branches_without_end(self, folder):
        source = "if a:\n    pass\n" + "elif b:\n    pass\n" * 900 + "else:\n    def f(): return 1"
        assert module(folder, source).written("f")


class TestAnswers:
    @pytest.mark.parametrize(
        ("source", "answer"),
        [
            ("q_kind = 'a'", "'a'"),
            ("q_kind = 'a'\nq_kind = 'b'", "'b'"),
            ("q_kind = 'a'\nq_kind = None", "None"),
            ("q_kind: str = 'a'", "'a'"),
            ("q_other = q_kind = 3", "3"),
            ("q_kind, q_other = 1, 2", "1"),
            ("a[0] = q_kind = b, c = 1, 2", "(1, 2)"),
            ("[q_other, q_kind] = (1, 2)", "2"),
            ("q_kind, *rest = 1, 2", "(1, 2)"),
            ("q_kind = f(3)", "f(3)"),
            ("q_kind = 'a'\nx = q_kind", "'a'"),
            ("q_kind = 'a'\nq_kind: str", "'a'"),
            ("q_kind = 3 = 4", "q_kind"),
            ("q_kind = 1,024", "q_kind"),
        ],
    )
    def test_is_an_expression(self, folder, source, answer):
        import ast

        assert ast.unparse(module(folder, source).answer("q_kind")) == answer

    @pytest.mark.parametrize("source", ["", "x = q_kind", "q_kind += 1", "def q_kind(): pass"])
    def test_there_is_none(self, folder, source):
        assert module(folder, source).answer("q_kind") is None


class TestForbidden:
    FORBIDDEN = ("scipy.special.softmax", "torch.nn.functional.scaled_dot_product_attention")

    def uses(self, folder, source):
        return module(folder, source).uses("f", self.FORBIDDEN)

    @pytest.mark.parametrize(
        "source",
        [
            "import scipy.special\ndef f(x): return scipy.special.softmax(x)",
            "import scipy\ndef f(x): return scipy.special.softmax(x)",
            "import scipy.special as sp\nf = sp.softmax",
            "from scipy import special as sp\ndef f(x): return sp.softmax(x)",
            "from scipy.special import softmax as sm\ndef f(x): return sm(x)",
            "def f(x):\n    from scipy.special import softmax\n    return softmax(x)",
            "from scipy.special import softmax\ndef g(x): return softmax(x)\ndef f(x): return g(x)",
            "from scipy.special import softmax as f",
            "from scipy.special import *\ndef f(x): return softmax(x)",
            "import scipy.special\nsp = scipy.special\ndef f(x): return sp.softmax(x)",
            "try:\n    from scipy.special import softmax\nexcept ImportError:\n    pass\n"
            "def f(x): return softmax(x)",
        ],
    )
    def test_is_seen(self, folder, source):
        assert self.uses(folder, source) == "scipy.special.softmax"

    @pytest.mark.parametrize(
        "source",
        [
            "def softmax(x): return x\ndef f(x): return softmax(x)",
            "import scipy.special\ndef g(x): return scipy.special.softmax(x)\ndef f(x): return x",
            "from scipy.special import softmax\nsoftmax = g\ndef f(x): return softmax(x)",
            "from scipy.special import softmax, expit\ndef f(x): return expit(x)",
            "from scipy.special import *\ndef softmax(x): return x\ndef f(x): return softmax(x)",
            "import scipy.special\ndef f(x): return scipy.special.softmaxes(x)",
            "def f(scipy): return scipy.special.softmax",
        ],
    )
    def test_is_not_used(self, folder, source):
        assert self.uses(folder, source) is None

    def test_long_chains(self, folder):
        assert self.uses(folder, "import a\ndef f(): return a" + ".b" * 900) is None


class TestNotebooks:
    def test_cells_have_their_place(self, folder):
        book = {
            "nbformat": 4,
            "cells": [
                {"cell_type": "markdown", "source": ["# text"], "metadata": {}},
                {"cell_type": "code", "source": ["x = 1\n", "y = 2"], "metadata": {}},
                {"cell_type": "raw", "source": "z = 3"},
                {"cell_type": "code", "source": "def f(): pass\r\nw = 3"},
            ],
        }
        submission = read(write(folder, json.dumps(book), "ps.ipynb"))
        assert [(item.cell, item.line) for item in submission.statements] == [
            ("cell 2", 1),
            ("cell 2", 2),
            ("cell 4", 1),
            ("cell 4", 2),
        ]
        assert (submission.kind, submission.made_from, submission.remarks) == ("notebook", None, ())

    def test_a_grade_id_is_shown_but_not_trusted(self, folder):
        ids = ["softmax", "a\0b\n\ud800" + "x" * 1000]
        data = notebook("x = 1", "y = 2", grade_ids=ids)
        cells = read(write(folder, data, "ps.ipynb")).cells
        assert cells[0].label == "cell 1 (softmax)"
        assert cells[0].grade_id == "softmax"
        assert len(cells[1].label) < 80
        compile("1", cells[1].label, "exec")

    def test_a_byte_order_mark(self, folder):
        assert read(write(folder, b"\xef\xbb\xbf" + notebook(GOOD), "ps.ipynb")).written("softmax")

    def test_outputs_are_not_read(self, folder):
        broken = '"outputs": [{"output_type": 3, "data": {"a": [[[[]]]], "b": 1e999}}]'
        data = notebook(GOOD).decode().replace('"outputs": []', broken)
        assert read(write(folder, data, "ps.ipynb")).written("softmax")

    def test_fifty_megabytes_of_outputs(self, folder):
        picture = "A" * 25_000_000
        output = {"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}}
        book = json.loads(notebook(GOOD, "x = 1"))
        for cell in book["cells"]:
            cell["outputs"] = [output]
        path = write(folder, json.dumps(book), "ps.ipynb")
        assert path.stat().st_size > 50_000_000
        start = time.process_time()
        assert read(path).written("softmax")
        assert time.process_time() - start < 2.0

    @pytest.mark.parametrize(
        "value", ["NaN", "[Infinity, -Infinity]", r'"\ud800"', r'"a\\\ud83d\ude00\udc00"']
    )
    def test_what_python_writes_and_json_does_not_know(self, folder, value):
        data = notebook(GOOD, 'x = "NaN \\\\ud800 😀"').decode()
        data = data.replace('"outputs": []', f'"outputs": [{value}]')
        submission = read(write(folder, data, "ps.ipynb"))
        assert submission.written("softmax")
        assert submission.cells[1].source == 'x = "NaN \\\\ud800 😀"'

    def test_half_a_character_in_the_source(self, folder):
        submission = read(write(folder, notebook(GOOD, 'x = "\ud800"'), "ps.ipynb"))
        assert submission.cells[1].source == 'x = "\ufffd"'

    @pytest.mark.parametrize(("version", "end"), [(2, ""), (3, "\n")])
    def test_an_old_notebook(self, folder, version, end):
        cells = [
            {"cell_type": "code", "input": GOOD, "language": "python", "outputs": []},
            {"cell_type": "markdown", "source": "text", "metadata": {}},
            {
                "cell_type": "code",
                "input": [f"x = 1{end}", "y = 2"],
                "outputs": [],
                "language": "python",
            },
        ]
        book = {"nbformat": version, "nbformat_minor": 0, "metadata": {"name": "ps"},
                "worksheets": [{"cells": cells, "metadata": {}}]}  # fmt: skip
        submission = read(write(folder, json.dumps(book), "ps.ipynb"))
        assert submission.written("softmax")
        assert submission.bound == {"softmax", "x", "y"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            upgraded = nbformat.reads(json.dumps(book), as_version=4)
        again = read(write(folder, nbformat.writes(upgraded), "ps.ipynb"))
        assert [cell.source for cell in again.cells] == [cell.source for cell in submission.cells]
        assert [item.cell for item in again.statements] == [
            item.cell for item in submission.statements
        ]

    def test_a_notebook_that_nbformat_wrote(self, folder):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(GOOD)])
        assert read(write(folder, nbformat.writes(book), "ps.ipynb")).written("softmax")

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            ("def softmax(): pass", "JSON is malformed: invalid character"),
            ("{", "Input data was truncated"),
            ("[]", "Expected `object`, got `array`"),
            ("{}", "it has no list of cells"),
            ('{"nbformat": 4, "cells": null}', "it has no list of cells"),
            ('{"nbformat": 3}', "it has no list of cells"),
            ('{"nbformat": 3, "worksheets": [3]}', "Expected `object`, got `int`"),
            ('{"nbformat": 4, "cells": 3}', "Expected `array | null`, got `int`"),
            ('{"nbformat": 4, "cells": [{}]}', "missing required field `cell_type`"),
            ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": 3}]}', "got `int`"),
            (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "\xff"}]}', "UTF-8"),
            ('{"x": ' + "[" * 5000 + "]" * 5000 + "}", "recursion"),
        ],
    )
    def test_no_notebook(self, folder, data, why):
        message = refused(folder, data)
        assert message.startswith("ps.ipynb is not a notebook (")
        assert why in message
        assert message.endswith("); save it in JupyterLab and hand it in again")

    @pytest.mark.parametrize("data", ["", " \n\t", notebook(), notebook("", "  ")])
    def test_nothing_in_it(self, folder, data):
        submission = read(write(folder, data, "ps.ipynb"))
        assert not submission.bound
        assert submission.remarks == ("ps.ipynb holds no code: all exercises count as missing",)


class TestModules:
    @pytest.mark.parametrize(
        "data",
        [
            GOOD.encode(),
            b"\xef\xbb\xbf" + GOOD.encode(),
            GOOD.replace("\n", "\r\n").encode(),
            GOOD.replace("\n", "\r").encode(),
            b"# coding: latin-1\nx = '\xe9'\n" + GOOD.encode(),
            "# -*- coding: cp1252 -*-\nx = '€'\n".encode("cp1252") + GOOD.encode(),
        ],
    )
    def test_text_as_python_reads_it(self, folder, data):
        submission = read(write(folder, data))
        assert submission.stands("softmax")
        assert submission.statements[-1].source == GOOD

    @pytest.mark.parametrize(
        "data",
        [
            b"x = '\xe9'\n" + GOOD.encode(),
            GOOD.encode("utf-16"),
            b"# coding: nonsense\n",
            b"# coding: idna\nx = '\xff'\n",
            b"# coding: punycode\n" + b"a" * 100,
            b"# coding: unicode-escape\n",
            b"# coding: rot13\n",
            b"# coding: zlib\n",
            b"\xef\xbb\xbf# coding: latin-1\n",
        ],
    )
    def test_not_text(self, folder, data):
        assert refused(folder, data, "ps.py") == "ps.py is not text in UTF-8; save it as UTF-8"

    def test_null_bytes_cost_what_they_stand_in(self, folder):
        submission = module(folder, GOOD + "\nx = '\0'\ndef attend(): return 1\n")
        assert submission.bound == {"softmax", "attend"}
        assert submission.remarks == (
            "line 3 of ps.py is not Python (it holds a character that no text has): that part "
            "was left out",
        )

    def test_nothing_in_it(self, folder):
        submission = module(folder, "\n\n")
        assert submission.remarks == ("ps.py holds no code: all exercises count as missing",)

    def test_at_most_three_remarks_on_broken_parts(self, folder):
        submission = module(folder, "def f(\n" * 5)
        assert len(submission.remarks) == 4
        assert submission.remarks[-1] == "2 more like that were left out too"


class TestSize:
    LONG = "ps.{} holds more than 2 MB of source code; hand in the exercises alone"

    def test_two_megabytes_of_source(self, folder):
        text = "#" * (MAX_SOURCE - len(GOOD) - 1) + "\n" + GOOD
        assert module(folder, text).written("softmax")
        assert refused(folder, text + " ", "ps.py") == self.LONG.format("py")
        assert refused(folder, notebook(text, "\n")) == self.LONG.format("ipynb")
        assert refused(folder, "ü" * (8 * MAX_SOURCE), "ps.py") == self.LONG.format("py")

    def test_text_around_the_code_does_not_count(self, folder):
        book = json.loads(notebook(GOOD))
        book["cells"].append({"cell_type": "markdown", "source": "text " * MAX_SOURCE})
        assert read(write(folder, json.dumps(book), "ps.ipynb")).written("softmax")

    def test_a_file_that_is_too_large_is_not_opened(self, folder):
        path = folder / "ps.ipynb"
        with path.open("wb") as file:
            file.truncate(reading.MAX_FILE + 1)
        with pytest.raises(Unreadable) as problem:
            read(path)
        assert str(problem.value) == (
            "ps.ipynb is larger than 256 MB; clear its outputs and hand it in again"
        )


class TestFiles:
    def test_neither_a_link_nor_a_folder_nor_a_pipe(self, folder):
        target = write(folder, GOOD, "target.py")
        (folder / "link.py").symlink_to(target)
        (folder / "dangling.py").symlink_to(folder / "nowhere")
        (folder / "folder.py").mkdir()
        if hasattr(os, "mkfifo"):
            os.mkfifo(folder / "pipe.py")
        for name in ("link.py", "dangling.py", "folder.py", "pipe.py", "nothing.py"):
            with pytest.raises(Unreadable) as problem:
                read(folder / name)
            assert str(problem.value) == f"{name} is not a regular file; hand in the file itself"

    def test_a_file_that_the_system_refuses(self, folder, monkeypatch):
        path = write(folder, GOOD)

        def fail(self):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(type(path), "read_bytes", fail)
        with pytest.raises(Unreadable) as problem:
            read(path)
        assert str(problem.value) == (
            "ps.py could not be read (Permission denied); hand it in again"
        )

    def test_a_name_with_spaces_and_chinese(self, tmp_path):
        folder = tmp_path / "作业 一 (final)"
        folder.mkdir()
        chosen = pick(folder, ipynb=notebook(GOOD), assignment="注意力 1")
        assert chosen.submission.path.name == "注意力 1.ipynb"


def pick(folder, ipynb=None, py=None, assignment="ps"):
    for data, suffix in ((ipynb, "ipynb"), (py, "py")):
        if data is not None:
            write(folder, data, f"{assignment}.{suffix}")
    return choose(folder, assignment, NAMES, ANSWERS)


class TestChoice:
    FRESH_BOOK, FRESH_MODULE = notebook(STUB, "q_kind = None"), f"{STUB}\nq_kind = None"
    WORKED_BOOK, WORKED_MODULE = notebook(GOOD), GOOD

    @pytest.mark.parametrize(
        ("ipynb", "py", "wanted"),
        [
            (WORKED_BOOK, None, "ps.ipynb"),
            (None, WORKED_MODULE, "ps.py"),
            (FRESH_BOOK, FRESH_MODULE, "ps.ipynb"),
            (FRESH_BOOK, None, "ps.ipynb"),
            (WORKED_BOOK, FRESH_MODULE, "ps.ipynb"),
            (FRESH_BOOK, WORKED_MODULE, "ps.py"),
            (FRESH_BOOK, f"{STUB}\nq_kind = 'a'", "ps.py"),
            (FRESH_BOOK, "def softmax(x:\n  pass", "ps.py"),
            (notebook(STUB, "q_kind = 0"), FRESH_MODULE, "ps.ipynb"),
            (notebook(STUB, "q_kind = ''", "q_kind = ...", "q_kind = ' '"), GOOD, "ps.py"),
            ("", WORKED_MODULE, "ps.py"),
        ],
    )
    def test_the_one_that_was_worked_on(self, folder, ipynb, py, wanted):
        chosen = pick(folder, ipynb, py)
        assert chosen.submission.path.name == wanted
        assert chosen.about_choice == ()

    def test_times_do_not_matter(self, folder):
        pick(folder, self.WORKED_BOOK, self.FRESH_MODULE)
        os.utime(folder / "ps.ipynb", (1, 1))
        assert choose(folder, "ps", NAMES, ANSWERS).submission.kind == "notebook"

    def test_both_worked_on(self, folder):
        chosen = pick(folder, self.WORKED_BOOK, self.WORKED_MODULE)
        assert chosen.submission.kind == "notebook"
        assert chosen.messages == (
            "both ps.ipynb and ps.py were worked on: the notebook was graded; delete it from the "
            "submission to have the module graded",
        )

    def test_one_of_them_cannot_be_read(self, folder):
        chosen = pick(folder, b"{", self.WORKED_MODULE)
        assert chosen.submission.kind == "module"
        assert chosen.messages == (
            "ps.ipynb is not a notebook (Input data was truncated); save it in JupyterLab and "
            "hand it in again",
            "ps.py was graded instead",
        )

    @pytest.mark.parametrize("py", [None, FRESH_MODULE, b"\xff"])
    def test_what_was_worked_on_cannot_be_read(self, folder, py):
        with pytest.raises(Unreadable, match=r"^ps\.ipynb is not a notebook"):
            pick(folder, b"{", py)

    def test_a_folder_of_that_name(self, folder):
        (folder / "ps.ipynb").mkdir()
        chosen = pick(folder, py=GOOD)
        assert chosen.messages == (
            "ps.ipynb is not a regular file; hand in the file itself",
            "ps.py was graded instead",
        )

    def test_a_notebook_that_we_made(self, folder):
        ours = notebook(GOOD, metadata={MADE_BY_US: "ps.py"})
        with pytest.raises(Unreadable) as problem:
            pick(folder, ours)
        assert str(problem.value) == "no ps.ipynb or ps.py was handed in"
        assert pick(folder, ours, self.WORKED_MODULE).submission.kind == "module"
        assert pick(folder, ours, self.FRESH_MODULE).messages == ()

    def test_remarks_on_the_file_follow(self, folder):
        book = notebook(GOOD, "x = (", grade_ids=[None, "scratch"])
        assert pick(folder, book).messages == (
            "line 1 of cell 2 (scratch) is not Python ('(' was never closed): that cell was "
            "left out",
        )

    def test_touched(self, folder):
        submission = module(folder, f"{STUB}\nq_kind = f()")
        assert is_touched(submission, NAMES, ANSWERS)
        assert not is_touched(submission, NAMES, [])


class TestNothingFound:
    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ([], "no ps.ipynb or ps.py was handed in"),
            (["notes.txt", "test_ps.py"], "no ps.ipynb or ps.py was handed in"),
            (
                ["ps (1).ipynb"],
                "no ps.ipynb or ps.py was handed in; found ps (1).ipynb: hand it in under the "
                "right name",
            ),
            (
                ["PS.IPYNB", "b.py", "c.py", "d.py"],
                "no ps.ipynb or ps.py was handed in; found PS.IPYNB, b.py, c.py: hand it in under "
                "the right name",
            ),
            (
                ["inner/ps.ipynb"],
                "no ps.ipynb or ps.py was handed in; found inner/ps.ipynb: hand it in outside the "
                "folder",
            ),
        ],
    )
    def test_says_what_there_is(self, folder, files, message):
        for name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            write(folder, GOOD, name)
        with pytest.raises(Unreadable) as problem:
            choose(folder, "ps", NAMES, ANSWERS)
        assert str(problem.value) == message

    def test_names_are_made_safe(self, folder):
        write(folder, GOOD, "a\x1b[31m\n.py")
        os.close(os.open(os.fsencode(folder) + b"/\xff.py", os.O_CREAT))
        with pytest.raises(Unreadable) as problem:
            choose(folder, "ps", NAMES, ANSWERS)
        assert "\x1b" not in str(problem.value)
        str(problem.value).encode()

    def test_a_folder_that_the_system_refuses(self, folder, monkeypatch):
        def fail(self, pattern):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(type(folder), "glob", fail)
        with pytest.raises(Unreadable, match=r"^no ps\.ipynb or ps\.py was handed in$"):
            choose(folder, "ps", NAMES, ANSWERS)

    def test_no_folder(self, folder):
        with pytest.raises(Unreadable, match=r"^no ps\.ipynb or ps\.py was handed in$"):
            choose(folder / "nowhere", "ps", NAMES, ANSWERS)


class TestAnything:
    """Whatever is handed in is read, or refused with a sentence."""

    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.binary(), st.sampled_from(["ps.ipynb", "ps.py"]))
    @example(b"\xff\xfe", "ps.py")
    @example(b'{"cells": [{"cell_type": "code", "metadata": {"nbgrader": 3}}]}', "ps.ipynb")
    @example(b'{"nbformat": 3}', "ps.ipynb")
    @example(b'{"nbformat": -1, "cells": []}', "ps.ipynb")
    def test_bytes(self, folder, data, name):
        self.accepts(folder, data, name)

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "cell_type", "source", "metadata", "nbformat", "nbgrader", "worksheets",
                 "grade_id", "outputs", "input", MADE_BY_US]
            ),
            inner,
            max_size=5,
        ),
        max_leaves=15,
    )  # fmt: skip

    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(json_values, st.sampled_from([2, 3, 4, 5]))
    def test_json(self, folder, value, version):
        book = {"nbformat": version, "cells": [value], "worksheets": [value]}
        self.accepts(folder, json.dumps(book).encode(), "ps.ipynb")
        self.accepts(folder, json.dumps(value).encode(), "ps.ipynb")

    def accepts(self, folder, data, name):
        try:
            submission = read(write(folder, data, name))
        except Unreadable as problem:
            assert str(problem).startswith(name)
            assert "\n" not in str(problem)
            return
        for answer in submission.bound:
            submission.written(answer)
            submission.answer(answer)
            submission.slice_for([answer])
            submission.left_out_for([answer])
            submission.uses(answer, ["a.b"])
        assert all(isinstance(remark, str) for remark in submission.remarks)
