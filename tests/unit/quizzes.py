"""A quiz with a question of every type, as tests need it."""

import ast

from autograder.quiz import judge_answer, load_quiz

EVERY_TYPE = r"""
- id: axis
  type: single_choice
  points: 1
  prompt: Which?
  options:
    - {id: cedar, text: keys}
    - {id: amber, text: queries, misconception: Columns., hint: "Whose budget?"}
    - {id: birch, text: heads}
    - {id: delta, text: tokens}
  answer: cedar
  explanation: One budget a query.
- id: facts
  type: multiple_choice
  points: 2
  prompt: What holds?
  options:
    - {id: cedar, text: sums to 1}
    - {id: amber, text: not negative}
    - {id: birch, text: symmetric, misconception: Not so., hint: "Try one?"}
    - {id: delta, text: linear, misconception: No exp is linear.}
    - {id: ebony, text: on the diagonal largest, misconception: Keys need not prefer themselves.}
    - {id: fjord, text: at least 1 / n, misconception: That is their mean.}
    - {id: grove, text: sums to 1 down a column, misconception: A key may get more., hint: "Why?"}
  answer: [cedar, amber]
  explanation: A distribution.
- id: memory
  type: number
  points: 1
  prompt: "{h} heads, {n} tokens: bytes?"
  draws: {h: [2, 4, 8, 16], n: [2, 64, 128, 256, 512]}
  where: ["n > h"]
  answer: 4 * h * n**2
  unit: bytes
  wrong:
    - {value: h * n**2, misconception: Entries., hint: "Of {h} heads: {=h * n**2} of what?"}
  explanation: "{=4 * h * n**2} bytes"
- id: ratio
  type: number
  points: 1
  prompt: What is a third, in three digits?
  answer: 0.333333333
  significant: 3
  explanation: One third.
- id: split
  type: shape
  points: 1
  prompt: "(2, 6, {d}) in {h} heads"
  draws: {d: [32, 64, 128, 4], h: [4, 8, 16]}
  where: ["d % h == 0"]
  answer: [2, h, 6, d // h]
  wrong:
    - {value: [2, 6, h, d // h], misconception: Not transposed., hint: "Which axes?"}
  explanation: "Heads of {=d // h}."
- id: mask
  type: matrix
  points: 1
  prompt: weights
  answer: [[1, 0], [0.5, 0.5]]
  tolerance: {absolute: 0.01}
  wrong:
    - {value: [[0.5, 0.5], [0, 1]], misconception: The past., hint: "Who?"}
  explanation: Each sees the past.
- id: steps
  type: ordering
  points: 2
  prompt: order
  options:
    - {id: river, text: project}
    - {id: stone, text: score}
    - {id: cloud, text: scale}
    - {id: maple, text: softmax}
    - {id: birch, text: average}
  explanation: So it goes.
- id: roles
  type: matching
  points: 3
  prompt: match
  left: [{id: one, text: Q}, {id: two, text: K}, {id: three, text: V}, {id: four, text: O}]
  right: [{id: fig, text: k}, {id: kiwi, text: q}, {id: plum, text: v}, {id: date, text: o}]
  answer: {one: kiwi, two: fig, three: plum, four: date}
  wrong: [{value: [one, fig], misconception: Swapped., hint: "Who asks?"}]
  explanation: So they are.
- id: cost
  type: expression
  points: 1
  prompt: flops
  symbols: [n, d_k]
  answer: 2 * n**2 * d_k
  wrong: [{value: n**2 * d_k, misconception: Multiply-adds., hint: "Two?"}]
  explanation: Two for each.
- id: width
  type: single_choice
  points: 1
  prompt: "{d} in {h} heads: the width of one?"
  draws: {d: [16, 32, 64, 128], h: [2, 4, 8]}
  options:
    - {id: oak, text: "{=d // h}"}
    - {id: elm, text: "{=d}", misconception: All of it., hint: "Of {h}?"}
    - {id: ash, text: "{=h}"}
  answer: oak
  explanation: "{d} / {h}"
"""


def write_quiz(folder, text=EVERY_TYPE):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "quiz.yaml").write_text(text, "utf-8")
    return folder


def quiz_in(folder, text=EVERY_TYPE):
    """id → question."""
    return {question.id: question for question in load_quiz(write_quiz(folder, text))}


def judged(question, source, student="s01", other=None):
    node = None if source is None else ast.parse(source, mode="eval").body
    return judge_answer(question, node, student, other)
