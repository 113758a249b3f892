"""Hostile submissions as notebooks, in a real nbgrader course with a gradebook in it.

A notebook has more doors than a module: metadata, outputs, attachments and Markdown, all of which
nbgrader or its pages look at.
"""

from __future__ import annotations

import base64
import copy
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.nbgrader_course import PS1, Written, cell_of, hand_in
from tests.hostile.kinds import EXERCISE, Hostile
from tests.hostile.world import World

# Each would run in a page that shows it as it is. MARK is what a test looks for.
MARK = "hostile_mark"
SCRIPT = f"<script>{MARK}(1)</script><img src=x onerror={MARK}(2)>"
MARKUP = (
    SCRIPT,
    f"</textarea></pre></div></style></title>{SCRIPT}",
    f"[click]({'javascript:'}{MARK}(3)) [click](data:text/html;base64,PHNjcmlwdD4=)",
    f"![x](x){{onerror={MARK}(4)}}",
    f"$$ </script><script>{MARK}(5)</script> $$",
    f"\\begin{{align}}<img src=x onerror={MARK}(6)>\\end{{align}}",
    f"<svg onload={MARK}(7)><a xlink:href='javascript:{MARK}(8)'>x</a></svg>",
    f"<iframe srcdoc='<script>{MARK}(9)</script>'></iframe>",
    f"<form action=//example.org><input name=q autofocus onfocus={MARK}(10)></form>",
    f"<base href=//example.org><link rel=stylesheet href=//example.org/{MARK}.css>",
    f"<meta http-equiv=refresh content='0;url=javascript:{MARK}(11)'>",
    f"<style>* {{ background: url(//example.org/{MARK}) }}</style>",
    f"```html\n</code></pre>{SCRIPT}\n```",
    f"<details open ontoggle={MARK}(12)>x</details><math><mi//xlink:href=javascript:{MARK}(13)>",
)


def places(course: Path) -> dict[str, Path]:
    """What submissions look for, in an nbgrader course."""
    return {
        "course": course,
        "solutions": course / "solutions" / PS1,
        "source": course / "source" / PS1 / f"{PS1}.ipynb",
        "release": course / "assignments" / PS1,
        "gradebook": course / "gradebook.db",
        "alice": course / "submitted" / "alice" / PS1 / f"{PS1}.ipynb",
    }


def hand_in_code(
    world: World, written: Written, course: Path, seed: str, hostiles: Iterable[Hostile]
) -> dict[str, Hostile]:
    """Hand in a notebook for each of the submissions; returns them by student."""
    handed_in = {}
    for number, hostile in enumerate(hostiles):
        student = f"mallory{number:03d}"
        code = world.code_of(hostile, seed, **places(course))
        hand_in(course, student, written.notebook({EXERCISE: code}))
        handed_in[student] = hostile
    return handed_in


def hand_in_markup(written: Written, course: Path) -> list[str]:
    """Notebooks whose text, outputs, attachments and metadata are markup; returns students."""
    students = []

    def add(book: dict) -> None:
        students.append(f"markup{len(students):03d}")
        hand_in(course, students[-1], book)

    add(with_cells(written, *(_cell("markdown", text) for text in MARKUP)))
    comments = "".join(f"# {text.splitlines()}\n" for text in MARKUP)
    add(written.notebook({EXERCISE: f"{comments}def softmax(scores):\n    return {MARKUP!r}"}))
    for text in MARKUP[::2]:  # each is an exception's name and message
        raising = f"def softmax(scores):\n    raise type({text!r}, (Exception,), {{}})({text!r})"
        add(written.notebook({EXERCISE: raising}))
    add(with_cells(written, *(_cell("raw", text) | {"metadata": HTML} for text in MARKUP)))
    add(with_cells(written, *(_with_outputs(text) for text in MARKUP)))
    add(_in_metadata(written))
    add(_in_names(written))
    return students


HTML = {"raw_mimetype": "text/html", "format": "text/html"}


def with_cells(written: Written, *cells: dict) -> dict:
    """The released notebook with more cells."""
    book = written.notebook({})
    for number, cell in enumerate(cells):
        book["cells"].append(cell | {"id": f"more-{number}"})
    return book


def _cell(kind: str, source: str) -> dict[str, Any]:
    return {"cell_type": kind, "id": "x", "metadata": {}, "source": source}


