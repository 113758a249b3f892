"""Quiz questions: how they are written down, how an answer is read, and what it earns.

Questions and answers stand in `solutions/<ps>/quiz.yaml`. A student assigns an answer to
`q_<id>` in a code cell; it is read from the syntax and never executed.
"""

from autograder.quiz.answers import NotAnAnswer, literal
from autograder.quiz.judging import judge_answer
from autograder.quiz.loading import load_quiz
from autograder.quiz.questions import Option, Question
from autograder.quiz.reading import read_answer

__all__ = [
    "NotAnAnswer",
    "Option",
    "Question",
    "judge_answer",
    "literal",
    "load_quiz",
    "read_answer",
]
