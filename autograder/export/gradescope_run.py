"""What `run_autograder` runs in Gradescope's container: one submission into a results.json.

    python -m autograder.export.gradescope_run /autograder

The folder holds source/ (our zip file, unpacked), submission/ (what the student uploaded)
and results/. Standard output is shown to instructors. Where the container cannot isolate a
submission, and the zip file was not made with --allow-unsandboxed, nothing is graded and
there is no results.json: Gradescope then says that the autograder failed, and costs nobody
a point.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from autograder.archives import SUFFIXES
from autograder.export.gradescope import results_json
from autograder.files import Unreadable
from autograder.importing import named, student_folder
from autograder.opening import CannotGrade
from autograder.quiz import STUDENT_ID, claimed_id, plain_id
from autograder.run import Run, write_whole
from autograder.submission import choose

# Where Gradescope does not say who handed in.
STUDENT = "submission"


def main(root: Path) -> int:
    """Grade; the exit status, 1 when there is no results.json."""
    source = root / "source"
    settings = json.loads((source / "autograder.json").read_text("utf-8"))
    assignment = str(settings["assignment"])
    with tempfile.TemporaryDirectory() as scratch:
        uploaded = Path(scratch) / "uploaded" / assignment
        uploaded.mkdir(parents=True)
        for line in lay_out(root / "submission", assignment, uploaded):
            print(line)
        folder = Path(scratch) / "submitted" / submitter(root, assignment, uploaded)
        folder.mkdir(parents=True)
        uploaded.rename(folder / assignment)
        run = Run(
            course=source,
            assignment=assignment,
            submitted=Path(scratch) / "submitted",
            json_file=Path(scratch) / "result.json",
            workers=1,
            resume=False,
            quiet=True,
            allow_unsandboxed=bool(settings["allow_unsandboxed"]),
        )
        try:
            finished = run.grade()
        except CannotGrade as problem:
            print(f"autograder: {problem} (when the zip file is exported)")
            return 1
    [result] = finished.submissions
    print(f"isolation: {finished.isolation}; seed: {finished.seed}; outcome: {result.outcome}")
    if result.score is None:
        for exercise in result.exercises:
            if exercise.score is None:
                print(f"{exercise.name}: {exercise.feedback}")
        print("autograder: this could not be graded through a fault of ours; rerun the autograder")
        return 1
    results = root / "results"
    results.mkdir(exist_ok=True)
    write_whole(results / "results.json", results_json(result))
    return 0


def submitter(root: Path, assignment: str, uploaded: Path) -> str:
    """The id, as a folder's name, for which questions with numbers of one's own are judged.

    Gradescope knows a student's number and e-mail address; the one that the submission says
    counts, if it is one of these, else the first there is.
    """
    try:
        about = json.loads((root / "submission_metadata.json").read_text("utf-8"))
        users = [user for user in about["users"] if isinstance(user, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        users = []
    known = [str(user[key]) for user in users for key in ("sid", "email", "name") if user.get(key)]
    known += [name.partition("@")[0] for name in known if "@" in name]
    try:
        said = claimed_id(choose(uploaded, assignment, (), ()).submission.answer(STUDENT_ID))
    except Unreadable:
        said = ""
    ours = [name for name in known if plain_id(name) == plain_id(said)] + known
    return next((folder for name in ours if (folder := student_folder(name))), STUDENT)


def lay_out(uploaded: Path, assignment: str, folder: Path) -> list[str]:
    """Copy the assignment's files from what was uploaded; what was done, for instructors.

    A single notebook or module counts under any name: Gradescope shows students no names.
    """
    regular = [
        path
        for path in sorted(uploaded.rglob("*"))
        if path.suffix.lower() in SUFFIXES and path.is_file() and not path.is_symlink()
    ]
    ours = {path: found for path in regular if (found := named(path.name, assignment)) is not None}
    said = []
    chosen: dict[str, tuple[int, Path]] = {}
    for path, (suffix, copy) in ours.items():
        if suffix not in chosen or copy > chosen[suffix][0]:
            chosen[suffix] = (copy, path)
    if not ours and len(regular) == 1:
        [path] = regular
        chosen[path.suffix.lower()] = (0, path)
        said.append(f"{path.name} is the only file, and taken for {assignment}")
    for suffix, (_, path) in chosen.items():
        shutil.copyfile(path, folder / f"{assignment}{suffix}")
        said.append(f"graded as {assignment}{suffix}: {path.relative_to(uploaded)}")
    return said


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python -m autograder.export.gradescope_run FOLDER", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1])))
