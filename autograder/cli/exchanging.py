"""For instructors: `report`, and `export` and `import` for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CalledWrongly, CourseOption, app, course_of


@app.command()
def report(
    assignment: Annotated[str, typer.Argument(help="The problem set.")],
    results: Annotated[
        Path | None,
        typer.Option(
            help="What autograder grade --json wrote; by default the last run without --json."
        ),
    ] = None,
    submitted: Annotated[
        Path | None,
        typer.Option(help="Where examples of code are taken from; by default submitted/."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The page to write; by default <problem set>-report.html.")
    ] = None,
    quality: Annotated[
        Path | None,
        typer.Option(help="What autograder validate --json wrote; by default it is measured."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Measure the set's own quality, once.")
    ] = True,
    questions: Annotated[
        bool, typer.Option("--questions", help="Print how well the quiz's questions work.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Write the class report: what to teach again, scores, students, what scores are worth."""
    from autograder.report.item_analysis import as_text
    from autograder.report.quality import measured, read_quality
    from autograder.report.writing import write_report

    root, page = course_of(course), output or Path(f"{assignment}-report.html")
    figures = None
    if quality is not None:
        figures = read_quality(quality, assignment)
    elif measure:
        figures = measured(root, assignment)
    analysis = write_report(root, assignment, results, page, submitted, figures)
    print(f"wrote {page}")
    if questions:
        print(as_text(analysis), end="")


@app.command()
def export(
    kind: Annotated[str, typer.Argument(help="csv, json, canvas, moodle …: see docs/formats.md.")],
    assignment: Annotated[str, typer.Argument(help="The problem set.")],
    results: Annotated[
        Path | None,
        typer.Option(help="The result document, as autograder grade --json wrote it."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; by default standard output.")
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option(help="The gradebook or list of students that the LMS itself exported."),
    ] = None,
    match: Annotated[
        str | None, typer.Option(help="The roster's column that holds our students' names.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The title of the LMS's column; by default the set's name.")
    ] = None,
    out_of: Annotated[
        float | None, typer.Option(min=0.01, help="Scale scores to the LMS's points.")
    ] = None,
    student: Annotated[str | None, typer.Option(help="For gradescope: this one's alone.")] = None,
    byte_order_mark: Annotated[
        bool, typer.Option("--bom", help="Begin a CSV file with the mark that Excel looks for.")
    ] = False,
    allow_unsandboxed: Annotated[
        bool,
        typer.Option(
            "--allow-unsandboxed",
            help="For gradescope-autograder: grade there even where code cannot be isolated.",
        ),
    ] = False,
    course: CourseOption = None,
) -> None:
    """Write results for a spreadsheet, an LMS or another grader.

    Infrastructure outcomes stay blank. Exit status 1 when a student is not in the roster.
    """
    from autograder.export import Options, export_course, kind_called, read_results
    from autograder.export import export as write
    from autograder.run import write_whole

    options = Options(byte_order_mark, roster, match, column, out_of, student, allow_unsandboxed)
    if kind_called(kind).made_of == "course":
        exported = export_course(kind, course_of(course), assignment, options)
    elif results is None:
        raise CalledWrongly(
            f"{kind} needs --results: the file that autograder grade {assignment} --json FILE wrote"
        )
    else:
        exported = write(kind, read_results(results, assignment), options)
    if output is None:
        if exported.data.startswith(b"PK") and sys.stdout.isatty():
            raise CalledWrongly(f"{kind} is a zip file; name one with --output")
        sys.stdout.buffer.write(exported.data)
        sys.stdout.flush()
    else:
        write_whole(output, exported.data)
        print(f"wrote {output}")
    from autograder.report.terminal import print_left_out

    print_left_out(exported.left_out, exported.remarks)
    raise typer.Exit(1 if exported.left_out else 0)


@app.command("import")
def import_(
    kind: Annotated[str, typer.Argument(help="canvas, moodle, gradescope or folders.")],
    path: Annotated[Path, typer.Argument(help="The exported zip file, or a folder.")],
    assignment: Annotated[str, typer.Argument(help="The problem set.")],
    submitted: Annotated[
        Path | None, typer.Option(help="Where to put them; by default the course's submitted/.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite files that are there already.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Copy submissions that an LMS exported into nbgrader's layout; says what was left out."""
    from autograder.importing import import_submissions
    from autograder.report.terminal import print_import

    target = submitted or course_of(course) / "submitted"
    print_import(import_submissions(kind, path, assignment, target, replace=replace), target)
