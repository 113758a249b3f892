"""The figures as a table, and what one has to know to read it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

_ROWS = {
    "submissions": "{submissions}",
    "workers": "{workers}",
    "wall time, start-up included": "{seconds:.2f} s",
    "per submission": "{each:.1f} ms",
    "processor time per submission": "{cpu:.1f} ms",
    "peak memory of the process tree": "{peak_mib:.0f} MiB",
}


def show(found: dict[str, Any]) -> None:
    """Print all of it."""
    out = Console(highlight=False, soft_wrap=True)
    graders = found["graders"]
    table = Table(title=f"{found['assignment']}: half right, half with one misconception")
    table.add_column("")
    for grader in graders.values():
        table.add_column(grader["title"], justify="right")
    for label, form in _ROWS.items():
        cells = [
            form.format(**g, each=g["seconds_each"] * 1000, cpu=g["cpu_each"] * 1000)
            for g in graders.values()
        ]
        table.add_row(label, *cells)
    table.add_row(
        "scores as expected", *["no" if g["wrongly_graded"] else "yes" for g in graders.values()]
    )
    out.print(table)
    for name in found["not_installed"]:
        out.print(f"{name}: not installed here, so not measured.")
    for key in ("ours", "recorded"):
        if key in graders:
            runs = ", ".join(f"{seconds:.2f} s" for seconds in graders[key]["runs"])
            out.print(f"{graders[key]['title']}: the median of its runs ({runs}).")
    out.print("Ours: full cases, --no-resume; --gradebook writes scores, comments and autograded/.")
    for ratio in found["ratios"]:
        verdict = _verdict(ratio["ratio"] >= ratio["target"])
        names = [graders[ratio[key]]["title"] for key in ("slower", "quicker")]
        out.print(
            f"Per submission, {names[0]} takes {ratio['ratio']:.1f} times as long as {names[1]} "
            f"(promised: at least {ratio['target']:g}; {verdict})."
        )
    counts = sorted({grader["submissions"] for grader in graders.values()})
    if len(counts) > 1:
        out.print(
            f"The others were given the first {counts[0]} of the same notebooks: they take as "
            "long for each, however many there are."
        )
    out.print(f"Isolation of ours: {found['isolation']}. The others run code in plain kernels.")
    out.print(f"Memory: {found['memory']}.")
    _show_parts(out, found)
    out.print(", ".join(f"{name} {value}" for name, value in found["machine"].items()) + ".")


def _show_parts(out: Console, found: dict[str, Any]) -> None:
    parts = found["parts"]
    each = ", ".join(f"{name} {ms:g}" for name, ms in parts["each_ms"].items())
    total = sum(parts["each_ms"].values())
    out.print(f"One submission at a time: {total:.1f} ms ({each}).")
    out.print(
        f"The floor, the same calls in one process without isolation: {parts['floor_ms']:.1f} ms; "
        f"with reading and judging {parts['judged_ms']:.1f} ms."
    )
    most = found["most_over_floor"]
    out.print(
        f"Ours is {found['over_floor']:.2f} times the floor (promised: at most {most:g}; "
        f"{_verdict(found['over_floor'] <= most)})."
    )
    for name, save in found["saves"].items():
        out.print(
            f"autograder check --watch, {name}, from save to verdict: {save['median_ms']:.0f} ms, "
            f"the median of {len(save['all_ms'])} (promised: at most {save['most_ms']:g} ms; "
            f"{_verdict(save['median_ms'] <= save['most_ms'])})."
        )
    for repeat in found["repeated"]:
        first, again, changed = repeat["seconds"]
        out.print(
            f"{repeat['submissions']} submissions graded with a journal in {first:.1f} s; again, "
            f"unchanged, in {again:.2f} s, observed: {repeat['observed'][1]} (promised: at most "
            f"{repeat['most_seconds']:g} s, {_verdict(repeat['kept'])}); with one exercise changed "
            f"in {changed:.1f} s, observed: {repeat['observed'][2]}."
        )
    once = ", ".join(f"{name} {ms:g} ms" for name, ms in parts["once_ms"].items())
    out.print(f"Once a run, beside the start of Python: {once}.")


def _verdict(is_kept: bool) -> str:
    return "kept" if is_kept else "NOT kept"
