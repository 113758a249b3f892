"""The command `autograder`: it parses, calls and prints. The work is done elsewhere."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from autograder import __version__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Self-checks and grading for attention courses (attention-autograder).",
)

CourseOption = Annotated[
    Path | None,
    typer.Option("--course", help="The course's folder; by default the nearest with solutions/."),
]


class CalledWrongly(Exception):
    """One sentence for the user, ending with what to do next; exit status 2."""


class Terminated(BaseException):
    """SIGTERM: unwinds like Ctrl-C, so that everything that was opened is closed."""


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated


def main() -> None:
    """Run the command. No traceback of ours reaches a user."""
    with contextlib.suppress(ValueError, AttributeError):  # not the main thread; Windows
        signal.signal(signal.SIGTERM, _terminate)
    try:
        status = app(standalone_mode=False)  # the exit code of typer.Exit, which it catches
        if status == 130:  # what newer typers make of Ctrl-C
            raise KeyboardInterrupt
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted; run the same command again to go on", 130)
    except Terminated:
        _fail("terminated; run the same command again to go on", 143)
    except Exception as error:
        _fail(_sentence(error), 2)
    sys.exit(status or 0)


def _sentence(error: Exception) -> str:
    """An error in one sentence. Ours carry theirs; click's is made of its parts."""
    usage = getattr(error, "format_message", None)  # the parser's own exceptions
    if usage is not None:
        return f"{usage().rstrip('.')}; see autograder --help"
    if isinstance(error, ModuleNotFoundError):
        extra = "torch" if error.name == "torch" else "instructor"
        return (
            f"this needs the package {error.name}; install it with "
            f"pip install 'attention-autograder[{extra}]'"
        )
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"{error.strerror}{where}; see to it that there is room and that the folder can be "
            "written to, and run the same command again"
        )
    known = error.__class__.__module__.startswith("autograder")
    return str(error) if known else f"{type(error).__name__}: {error}; please report this"


def _fail(message: str, status: int) -> NoReturn:
    print(f"autograder: {message}", file=sys.stderr)
    sys.exit(status)


def _version(show: bool) -> None:
    if show:
        print(f"attention-autograder {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    return None


def _course(course: Path | None) -> Path:
    from autograder.pack import find_course

    return find_course(course)


@app.command()
def check(
    file: Annotated[
        Path | None, typer.Argument(help="A notebook, a module, or the assignment's folder.")
    ] = None,
    exercise: Annotated[
        list[str] | None, typer.Option("--exercise", "-e", help="Check this exercise only.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds for one case of an exercise.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Check again whenever you save; Ctrl-C ends it.")
    ] = False,
) -> None:
    """Check your solutions against the public cases; exit status 1 when one fails."""
    from autograder.report.terminal import print_check
    from autograder.selfcheck import KEY_FILE
    from autograder.student import check_folder

    target = (file or Path.cwd()).resolve()
    if not target.exists():
        raise CalledWrongly(f"there is no {file}; give a notebook, a module or a folder")
    folder, chosen = (target, None) if target.is_dir() else (target.parent, target)
    # beside a released test file it is the key that is missing, elsewhere it is the folder
    if not (folder / KEY_FILE).exists() and not list(folder.glob("test_*.py")):
        raise CalledWrongly(
            f"no {KEY_FILE} in {folder}; go to the folder of an assignment, or name it"
        )
    if watch:
        from autograder.watch import watch_folder

        raise typer.Exit(watch_folder(folder, exercise, chosen, timeout))
    outcome = check_folder(folder, exercise, chosen, timeout)
    print_check(outcome)
    raise typer.Exit(0 if outcome.passed else 1)


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

    root = _course(course)
    if check:
        wrong = stale(root, assignments or ())
        for path in wrong:
            print(f"stale: {path.relative_to(root)}")
        leaks = _leaks(root, assignments or (), archive or ())
        if wrong:
            _fail(f"{len(wrong)} generated files are stale; run autograder build", 1)
        if leaks:
            _fail(f"{leaks} secrets are in what students get; take them out and build again", 1)
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

    reports = examine(_course(course), targets or (), seed, workers=workers)
    as_text = "" if json_file is None else to_json(reports)
    if str(json_file) == "-":
        print(as_text, end="")
    else:
        print_validations(reports, matrix=matrix)
        if json_file is not None:
            json_file.write_text(as_text, "utf-8")
    raise typer.Exit(0 if all(report.well for report in reports) else 1)


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
        course=_course(course),
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
    )
    raise typer.Exit(run.execute())


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

    root, page = _course(course), output or Path(f"{assignment}-report.html")
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
        exported = export_course(kind, _course(course), assignment, options)
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

    target = submitted or _course(course) / "submitted"
    print_import(import_submissions(kind, path, assignment, target, replace=replace), target)


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

    released = write(_course(course), assignments or (), to, url)
    print(f"Wrote {released.files} files for {', '.join(released.sets)} to {to}.")
    for name in released.kept:
        print(f"kept: {name}: it is not the one that this command writes")
    for name, why in released.left_out:
        print(f"left out: {name}: {why}")


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

    raise typer.Exit(run_demo(_course(course), assignment, folder, students))


if __name__ == "__main__":
    main()
