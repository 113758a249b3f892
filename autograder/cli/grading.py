"""For instructors: `doctor`, `demo` and `grade`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CalledWrongly, CourseOption, app, course_of


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Try what a submission must not do; say what isolation this machine gives, and why."""
    from autograder.doctor import examine, print_report, to_json

    report = examine()
    if as_json:
        print(to_json(report))
    else:
        print_report(report)
    raise typer.Exit(0 if report.level in ("strong", "strong+") else 1)


@app.command()
def demo(
    assignment: Annotated[str, typer.Option(help="The problem set.")] = "ps1_numpy_attention",
    folder: Annotated[
        Path, typer.Option(help="Where the class is made; it is emptied first if it is a demo.")
    ] = Path("demo"),
    students: Annotated[int, typer.Option(min=1, max=5000)] = 30,
    course: CourseOption = None,
) -> None:
    """Make a synthetic class from the pack's misconceptions, grade it, say where the pages are."""
    from autograder.demo import run_demo

    raise typer.Exit(run_demo(course_of(course), assignment, folder, students))


@app.command()
def grade(
    assignment: Annotated[str, typer.Argument(help="The problem set, for instance ps1_….")],
    submitted: Annotated[
        Path | None,
        typer.Option(help="Submissions: <student>/<assignment>/…; by default submitted/."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the result document to this file.")
    ] = None,
    seed: Annotated[
        str | None, typer.Option(help="Draw the cases of this seed again; by default a fresh one.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Submissions at a time; by default one a core.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds for one case of an exercise.")
    ] = None,
    memory: Annotated[
        int | None, typer.Option(min=16, help="MiB that a submission may use.")
    ] = None,
    total: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds for a whole submission.")
    ] = None,
    cpu: Annotated[
        int | None, typer.Option(min=1, help="Seconds of processor time for a submission.")
    ] = None,
    output: Annotated[
        int | None, typer.Option(min=0, help="Bytes that a submission may print.")
    ] = None,
    files: Annotated[
        int | None, typer.Option(min=16, help="Files that a submission may have open.")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=0, help="Processes and threads beside its own: the sandbox can give 0."),
    ] = None,
    student: Annotated[
        list[str] | None,
        typer.Option(help="Grade this student again, and leave the others as they are."),
    ] = None,
    exercise: Annotated[
        list[str] | None,
        typer.Option(help="Grade this exercise again, and leave the others as they are."),
    ] = None,
    drop_case: Annotated[
        list[str] | None,
        typer.Option(help="Leave a faulty case out from now on: EXERCISE/CASE."),
    ] = None,
    restore_case: Annotated[
        list[str] | None, typer.Option(help="Let a case that was dropped count again.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Grade on a Dask cluster: its scheduler's address, or local to start one here."
        ),
    ] = None,
    progress: Annotated[
        str, typer.Option(help="How far it is: bar, lines, json or none; auto fits the output.")
    ] = "auto",
    allow_lower: Annotated[
        bool, typer.Option("--allow-lower", help="Take scores that are lower than before.")
    ] = False,
    gradebook: Annotated[
        str | None,
        typer.Option(help="nbgrader's database to write to (sqlite:///…, postgresql://…)."),
    ] = None,
    backup: Annotated[
        bool, typer.Option("--backup/--no-backup", help="Copy the gradebook before writing to it.")
    ] = True,
    feedback: Annotated[
        Path | None, typer.Option(help="Write a feedback page for each student here.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Keep results that still hold.")
    ] = True,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            help="Look for the smallest failing input and the likely line of what is wrong.",
        ),
    ] = True,
    allow_unsandboxed: Annotated[
        bool,
        typer.Option("--allow-unsandboxed", help="Grade on machines that cannot isolate code."),
    ] = False,
    course: CourseOption = None,
) -> None:
    """Grade a class. Exit status 1: a fault of ours, or lower scores wait; no student's fault."""
    from typing import cast, get_args

    from autograder.progress import Kind
    from autograder.run import Run

    if progress not in get_args(Kind):
        raise CalledWrongly(
            f"there is no --progress {progress}; write one of {', '.join(get_args(Kind))}"
        )
    run = Run(
        course=course_of(course),
        assignment=assignment,
        submitted=submitted,
        json_file=json_file,
        seed=seed,
        workers=workers,
        timeout=timeout,
        memory=memory,
        total=total,
        cpu=cpu,
        output=output,
        files=files,
        processes=processes,
        gradebook=gradebook,
        feedback=feedback,
        resume=resume,
        allow_unsandboxed=allow_unsandboxed,
        students=student or (),
        exercises=exercise or (),
        drop_cases=drop_case or (),
        restore_cases=restore_case or (),
        allow_lower=allow_lower,
        backup=backup,
        progress=cast(Kind, progress),
        explain=explain,
        scheduler=scheduler,
    )
    raise typer.Exit(run.execute())
