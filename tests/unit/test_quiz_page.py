"""docs/quiz.md: every question on it loads, and every answer earns what stands beside it."""

import ast
import re
from pathlib import Path

import pytest

from autograder.quiz import judge_answer, load_quiz
from autograder.quiz.kinds import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "quiz.md"
BLOCK = re.compile(r"```(yaml|python)\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.read_text("utf-8"))
LINE = re.compile(r"q_(\w+) = (.*?)\s+# (\w+) ([\d.]+)")


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quiz")
    text = "\n".join(block for language, block in BLOCKS if language == "yaml")
    (folder / "quiz.yaml").write_text(text, "utf-8")
    return {question.id: question for question in load_quiz(folder)}


def test_every_type_is_shown(questions):
    assert {question.type for question in questions.values()} == set(KINDS)
    assert any(question.draws for question in questions.values())


LINES = [line for language, block in BLOCKS if language == "python" for line in block.splitlines()]


@pytest.mark.parametrize("line", LINES)
def test_what_answers_earn(questions, line):
    name, source, outcome, score = LINE.fullmatch(line).groups()
    result = judge_answer(questions[name], ast.parse(source, mode="eval").body)
    assert (result.outcome, result.score) == (outcome, float(score)), result.message
