"""A ready autograder for Gradescope: the zip file that its page “Configure Autograder” takes.

    setup.sh, run_autograder      what Gradescope runs
    attention_autograder-….whl    this package
    solutions/<ps>/               the set, and those that it gives exercises of
    autograder.json               which set, and whether code may run without isolation

It holds the answers. Gradescope keeps it from students; the sandbox keeps it from their code.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from autograder.export import CannotExport, Exported, Options, points
from autograder.pack import assignments_of, load_pack
from autograder.quiz import load_quiz
from autograder.wheels import packed, wheel

_SCRIPTS = ("setup.sh", "run_autograder")


def write(course: Path, assignment: str, options: Options) -> Exported:
    """The zip file."""
    if assignment not in assignments_of(course):
        known = ", ".join(assignments_of(course))
        raise CannotExport(f"there is no set {assignment} in {course}; there are: {known}")
    pack = load_pack(course, assignment)
    settings = {"assignment": assignment, "allow_unsandboxed": options.allow_unsandboxed}
    name, ours = wheel()
    scripts = files("autograder.export") / "gradescope_files"
    members = {script: ((scripts / script).read_bytes(), 0o755) for script in _SCRIPTS}
    members["autograder.json"] = (json.dumps(settings, indent=2).encode() + b"\n", 0o644)
    members[name] = (ours, 0o644)
    for folder in dict.fromkeys([assignment, *(gift.assignment for gift in pack.given)]):
        for path in sorted((course / "solutions" / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                inside = path.relative_to(course).as_posix()
                members[inside] = (path.read_bytes(), 0o600)
    full = pack.max_score + sum(question.points for question in load_quiz(pack.folder))
    remarks = [
        f"upload it at the assignment's Configure Autograder, with {points(full)} autograder "
        "points; it holds the solutions: give it to nobody else"
    ]
    if "torch" in pack.packages:
        members["needs-torch"] = (b"", 0o644)
    if options.allow_unsandboxed:
        remarks.append(
            "where Gradescope's container cannot isolate a submission it is graded all the same, "
            "and could then read the solutions"
        )
    return Exported(packed(members), remarks=tuple(remarks))
