"""The command: exit statuses, one sentence for a mistake, no traceback."""

import json
import shutil
import subprocess
import sys

import pytest

from autograder import __version__, build
from autograder.cli import main
from tests.unit.courses import DOUBLE, NAME, RIGHT, SQUARED, make_course, submit


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.chdir(make_course(tmp_path))
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command line; returns (exit status, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["autograder", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
            raise SystemExit(0)
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return call


class TestCalledWrongly:
    @pytest.mark.parametrize(
        "arguments, sentence",
        [
            (["grad"], "No such command 'grad'"),
            (["grade"], "Missing argument 'assignment'; see autograder --help"),
            (["grade", "ps9"], "no submissions to ps9"),
            (["grade", NAME, "--workers", "0"], "Invalid value for '--workers'"),
            (["grade", NAME, "--submitted", "nowhere"], "there is no folder nowhere"),
            (
                ["grade", NAME, "--submitted", ".", "--processes", "2"],
                "--processes 2: the sandbox can give a submission no processes or threads",
            ),
            (["grade", NAME, "--progress", "loud"], "write one of auto, bar, lines, json, none"),
            (["grade", NAME, "--student", "cy"], "nothing is handed in by cy for"),
            (["grade", NAME, "--exercise", "x"], f"{NAME} has no exercise x; write one of double"),
            (["grade", NAME, "--drop-case", "double/x"], "double has no case x; write one of five"),
            (["grade", NAME, "--gradebook", "x:pw"], "write sqlite:///gradebook.db or postgresql:"),
            (["validate", "ps9"], "no assignment called ps9"),
            (["check", "nothing.py"], "there is no nothing.py"),
            (["check"], "go to the folder of an assignment, or name it"),
        ],
    )
    def test_one_sentence_and_status_two(self, course, run, arguments, sentence):
        (course / "submitted").mkdir()
        (course / "submitted" / "s1" / NAME).mkdir(parents=True)
        status, out, err = run(*arguments)
        assert status == 2
        assert sentence.lower() in err.lower()
        assert err.startswith("autograder: ")
        assert err.count("\n") == 1
        assert "Traceback" not in out + err

    def test_outside_of_a_course(self, tmp_path, monkeypatch, run):
        monkeypatch.chdir(tmp_path)
        status, _, err = run("grade", "ps1")
        assert status == 2
        assert "go there or give --course" in err

    def test_a_broken_exercise_file(self, course, run):
        (course / "solutions" / NAME / "double.py").write_text("def double(:\n", "utf-8")
        status, _, err = run("validate")
        assert status == 2
        assert "double.py raised SyntaxError" in err
        assert err.count("\n") == 1

    def test_no_submissions(self, course, run):
        (course / "submitted").mkdir()
        status, _, err = run("grade", NAME)
        assert status == 2
        assert f"<student>/{NAME}/{NAME}.ipynb or .py" in err


class TestValidate:
    def test_a_pack_that_is_well(self, course, run):
        status, out, _ = run("validate", "--json", "report.json")
        assert status == 0
        assert "2 of 2 misconceptions caught and named, 0 blind cases" in out
        report = json.loads((course / "report.json").read_text("utf-8"))
        assert report[0]["well"]
        assert report[0]["exercises"][0]["matrix"]["five"] == ["squared", "left_alone"]

    @pytest.mark.parametrize(
        ("wrong", "last"), [("", "all well."), ("+ 1", "weak: ps0_other.")], ids=["well", "weak"]
    )
    def test_two_sets_end_with_a_line_for_both(self, course, run, wrong, last):
        other = shutil.copytree(course / "solutions" / NAME, course / "solutions" / "ps0_other")
        changed = DOUBLE.replace("return x + x", f"return x + x {wrong}")
        (other / "double.py").write_text(changed, "utf-8")
        status, out, _ = run("validate")
        assert status == bool(wrong)
        assert out.splitlines()[-1] == f"2 exercises in 2 sets, {last}"

    def test_without_the_one_case_that_sees_a_misconception(self, course, run):
        """Doubling ones hides nothing of left_alone, but 2·2 = 2²."""
        path = course / "solutions" / NAME / "double.py"
        blind = DOUBLE.replace('"squared", "left_alone"', '"left_alone"').replace(
            "rng.normal(size=5)", "np.full(5, 2.0)"
        )
        start = blind.index('@double.case("three other')
        path.write_text(blind[:start] + blind[blind.index("@double.misconception") :], "utf-8")
        status, out, _ = run("validate")
        assert status == 1
        assert "double: no case sees the misconception squared; add one that does" in out

    @pytest.mark.parametrize(
        "old, new, complaint",
        [
            ("return x + x", "return x + x + 1", "the alternative added is rejected"),
            ('separates=["squared"]', 'separates=["cubed"]', "cubed, which is no misconception"),
            ("return x.copy()", "return x * x", "squared and left_alone give equal results"),
            ('separates=["squared"], ', "", "the case three separates nothing"),
            ("What is twice three?", "Why not 2 * x here?", "an expression of the reference"),
            ("return x * x", "return 2 * x * (1 + 1e-8)", "times further off than the furthest"),
        ],
    )
    def test_a_weak_pack(self, course, run, old, new, complaint):
        path = course / "solutions" / NAME / "double.py"
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")
        status, out, _ = run("validate")
        assert status == 1
        assert complaint.replace(" ", "") in "".join(out.split())


class TestBuild:
    def test_check_is_one_until_built(self, course, run):
        status, out, err = run("build", "--check")
        assert status == 1
        assert f"stale: assignments/{NAME}/{NAME}.ipynb" in out
        assert "run autograder build" in err
        assert run("build")[0] == 0
        status, out, _ = run("build", "--check")
        assert status == 0
        assert out == "No secrets found in 4 files.\nAll generated files are up to date.\n"


class TestCheck:
    @pytest.fixture
    def folder(self, course, monkeypatch):
        build.build(course)
        target = course / "assignments" / NAME
        monkeypatch.chdir(target)
        return target

    def test_the_stub(self, folder, run):
        status, out, _ = run("check")
        assert status == 1
        assert "double: not written yet." in out
        assert f"To be graded: {NAME}.ipynb, 0 of 1 exercises written." in out

    def test_right(self, folder, run):
        (folder / f"{NAME}.py").write_text(RIGHT, "utf-8")
        status, out, _ = run("check")
        assert status == 0
        assert "Grading adds hidden cases" in out
        assert f"To be graded: {NAME}.py, 1 of 1 exercises written: double." in out
        assert "2 of 2 questions answered." in out

    def test_a_file_and_an_exercise(self, folder, run):
        (folder / "scratch.py").write_text(SQUARED, "utf-8")
        status, out, _ = run("check", "scratch.py", "-e", "double")
        assert status == 1
        assert "Squares instead of doubling." in out
        assert "Checked: scratch.py, 1 of 1 exercises written: double." in out
        assert f"To be graded would be {NAME}.ipynb, not this file." in out
        assert run("check", "-e", "triple")[0] == 2

    def test_a_loop_is_stopped(self, folder, run):
        (folder / f"{NAME}.py").write_text("def double(x):\n    while True: pass\n", "utf-8")
        status, out, _ = run("check", "--timeout", "0.5")
        assert status == 1
        assert "within 0.5 s" in out

    def test_without_its_key(self, folder, run):
        (folder / "selfcheck.safetensors").unlink()
        status, _, err = run("check")
        assert status == 2
        assert "it belongs beside the notebook" in err

    def test_something_else(self, folder, run):
        status, _, err = run("check", "selfcheck.safetensors")
        assert status == 2
        assert "neither a notebook nor a module" in err


def test_grade_writes_the_document(course, run, needs_debian):
    needs_debian("libseccomp2", library="seccomp")
    submit(course, "right", RIGHT)
    submit(course, "wrong", SQUARED)
    status, out, _ = run("grade", NAME, "--json", "out.json", "--seed", "7", "--workers", "1")
    assert status == 0
    document = json.loads((course / "out.json").read_text("utf-8"))
    assert [s["score"] for s in document["submissions"]] == [4.0, 1.0]
    assert "Squares instead of doubling." in out
    assert "right" in out


def test_version(run):
    assert run("--version")[1] == f"attention-autograder {__version__}\n"


def test_the_installed_command():
    done = subprocess.run(
        [sys.executable, "-m", "autograder.cli", "--version"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout.startswith("attention-autograder ")
