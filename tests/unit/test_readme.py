"""What README says of the problem sets is what they are."""

import re
from pathlib import Path

from autograder.pack import assignments_of, load_pack
from autograder.quiz import load_quiz

COURSE = Path(__file__).parents[2]


def test_the_table_of_sets():
    text = (COURSE / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(ps\w+)` \| [^|]+ \| (\d+) \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    found = {name: tuple(map(int, numbers)) for name, *numbers in rows}
    expected = {}
    for name in assignments_of(COURSE):
        pack = load_pack(COURSE, name)
        questions = load_quiz(pack.folder)
        points = pack.max_score + sum(question.points for question in questions)
        expected[name] = (len(pack.exercises), len(questions), points)
    assert found == expected


def test_the_two_commands_stand_first():
    text = (COURSE / "README.md").read_text("utf-8")
    assert text.index("make demo") < text.index("make test") < text.index("conda env create")
    assert text.index("conda env create") < 1500


def test_the_message_shown_is_what_a_student_reads(tmp_path, capsys):
    """The example is made again from the released files and the misconception."""
    import shutil

    from autograder import stubs
    from autograder.report.terminal import print_check
    from autograder.student import check_folder

    pack = load_pack(COURSE, "ps1_numpy_attention")
    folder = shutil.copytree(COURSE / "assignments" / pack.name, tmp_path / "folder")
    module = folder / f"{pack.name}.py"
    source = pack.sources["softmax"]
    wrong = stubs.student_code(source, "over_queries", "softmax")
    text = module.read_text("utf-8")
    stub = stubs.stub_cell(pack.exercises["softmax"], source)
    module.write_text(text.replace(stub, wrong), "utf-8")
    print_check(check_folder(folder, ["softmax"]))
    shown = (COURSE / "README.md").read_text("utf-8").split("```text\n")[1].split("```")[0]
    assert capsys.readouterr().out.startswith(shown)


def test_pictures_are_there_and_small():
    text = (COURSE / "README.md").read_text("utf-8")
    named = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", text)
    assert {path for _, path in named} >= {
        "docs/pictures/card.png", "docs/pictures/class-report.png"
    }  # fmt: skip
    for words, path in named:
        assert len(words) > 20  # for those who cannot see it
        assert (COURSE / path).stat().st_size < 150_000, "make pictures"
