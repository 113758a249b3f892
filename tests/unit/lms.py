"""What the importers of learning management systems do with a file, after their documentation
and, for Canvas and Moodle, their source; written to be read beside the exports they check."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class Refused(Exception):
    """The LMS takes nothing of the file."""


def rows_of(data: bytes, delimiter: str = ",", encoding: str = "utf-8-sig") -> list[list[str]]:
    text = data.decode(encoding)
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


@dataclass
class Canvas:
    """A course: students as {id, login, sis, name}, assignments as title → points by id."""

    students: Sequence[Mapping[str, str]]
    assignments: dict[int, tuple[str, float]] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)

    def take(self, data: bytes) -> dict[str, dict[str, str]]:
        """Title → student's id → grade, as the importer would offer it."""
        rows = [[self._converted(value) for value in row] for row in rows_of(data)]
        header = rows[0]
        if not ("Student" in header[0] and "ID" in header[1] and len(header) > 3):
            raise Refused("Invalid header row")
        columns, sis, login = 3, None, None
        if re.search(r"SIS\s+Login\s+ID", header[2]):
            login, columns = 2, 4
        elif re.search(r"SIS\s+User\s+ID", header[2]) and re.search(r"SIS\s+Login", header[3]):
            sis, login = 2, 3
            integration = bool(re.search(r"Integration\s+ID", header[4]))
            columns = 5 + integration
            columns += bool(re.search(r"Root\s+Account", header[4 + integration]))
        if "Section" not in header[columns - 1]:
            raise Refused("Invalid header row")
        grades: dict[str, dict[str, str]] = {title: {} for title in header[columns:]}
        for row in rows[1:]:
            if "Points Possible" in row[0]:
                for title, value in zip(header[columns:], row[columns:], strict=True):
                    self.points[title] = float(value)
                continue
            student = self._find(row, sis, login)
            if student is None:
                self.strangers.append(row[0])
                continue
            for title, value in zip(header[columns:], row[columns:], strict=True):
                grades[title][student["id"]] = value.strip()
        return grades

    def _find(
        self, row: Sequence[str], sis: int | None, login: int | None
    ) -> Mapping[str, str] | None:
        for index, key in ((1, "id"), (sis, "sis"), (login, "login"), (0, "name")):
            for student in self.students:
                if index is not None and row[index] and student.get(key) == row[index]:
                    return student
        return None

    @staticmethod
    def _converted(value: str) -> str:
        if not re.fullmatch(r"-?[0-9.,]+%?", value):
            return value
        *whole, last = re.split(r"[,.]", value)
        return f"{''.join(whole)}.{last}" if whole else last


def moodle(
    data: bytes, users: Sequence[str], *, maximum: float = 100.0, new: bool = False
) -> dict[str, float | None]:
    """User → grade. The first line that does not fit ends the import, and nothing is taken."""
    _, *rows = rows_of(data)
    grades: dict[str, float | None] = {}
    for user, value in rows:
        if users.count(user) != 1:
            raise Refused(f"User mapping error: could not find user with {user}")
        if value.strip() == "-":
            grades[user] = None
        elif value == "":
            grades[user] = 0.0 if new else None  # a new item's empty grade is stored as a 0
        else:
            if not re.fullmatch(r"\d+(\.\d+)?", value):
                raise Refused(f"The grade value {value} is not numeric")
            if float(value) > maximum:
                raise Refused(f"One of the grade values is larger than {maximum}")
            grades[user] = float(value)
    return grades
