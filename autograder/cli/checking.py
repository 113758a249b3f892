"""For students: `autograder check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CalledWrongly, app


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
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            help="Look for a small failing input and the likely line of what is wrong.",
        ),
    ] = True,
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

        raise typer.Exit(watch_folder(folder, exercise, chosen, timeout, explain))
    outcome = check_folder(folder, exercise, chosen, timeout, explain)
    print_check(outcome)
    raise typer.Exit(0 if outcome.passed else 1)
