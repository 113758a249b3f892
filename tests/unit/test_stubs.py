"""The texts cut from an author's file."""

import ast

import pytest

from autograder import stubs
from autograder.pack import load_pack
from autograder.quiz import cells, load_quiz
from autograder.syntax import is_stub
from tests.unit.courses import DOUBLE, NAME, make_course

MODULE = '''"""A module."""

from torch import nn

from autograder import exercise


@exercise(points=1)
class Layer(nn.Module):
    """Doubles its input."""

    def __init__(self, width: int = 3) -> None:
        """Keep the width."""
        super().__init__()
        self.width = width

    def forward(self, x: "Float", mask=None) -> "Float":
        """Twice x."""
        # twice
        if mask is None:
            return 2 * x
        return x
'''


@pytest.fixture
def pack(tmp_path):
    return load_pack(make_course(tmp_path), NAME)


def test_a_solution_cell_has_the_body_between_markers(pack):
    cell = stubs.solution_cell(pack.exercises["double"], DOUBLE)
    assert (
        cell
        == '''def double(x):
    """Twice x.

    Args:
        x: shape (n,).

    Returns:
        Shape (n,).
    """
    ### BEGIN SOLUTION
    # a comment stays with the body
    return 2 * x  # (n,)
    ### END SOLUTION'''
    )


def test_a_stub_keeps_def_and_docstring(pack):
    cell = stubs.stub_cell(pack.exercises["double"], DOUBLE)
    assert cell.startswith('def double(x):\n    """Twice x.')
    assert cell.endswith("    # YOUR CODE HERE\n    raise NotImplementedError()")
    assert "BEGIN" not in cell
    assert is_stub(ast.parse(cell).body[0])


def test_a_class_has_markers_in_each_method():
    class Named:
        name = "Layer"

    cell = stubs.solution_cell(Named, MODULE)
    assert cell.count(stubs.BEGIN) == 2
    assert "def __init__(self, width=3):" in cell
    assert "def forward(self, x, mask=None):" in cell
    stub = stubs.stub_cell(Named, MODULE)
    assert stub.count("raise NotImplementedError()") == 2
    assert "2 * x" not in stub
    assert is_stub(ast.parse(stub).body[0])


def test_a_question_shows_its_options_and_no_answer(pack):
    number, choice = load_quiz(pack.folder)
    assert cells.question_cell(choice).splitlines()[-2:] == [
        '- `"linear"`: linear',
        '- `"quadratic"`: quadratic',
    ]
    assert cells.answer_cell(number) == "q_twice = None  # a number"
    assert "42" not in cells.question_cell(number)
    assert cells.echo_cell(choice) == 'read_back("kind", q_kind)'


def test_student_code_is_plain_and_renamed():
    code = stubs.student_code(DOUBLE, "squared", "double")
    assert code == "def double(x):\n    return x * x"


def test_student_code_brings_its_helpers():
    source = DOUBLE + "\nFACTOR = 3\n\ndef helper(x):\n    return FACTOR * x\n" + (
        "\n@double.misconception('Triples.', hint='Twice?')\ndef tripled(x: float) -> float:\n"
        "    '''Three times.'''\n    return helper(x) + 0 * FACTOR\n"
    )  # fmt: skip
    code = stubs.student_code(source, "tripled", "double")
    namespace = {}
    exec(code, namespace)
    assert namespace["double"](2) == 6


def test_student_code_brings_its_imports_but_not_what_a_released_module_has():
    source = "import math\nimport os\n" + DOUBLE + (
        "\n@double.misconception('A root.', hint='Twice?')\n"
        "def rooted(x):\n    return np.asarray(math.sqrt(x))\n"
    )  # fmt: skip
    code = stubs.student_code(source, "rooted", "double")
    assert code == "import math\n\n\ndef double(x):\n    return np.asarray(math.sqrt(x))"


def test_helpers_bring_theirs_and_classes_their_base():
    source = (
        MODULE
        + """

SHIFT = 2


def shifted(x):
    return x + SHIFT


def other(x):
    return x - SHIFT


class _Kept(nn.Module):
    def forward(self, x):
        return shifted(x)


@Layer.misconception("Shifts.", hint="What was to be done?")
class shifts(_Kept):
    pass
"""
    )
    code = stubs.student_code(source, "shifts", "Layer")
    names = [getattr(node, "name", "SHIFT") for node in ast.parse(code).body]
    assert names == ["SHIFT", "shifted", "_Kept", "Layer"]
