"""What students see of a quiz: the release, the locked cells, the terminal; and no answer in it."""

import json
import re
import shutil

import pytest

from autograder import build, notebook
from autograder.leaks import scan
from autograder.quiz import for_student, form_of, load_quiz
from autograder.selfcheck import load_key
from autograder.student import check_folder, question_lines
from autograder.submission import read
from tests.unit.courses import NAME, make_course
from tests.unit.quizzes import write_quiz


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = make_course(tmp_path_factory.mktemp("cells"))
    write_quiz(root / "solutions" / NAME)
    build.build(root)
    return root


@pytest.fixture(scope="module")
def quiz(course):
    return {question.id: question for question in load_quiz(course / "solutions" / NAME)}


@pytest.fixture
def release(course):
    return course / "assignments" / NAME


@pytest.fixture
def names(release, monkeypatch):
    monkeypatch.chdir(release)
    found = {}
    monkeypatch.setattr(notebook, "_user_namespace", lambda: found)
    return found


class TestShowQuestion:
    def test_with_a_student_s_numbers(self, quiz, names, capsys):
        for name in ("memory", "split", "width"):
            notebook.show_question(name, " S01 ")
            out = capsys.readouterr().out
            own = for_student(quiz[name], "s01")
            assert out.startswith(own.prompt)
            assert "The numbers of student id “S01”." in out
            for option in own.options:
                assert f'- `"{option.id}"`: {option.text}' in out

    @pytest.mark.parametrize("student", ["", "  ", None, ...])
    def test_without_an_id_the_question_says_so(self, names, capsys, student):
        assert notebook.show_question("memory", student) is None
        out = capsys.readouterr().out
        assert "q_memory has numbers of your own" in out
        assert 'write it into the cell `student_id = ""` above' in out

    def test_an_id_that_is_a_number(self, quiz, names, capsys):
        notebook.show_question("memory", 20240001)
        assert capsys.readouterr().out.startswith(for_student(quiz["memory"], "20240001").prompt)

    def test_somebody_else_is_logged_in(self, names, capsys, monkeypatch):
        monkeypatch.setenv("JUPYTERHUB_USER", "s02")
        notebook.show_question("memory", "s01")
        assert "You are logged in as s02: is the id yours?" in capsys.readouterr().out
        notebook.show_question("memory", "S02")
        assert "logged in" not in capsys.readouterr().out

    def test_no_such_question(self, names, capsys):
        notebook.show_question("what", "s01")
        assert "There is no question called what" in capsys.readouterr().out

    def test_without_a_key(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        notebook.show_question("memory", "s01")
        assert "This question cannot be shown" in capsys.readouterr().out

    def test_markdown_holds_no_markup_of_the_student(self, names, monkeypatch):
        shown = []
        monkeypatch.setattr(notebook, "_show", shown.append)
        notebook.show_question("memory", "<img src=x onerror=alert(1)>")
        [prompt] = shown
        assert "<img" not in prompt._repr_markdown_()
        assert prompt._repr_markdown_().startswith(prompt.text)


class TestReadBack:
    @pytest.mark.parametrize(
        ("name", "answer", "said"),
        [
            ("split", "2×4", "q_split: I read this as the shape (2, 4)"),
            ("facts", "cedar", "q_facts: I read this as the options cedar"),
            ("memory", "1 KiB", "q_memory: I read this as 1024 bytes"),
            ("mask", [[1, 0], [0.5, 0.5]], "I read this as the matrix [[1, 0], [0.5, 0.5]]"),
            ("steps", "river, stone", "q_steps cannot be read yet"),
            ("roles", {"one": "kiwi"}, "I read this as the pairs one-kiwi"),
            ("cost", "2n²d_k", "I read this as the formula 2 * n**2 * d_k"),
            ("cost", "9**9**9", "q_cost cannot be read yet"),
            ("width", "oak", "I read this as “oak”"),
        ],
    )
    def test_form_only(self, names, capsys, name, answer, said):
        names["student_id"] = "s01"
        assert notebook.read_back(name, answer) == 0.0
        assert said in capsys.readouterr().out

    def test_whose_numbers(self, names, capsys):
        notebook.read_back("memory", 3)
        assert "Your student id is empty" in capsys.readouterr().out
        names["student_id"] = "s01"
        notebook.read_back("memory", 3)
        assert "the numbers of your student id, here “s01”" in capsys.readouterr().out
        notebook.read_back("axis", "cedar")
        assert "student id" not in capsys.readouterr().out

    def test_right_and_wrong_look_alike(self, quiz, names, capsys):
        own = for_student(quiz["memory"], "s01")
        names["student_id"] = "s01"
        notebook.read_back("memory", own.answer)
        right = capsys.readouterr().out
        notebook.read_back("memory", own.answer + 1)
        assert capsys.readouterr().out == right.replace(str(own.answer), str(own.answer + 1))


class TestTheModule:
    def test_it_shows_templates_and_asks_for_the_id(self, release):
        text = (release / f"{NAME}.py").read_text("utf-8")
        assert 'student_id = ""' in text
        assert "# ⟨h⟩ heads, ⟨n⟩ tokens: bytes?" in text
        assert "q_split = None  # the sizes, in brackets" in text
        assert "{" not in text.partition("# Questions.")[2]

    def test_the_terminal_shows_a_student_s_questions(self, quiz, release, tmp_path):
        folder = tmp_path / NAME
        shutil.copytree(release, folder)
        path, key = folder / f"{NAME}.py", load_key(folder)
        [asks] = [line for line in question_lines(key, read(path)) if "numbers of your own" in line]
        assert "q_memory, q_split, q_width" in asks
        text = path.read_text("utf-8").replace('student_id = ""', 'student_id = "s01"')
        path.write_text(text.replace("q_split = None", "q_split = (2, 6)"), "utf-8")
        lines = question_lines(key, read(path))
        assert lines[0] == "1 of 10 questions answered."
        shown = "\n".join(lines)
        assert "q_memory, with the numbers of s01:" in shown
        assert f"    {for_student(quiz['memory'], 's01').prompt}" in shown
        assert "q_split" not in shown  # answered

    def test_an_untouched_folder_is_checked(self, release):
        assert not check_folder(release).passed


class TestSecrets:
    def test_the_release_holds_none(self, course):
        assert scan(course).leaks == ()

    def test_forms_hold_neither_answers_nor_formulas(self, quiz):
        for question in quiz.values():
            text = json.dumps(form_of(question))
            for secret in (question.explanation, *(w.misconception for w in question.wrong)):
                assert secret not in text
            assert "**" not in text and "//" not in text
            assert "answer" not in text and "wrong" not in text

    def test_the_order_shown_is_that_of_the_ids(self, quiz):
        for question in quiz.values():
            form = form_of(question)
            for key in ("options", "right"):
                assert form.get(key, []) == sorted(form.get(key, []))

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("q_facts = 'amber, cedar'", "the answer of the question facts"),
            ('"facts": ["amber", "cedar"]', "the answer of the question facts"),
            ("q_mask = [[1, 0], [0.5, 0.5]]", "the answer of the question mask"),
            ("# river, stone, cloud, maple, birch", "the answer of the question steps"),
            ('["river", "stone", "cloud", "maple", "birch"]', "the answer of the question steps"),
            ("{'four': 'date', 'one': 'kiwi', 'three': 'plum', 'two': 'fig'}",
             "the answer of the question roles"),
            ("q_cost = '2 * n**2 * d_k'", "the answer of the question cost"),
            ("flops = 2 * n ** 2 * d_k", "a formula of the question cost"),
            ("q_split = [2, h, 6, d // h]", "the answer of the question split"),
            ("bytes_of = 4 * h * n**2", "a formula of the question memory"),
            ("Of {h} heads: {=h * n**2} of what?", "a formula of the question memory"),
            ("q_width = 'oak'", "the answer of the question width"),
        ],
    )  # fmt: skip
    def test_what_a_leak_would_look_like(self, course, tmp_path, text, what):
        """In a notebook, a module and the key's JSON, as `scan` sees them."""
        for part in ("solutions", "source", "assignments"):
            shutil.copytree(course / part, tmp_path / part)
        released = tmp_path / "assignments" / NAME
        path = released / f"{NAME}.py"
        path.write_text(path.read_text("utf-8") + f"\n{text}\n", "utf-8")
        book = json.loads((released / f"{NAME}.ipynb").read_text("utf-8"))
        book["cells"][0]["source"] = text
        (released / f"{NAME}.ipynb").write_text(json.dumps(book), "utf-8")
        found = {(re.sub(r".*\.", "", leak.file), leak.what) for leak in scan(tmp_path).leaks}
        assert {("py", what), ("ipynb", what)} <= found
