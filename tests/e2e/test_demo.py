"""A small synthetic class of every set, graded in the real sandbox: who gets what, and why."""

import csv
import json
import zipfile
from pathlib import Path

import pytest
from junitparser import JUnitXml

from autograder.cli import app
from autograder.demo import make_class, run_demo
from autograder.export import KINDS
from autograder.pack import assignments_of, load_pack
from autograder.quiz import load_quiz
from autograder.run import Run

pytestmark = pytest.mark.e2e

COURSE = Path(__file__).parents[2]
COUNT = 4  # one right, one with a mistake, one with two, one who did half
# nbgrader takes longer than all the rest: the simplest set and the one with a gift go there.
WITH_NBGRADER = ("ps1_numpy_attention", "ps6_transformer_block")


# The others take longer to import than to grade: they are in `make soak`.
QUICK = ("ps1_numpy_attention",)
SETS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.soak)
    for name in assignments_of(COURSE)
]


def document_of(folder):
    return json.loads((folder / "result.json").read_text("utf-8"))


@pytest.fixture(scope="module", params=SETS)
def graded(request, tmp_path_factory):
    """(students, their results by name, the folder, what was printed)."""
    folder = tmp_path_factory.mktemp("demo") / "class"
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr("builtins.print", lambda *words, **_: printed.append(" ".join(words)))
        if request.param not in WITH_NBGRADER:
            patch.setattr(Run, "_write_gradebook", lambda run, finished: None)
        if request.param != "ps1_numpy_attention":  # half a minute and more, for each set
            patch.setattr("autograder.demo.measured", lambda course, assignment: None)
        status = run_demo(COURSE, request.param, folder, COUNT)
    pack = load_pack(COURSE, request.param)
    students = make_class(pack, load_quiz(pack.folder), COUNT)
    document = document_of(folder)
    results = {result["student"]: result for result in document["submissions"]}
    return status, students, results, folder, printed


def test_everybody_is_graded(graded):
    status, students, results, folder, _ = graded
    assert status == 0
    assert [student.kind for student in students] == ["right", "one", "two", "missing"]
    assert {result["outcome"] for result in results.values()} == {"graded"}
    pages = [page.name for page in (folder / "feedback").rglob("*.html")]
    ours = f"{document_of(folder)['assignment']}.html"
    assert pages.count(ours) == COUNT
    assert "What to teach again" in (folder / "report.html").read_text("utf-8")
    # nbgrader's pages, under another name
    assert len(pages) - COUNT == (COUNT if (folder / "gradebook.db").exists() else 0)


def test_every_mistake_is_named_and_nothing_else_is_wrong(graded):
    _, students, results, *_ = graded
    for student in students:
        exercises = results[student.name]["exercises"]
        told = {item["name"]: item for item in exercises if item["outcome"] != "passed"}
        if student.kind == "missing":
            assert {item["outcome"] for item in told.values()} == {"missing"}
            assert len(told) == (len(exercises) + 1) // 2
            continue
        assert {name: item["misconceptions"] for name, item in told.items()} == {
            name: [mistake] for name, mistake in student.mistakes.items()
        }, student.name


def test_who_is_right_gets_all_points(graded):
    _, students, results, *_ = graded
    for student in students:
        for item in results[student.name]["exercises"]:
            if item["outcome"] == "passed":
                assert item["score"] == item["max_score"], (student.name, item["name"])
        questions = {q["id"]: q for q in results[student.name]["questions"]}
        for name, answer in student.answers.items():
            assert (questions[name]["outcome"] == "unanswered") == (answer is None)


def test_what_an_instructor_reads(graded):
    printed = "\n".join(map(str, graded[-1]))
    assert f"Made a class of {COUNT}" in printed
    for words in ("Results: ", "Gradebook: ", "Feedback: ", "Isolation: "):
        assert words in printed


# A roster as each LMS exports it, with the names of the folders as logins.
ROSTERS = {
    "canvas": ("Student,ID,SIS Login ID,Section", "{0},{1},{0},1"),
    "moodle": ("Username,Email address", "{0},{0}@example.org"),
    "brightspace": ("OrgDefinedId,Username,End-of-Line Indicator", "#{1},#{0},#"),
    "blackboard": ("Username,Student ID,{set} [Total Pts: 9 Score] |7", "{0},{1},"),
}
HEADING = {"brightspace": "{set} Points Grade", "blackboard": "{set} [Total Pts: 9 Score] |7"}


def exported_scores(kind, folder, assignment, names):
    """Student → score, by a reader that knows nothing of ours."""
    target = folder / f"export.{kind}"
    options = []
    if kind in ROSTERS:
        header, row = ROSTERS[kind]
        lines = [header.format(set=assignment)]
        lines += [row.format(name, number) for number, name in enumerate(names, 1)]
        (folder / "roster.csv").write_text("\n".join(lines), "utf-8")
        options = ["--roster", folder / "roster.csv"]
    options += ["--results", folder / "result.json", "--output", target]
    assert not app(["export", kind, assignment, *map(str, options)], standalone_mode=False)
    if kind == "junit":
        xml = JUnitXml.fromfile(str(target))
        scores = {s.name: {p.name: p.value for p in s.properties()}["score"] for s in xml}
    elif kind == "json":
        found = json.loads(target.read_bytes())["submissions"]
        scores = {each["student"]: each["score"] for each in found}
    elif kind == "gradescope":
        with zipfile.ZipFile(target) as archive:
            scores = {
                path.split("/")[0]: json.loads(archive.read(path))["score"]
                for path in archive.namelist()
            }
    else:
        key = {"csv": "student", "canvas": "SIS Login ID"}.get(kind, "Username")
        heading = HEADING.get(kind, "score" if kind == "csv" else "{set}").format(set=assignment)
        with target.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row[key]]
        scores = {row[key].lstrip("#"): row[heading] for row in rows}
    return {name: float(score) for name, score in scores.items()}


def test_every_export_holds_the_scores_of_the_document(graded):
    _, _, results, folder, _ = graded
    scores = {name: result["score"] for name, result in results.items()}
    assignment = json.loads((folder / "result.json").read_bytes())["assignment"]
    kinds = [name for name, kind in KINDS.items() if kind.made_of == "results"]
    assert len(kinds) >= 8
    for kind in kinds:
        assert exported_scores(kind, folder, assignment, sorted(scores)) == scores, kind