def _with_outputs(text: str) -> dict[str, Any]:
    kinds = ("text/html", "text/markdown", "image/svg+xml", "application/javascript", "text/latex")
    data: dict[str, Any] = dict.fromkeys(kinds, text)
    widget = {"model_id": text, "version_major": 2, "version_minor": 0}
    data["application/vnd.jupyter.widget-view+json"] = widget
    outputs = [
        {"output_type": "display_data", "data": data, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "error", "ename": text, "evalue": text, "traceback": [text]},
    ]
    return _cell("code", "1") | {"outputs": outputs, "execution_count": 1}


def with_attachments() -> dict[str, Any]:
    """A cell whose pictures, their names and their types are markup."""
    picture = f"<svg xmlns='http://www.w3.org/2000/svg'>{SCRIPT}</svg>".encode()
    attachments = {
        "a.svg": {"image/svg+xml": base64.b64encode(picture).decode()},
        f"b{SCRIPT}": {f"text/html{SCRIPT}": SCRIPT},
        'c" onerror="hostile_mark(14)': {'image/png"onerror="hostile_mark(15)': "x"},
    }
    source = "\n\n".join(f"![{name}](attachment:{name})" for name in attachments)
    cell = _cell("markdown", f"{source}\n\n![nothing](attachment:nothing.png)")
    return cell | {"attachments": attachments}


def _in_metadata(written: Written) -> dict:
    book = written.notebook({})
    book["metadata"] = {
        "title": SCRIPT,
        "kernelspec": {"name": SCRIPT, "display_name": SCRIPT, "language": SCRIPT},
        "language_info": {"name": SCRIPT, "pygments_lexer": SCRIPT, "file_extension": SCRIPT},
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": SCRIPT}},
        "autograder": {"seed": SCRIPT},
    }
    for cell in book["cells"]:
        cell["metadata"] |= {"tags": [f'x" onclick="{MARK}(16)', SCRIPT], "name": SCRIPT}
    return book


def _in_names(written: Written) -> dict:
    """A cell whose id, type and grade_id are markup, and a copy of a locked one with a score."""
    book = written.notebook({})
    strange = copy.deepcopy(cell_of(book, EXERCISE)) | {"id": f'x" onclick="{MARK}(17)'}
    strange["metadata"] = {"nbgrader": {"grade_id": SCRIPT, "solution": True, "grade": True}}
    check = copy.deepcopy(cell_of(book, f"check_{EXERCISE}")) | {"id": "again"}
    check["outputs"] = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {},
         "data": {"text/plain": "4.0"}}
    ]  # fmt: skip
    book["cells"] += [strange, check, _cell(SCRIPT, "1")]
    return book


# --- the gradebook ---------------------------------------------------------------------


def dump(gradebook: Path) -> dict[str, dict[Any, tuple]]:
    """Every table: its rows by their key."""
    with sqlite3.connect(f"file:{gradebook}?mode=ro", uri=True) as database:
        names = [
            row[0] for row in database.execute("select name from sqlite_master where type='table'")
        ]
        tables = {}
        for name in names:
            cursor = database.execute(f'select * from "{name}"')
            columns = [column[0] for column in cursor.description]
            key = columns.index("id") if "id" in columns else 0
            tables[name] = {row[key]: tuple(zip(columns, row, strict=True)) for row in cursor}
    database.close()
    return tables


def owners(tables: Mapping[str, Mapping[Any, tuple]]) -> dict[tuple[str, Any], str]:
    """The student to whom a row of the gradebook belongs, where it belongs to one."""
    students: dict[tuple[str, Any], str] = {}
    rows = {(table, key): dict(row) for table in tables for key, row in tables[table].items()}
    parents = (
        ("submitted_assignment", "student_id", "student"),
        ("submitted_notebook", "assignment_id", "submitted_assignment"),
        ("grade", "notebook_id", "submitted_notebook"),
        ("comment", "notebook_id", "submitted_notebook"),
    )
    students |= {place: row["id"] for place, row in rows.items() if place[0] == "student"}
    for table, column, parent in parents:
        for place, row in rows.items():
            if place[0] == table and (parent, row[column]) in students:
                students[place] = students[parent, row[column]]
    return students


def changed_rows(
    before: Mapping[str, Mapping[Any, tuple]], after: Mapping[str, Mapping[Any, tuple]]
) -> list[tuple[str, Any]]:
    """Rows that are new, gone or different."""
    return [
        (table, key)
        for table in before.keys() | after.keys()
        for key in before.get(table, {}).keys() | after.get(table, {}).keys()
        if before.get(table, {}).get(key) != after.get(table, {}).get(key)
    ]


def text_of(path: Path) -> str:
    """A file of any content as text."""
    return path.read_bytes().decode("utf-8", "replace")


def notebook_of(path: Path) -> dict:
    """A notebook's JSON."""
    return json.loads(path.read_text("utf-8"))
