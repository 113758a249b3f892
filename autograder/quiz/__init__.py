"""Quiz questions: how they are written down, how an answer is read, and what it earns.

Questions and answers stand in `solutions/<ps>/quiz.yaml`. A student assigns an answer to
`q_<id>` in a code cell; it is read from the syntax and never executed. Each type of question
has a module of its own: `choices`, `numbers`, `shapes`, `matrices`, `ordering`, `matching`,
`formula_answers`.
"""

from autograder.quiz.answers import NotAnAnswer, literal
from autograder.quiz.judging import STUDENT_ID, claimed_id, judge_answer, judge_quiz
from autograder.quiz.kinds import KINDS, form_of, prompt_for, read_answer, words_for
from autograder.quiz.loading import load_quiz
from autograder.quiz.parameterised import for_student, formulas_of
from autograder.quiz.questions import Option, Question, Wrong
from autograder.quiz.variants import Draws, plain_id

__all__ = [
    "KINDS",
    "STUDENT_ID",
    "Draws",
    "NotAnAnswer",
    "Option",
    "Question",
    "Wrong",
    "claimed_id",
    "for_student",
    "form_of",
    "formulas_of",
    "judge_answer",
    "judge_quiz",
    "literal",
    "load_quiz",
    "plain_id",
    "prompt_for",
    "read_answer",
    "words_for",
]
