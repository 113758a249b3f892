"""The self-check that runs again whenever the student saves, and shows what has changed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from autograder.files import Unreadable
from autograder.observe.spawned import Spare
from autograder.report.terminal import console, print_check, print_exercise
from autograder.result import ExerciseResult
from autograder.selfcheck import KEY_FILE, Key, KeyUnusable, load_key
from autograder.student import SelfCheck, check_folder

SUFFIXES = (".ipynb", ".py", ".safetensors")
# Editors write a file in several steps: what comes within this many milliseconds is one save.
STEP = 20
# … and a burst of saves is waited for no longer than this.
BURST = 400


def watch_folder(
    folder: Path,
    names: Sequence[str] | None = None,
    file: Path | None = None,
    timeout: float | None = None,
    explain: bool = True,
) -> int:
    """Check a folder at once and after every save, until Ctrl-C; the exit status of the last.

    A file that cannot be read, as half written ones cannot, is said and waited for.
    """
    out = console()
    last: SelfCheck | None = None
    passed = False
    spare, keys = Spare(), _Keys(folder)
    try:
        for saved in _saves(folder):
            if saved:
                out.rule(Text(f"saved at {time.strftime('%H:%M:%S')}"), style="dim")
            try:
                outcome = check_folder(folder, names, file, timeout, explain, spare, keys.key())
            except (Unreadable, KeyUnusable) as problem:
                out.print(Text(f"{problem}."))
                passed = False
            else:
                if last is None:
                    print_check(outcome)
                else:
                    print_changes(last, outcome)
                last, passed = outcome, outcome.passed
            out.print(Text("Waiting for you to save; Ctrl-C ends it.", style="dim"))
            spare.prepare()
    except KeyboardInterrupt:
        out.print()
    finally:
        spare.close()
    return 0 if passed else 1


class _Keys:
    """The key of a folder, read again when its file has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[tuple[int, int], Key] | None = None

    def key(self) -> Key:
        """The key as it is now. Raises KeyUnusable with a sentence."""
        try:
            about = (self._folder / KEY_FILE).stat()
        except OSError:
            return load_key(self._folder)  # which says what is wrong
        stamp = (about.st_mtime_ns, about.st_size)
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, load_key(self._folder))
        return self._known[1]


def _saves(folder: Path) -> Iterator[bool]:
    """False at once, then True after every save of a file that may count."""
    from watchfiles import Change, watch

    def counts(change: Change, path: str) -> bool:
        return path.endswith(SUFFIXES) and ".ipynb_checkpoints" not in path

    # one watcher from the beginning on: what is saved during a check is not missed
    seen = watch(
        folder, watch_filter=counts, step=STEP, debounce=BURST, recursive=False,
        yield_on_timeout=True, rust_timeout=BURST // 2,
    )  # fmt: skip
    next(seen)
    yield False
    for changes in seen:
        if changes:
            yield True


def print_changes(before: SelfCheck, after: SelfCheck) -> None:
    """What differs between two checks, and one line of how far the set is."""
    out = console()
    known: Mapping[str, ExerciseResult] = {result.name: result for result in before.results}
    changed = [result for result in after.results if known.get(result.name) != result]
    for result in changed:
        print_exercise(out, result)
    if not changed:
        out.print(Text("No exercise has changed."))
    out.print(Text(after.progress.words))
