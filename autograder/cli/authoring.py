"""For authors: `new`, `build`, `validate` and `release`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CalledWrongly, CourseOption, app, course_of, end


@app.command()
def new(
    exercise: Annotated[str, typer.Argument(help="<problem set>/<exercise>; either may be new.")],
    framework: Annotated[str, typer.Option(help="numpy or torch.")] = "numpy",
    module: Annotated[
        bool, typer.Option("--class", help="A PyTorch module instead of a function.")
    ] = False,
    course: Annotated[
        Path | None, typer.Option(help="The course's folder; one that is no course becomes one.")
    ] = None,
) -> None:
    """Begin an exercise: writes a file that shows each part and says what is to be written."""
    from autograder.scaffold import new_exercise

    for path in new_exercise(exercise, framework=framework, is_class=module, course=course):
        print(f"wrote {path}")
    print(f"Next: fill it in, then run autograder validate {exercise}")


@app.command()
def build(
    assignments: Annotated[list[str] | None, typer.Argument(help="By default all.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; say what is stale, and what leaks.")
    ] = False,
    archive: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, help="With --check: a wheel, sdist or zip file to look for secrets in too."
        ),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write source/ and assignments/ from solutions/."""
    from autograder.build import build as build_all
    from autograder.build import stale

    root = course_of(course)
    if check:
        wrong = stale(root, assignments or ())
        for path in wrong:
            print(f"stale: {path.relative_to(root)}")
        leaks = _leaks(root, assignments or (), archive or ())
        if wrong:
            end(f"{len(wrong)} generated files are stale; run autograder build", 1)
        if leaks:
            end(f"{leaks} secrets are in what students get; take them out and build again", 1)
        print("All generated files are up to date.")
        return
    if archive:
        raise CalledWrongly("--archive belongs to --check; add it")
    for path in build_all(root, assignments or ()):
        print(f"wrote {path.relative_to(root)}" if path.exists() else f"removed {path}")


def _leaks(root: Path, assignments: Sequence[str], archives: Sequence[Path]) -> int:
    """Print what the releases and archives hold of the solutions; how much it is."""
    from autograder.leaks import scan

    report = scan(root, assignments, archives, drawn=True)
    for leak in report.leaks:
        print(f"leak: {leak}")
    if not report.leaks:
        print(f"No secrets found in {report.files} files.")
    return len(report.leaks)


@app.command()
def validate(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Problem sets, or <problem set>/<exercise>; by default all."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file too; - prints.")
    ] = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Print which case sees which misconception.")
    ] = False,
    seed: Annotated[str, typer.Option(help="The seed that cases are drawn from.")] = "validate",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one a core.")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Measure the pack: are right variants accepted, wrong ones caught and named?"""
    from autograder.report.terminal import print_validations
    from autograder.validate import to_json
    from autograder.validate import validate as examine

    reports = examine(course_of(course), targets or (), seed, workers=workers)
    as_text = "" if json_file is None else to_json(reports)
    if str(json_file) == "-":
        print(as_text, end="")
    else:
        print_validations(reports, matrix=matrix)
        if json_file is not None:
            json_file.write_text(as_text, "utf-8")
    raise typer.Exit(0 if all(report.well for report in reports) else 1)


@app.command()
def release(
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="Problem sets; by default those that give no solution away."),
    ] = None,
    to: Annotated[
        Path, typer.Option("--to", help="The students' repository, or a folder for it.")
    ] = Path("release"),
    url: Annotated[
        str | None, typer.Option("--url", help="By which students clone it, for Colab.")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Lay out what students get: the sets, this package, how to install it."""
    from autograder.publishing import release as write

    released = write(course_of(course), assignments or (), to, url)
    print(f"Wrote {released.files} files for {', '.join(released.sets)} to {to}.")
    for name in released.kept:
        print(f"kept: {name}: it is not the one that this command writes")
    for name, why in released.left_out:
        print(f"left out: {name}: {why}")
