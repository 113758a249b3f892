"""Exports into gradebooks, read back by the rules of those who import them."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.export import CannotExport, Options, export
from autograder.result import total
from tests.unit.lms import Canvas, Refused, moodle, rows_of
from tests.unit.test_export import FORMULAS, OURS, PS, document, submission

# (id, SIS id, login, name): ids are what `autograder import canvas` names folders after
CLASS = [
    ("1001", "S-1", "ann@x.edu", "O'Neill, Ann"),
    ("1002", "0123", "0123", '李, "小明"'),
    ("1003", "", "=cmd@x.edu", "=HYPERLINK(1), Eve"),
    ("1004", "S-4", "+49", "Points Possible"),
    ("1005", "S-5", "zoe", "Zoe\u0301,\nline two"),
    ("1006", "S-6", "left", "Without, Submission"),
]
SCORES = {"1001": 3.5, "1002": 0.0, "1003": 2.67, "1004": 5.0, "1005": None}


def table(rows, delimiter=",", encoding="utf-8", quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=quoting).writerows(rows)
    return text.getvalue().encode(encoding)


def roster(tmp_path, rows, **form):
    path = tmp_path / "roster.csv"
    path.write_bytes(table(rows, **form))
    return path


def results(names=None, **more):
    """The class graded, by id or by other names; one of them not, through a fault of ours."""
    names = names or {name: name for name in SCORES}
    made = []
    for key, score in SCORES.items():
        kept = {"outcome": "infrastructure"} if score is None else {}
        made.append(submission(names[key], score=score, **kept, **more))
    return document(*made)


def canvas_rows(*columns, titles=(), points=(), cells=None):
    picked = {"SIS User ID": 1, "SIS Login ID": 2}
    header = ["Student", "ID", *columns, "Section", *titles, "Current Score"]
    extra = {"Integration ID": "", "Root Account": "x.instructure.com"}
    rows = [header, ["    Points Possible", *[""] * (len(columns) + 2), *points, "(read only)"]]
    rows.append(["", *[""] * (len(columns) + 2), *["Manual Posting"] * len(titles), ""])
    for who in CLASS:
        about = [who[picked[c]] if c in picked else extra[c] for c in columns]
        rows.append([who[3], who[0], *about, "=Sec 1", *((cells or {}).get(who[0], ())), "90"])
    for row in rows[3:]:
        row[len(columns) + 3 : -1] = (*row[len(columns) + 3 : -1], *[""] * len(titles))[
            : len(titles)
        ]
    return rows


def canvas(**assignments):
    students = [{"id": i, "sis": s, "login": n, "name": name} for i, s, n, name in CLASS]
    return Canvas(students, dict(assignments))


COLUMNS = [
    (),
    ("SIS Login ID",),
    ("SIS User ID", "SIS Login ID"),
    ("SIS User ID", "SIS Login ID", "Integration ID"),
    ("SIS User ID", "SIS Login ID", "Root Account"),
    ("SIS User ID", "SIS Login ID", "Integration ID", "Root Account"),
]


class TestCanvas:
    @pytest.mark.parametrize("columns", COLUMNS, ids=len)
    @pytest.mark.parametrize("form", [{}, {"encoding": "utf-8-sig"}, {"delimiter": ";"}], ids=str)
    def test_scores_arrive(self, tmp_path, columns, form):
        path = roster(tmp_path, canvas_rows(*columns), **form)
        exported = export("canvas", results(), Options(roster=path))
        course = canvas()
        grades = course.take(exported.data)[PS]
        assert grades == {
            "1001": "3.5", "1002": "0", "1003": "2.67", "1004": "5", "1005": "",
        }  # fmt: skip
        assert (course.points, course.strangers) == ({PS: 5.0}, [])
        assert exported.left_out == ()
        assert any("1 without a score" in remark for remark in exported.remarks)

    def test_sis_user_id_alone_would_make_the_header_invalid(self, tmp_path):
        path = roster(tmp_path, canvas_rows("SIS User ID"))
        with pytest.raises(Refused):
            canvas().take(path.read_bytes())
        exported = export("canvas", results(), Options(roster=path))
        assert canvas().take(exported.data)[PS]["1001"] == "3.5"

    @pytest.mark.parametrize("column", [1, 2])
    def test_students_are_found_by_login_or_by_sis_id(self, tmp_path, column):
        names = {row[0]: row[column] for row in CLASS}
        names["1003"] = CLASS[2][column] or "unknown"
        path = roster(tmp_path, canvas_rows("SIS User ID", "SIS Login ID"))
        exported = export("canvas", results(names), Options(roster=path))
        grades = canvas().take(exported.data)[PS]
        assert (grades["1001"], grades["1002"], grades["1004"]) == ("3.5", "0", "5")
        assert [who for who, _ in exported.left_out] == ([] if column == 2 else ["unknown"])

    def test_names_are_no_formulas_and_identifiers_are_exact(self, tmp_path):
        path = roster(tmp_path, canvas_rows("SIS User ID", "SIS Login ID"))
        rows = rows_of(export("canvas", results(), Options(roster=path)).data)
        names, logins = [row[0] for row in rows], [row[3] for row in rows]
        assert "'=HYPERLINK(1), Eve" in names and "'=Sec 1" in [row[4] for row in rows]
        assert {"=cmd@x.edu", "+49", "0123"} <= set(logins)

    def test_a_student_called_like_the_row_of_points_sets_none(self, tmp_path):
        path = roster(tmp_path, canvas_rows())
        data = export("canvas", results(), Options(roster=path)).data
        assert data.count(b"Points Possible") == 1

    @pytest.mark.parametrize("heading", [f"{PS} (77)", "Week 1: softmax (77)"])
    def test_a_column_that_is_there_keeps_its_heading(self, tmp_path, heading):
        path = roster(tmp_path, canvas_rows(titles=[heading, "Other (78)"], points=["5.00", "10"]))
        given_title = None if PS in heading else "Week 1: softmax"
        exported = export("canvas", results(), Options(roster=path, column=given_title))
        assert list(canvas().take(exported.data)) == [heading]
        assert not any("points in Canvas" in remark for remark in exported.remarks)

    def test_other_points_there_are_told(self, tmp_path):
        path = roster(tmp_path, canvas_rows(titles=[f"{PS} (77)"], points=["1,000.00"]))
        exported = export("canvas", results(), Options(roster=path))
        assert any("has 1,000.00 points in Canvas, and 5 here" in r for r in exported.remarks)
        exported = export("canvas", results(), Options(roster=path, out_of=1000))
        course = canvas()
        grades = course.take(exported.data)[f"{PS} (77)"]
        assert (grades["1001"], grades["1003"], grades["1004"]) == ("700", "534", "1000")
        assert course.points == {f"{PS} (77)": 1000.0}
        assert not any("points in Canvas" in remark for remark in exported.remarks)

    def test_a_grade_given_by_hand_survives_a_fault_of_ours(self, tmp_path):
        """With an empty cell Canvas would delete it."""
        rows = canvas_rows(titles=[f"{PS} (7)"], points=["5"], cells={"1005": ["4.5"]})
        exported = export("canvas", results(), Options(roster=roster(tmp_path, rows)))
        assert canvas().take(exported.data)[f"{PS} (7)"]["1005"] == "4.5"

    def test_two_columns_of_a_title(self, tmp_path):
        rows = canvas_rows(titles=[f"{PS} (7)", f"{PS} (8)"], points=["5", "5"])
        path = roster(tmp_path, rows)
        with pytest.raises(CannotExport, match=r"2 columns of that title .* --column"):
            export("canvas", results(), Options(roster=path))
        exported = export("canvas", results(), Options(roster=path, column=f"{PS} (8)"))
        assert list(canvas().take(exported.data)) == [f"{PS} (8)"]

    @pytest.mark.parametrize("score", [1024.0, 12345.67, 1234567.89])
    def test_thousands(self, tmp_path, score):
        """Canvas takes 1,024 for 1.024."""
        assert Canvas._converted("1,024") == "1.024"
        made = document(submission("1001", score=score, max_score=2e6))
        exported = export("canvas", made, Options(roster=roster(tmp_path, canvas_rows())))
        assert float(canvas().take(exported.data)[PS]["1001"]) == score

    def test_unknown_students_are_reported_and_left_out(self, tmp_path):
        made = document(submission("1001"), submission("ghost"), submission("O'Neill, Ann"))
        exported = export("canvas", made, Options(roster=roster(tmp_path, canvas_rows())))
        course = canvas()
        assert course.take(exported.data)[PS] == {"1001": "3.5"}
        assert course.strangers == []
        assert exported.left_out == (
            ("ghost", "not in the roster's column ID"),
            ("O'Neill, Ann", "not in the roster's column ID"),
        )

    def test_not_a_gradebook(self, tmp_path):
        path = roster(tmp_path, [["name", "score"], ["a", "1"]])
        with pytest.raises(CannotExport, match=r"no gradebook of Canvas.*export the gradebook"):
            export("canvas", results(), Options(roster=path))


PEOPLE = ["First name", "Last name", "ID number", "Username", "Email address"]
USERS = [
    ["Ann", "O'Neill", "S-1", "ann", "ann@x.edu"],
    ["小明", "李", "0123", "li", "li@x.edu"],
    ["=Eve", "@x", "", "=eve", "eve@x.edu"],
    ["Pat", "Possible", "S-4", "pat", "pat@x.edu"],
    ["Zoë", "a,b", "S-5", "zoe", "zoe@x.edu"],
    ["No", "Body", "S-6", "nobody", "nobody@x.edu"],
]
LOGINS = dict(zip(SCORES, ("ann", "li", "=eve", "pat", "zoe"), strict=True))


class TestMoodle:
    @pytest.mark.parametrize("key", [3, 4])
    def test_scores_arrive(self, tmp_path, key):
        path = roster(tmp_path, [PEOPLE, *USERS], encoding="utf-8-sig")
        names = dict(zip(SCORES, (user[key] for user in USERS), strict=False))
        exported = export("moodle", results(names), Options(roster=path))
        grades = moodle(exported.data, [user[key] for user in USERS], new=True)
        assert grades == {names[student]: score for student, score in SCORES.items()}
        assert rows_of(exported.data)[0] == [PEOPLE[key], PS]

    def test_one_unknown_would_end_the_whole_import(self, tmp_path):
        names = {**LOGINS, "1002": "ghost"}
        exported = export(
            "moodle", results(names), Options(roster=roster(tmp_path, [PEOPLE, *USERS]))
        )
        grades = moodle(exported.data, [user[3] for user in USERS])
        assert set(grades) == set(LOGINS.values()) - {"li"}
        assert exported.left_out == (("ghost", "not in the roster's column Username"),)
        with pytest.raises(Refused):
            moodle(exported.data + b"ghost,1\r\n", [user[3] for user in USERS])

    def test_an_id_number_that_some_lack_is_not_what_is_mapped_by(self, tmp_path):
        names = {**LOGINS, "1003": "ghost"}
        numbers = {key: user[2] or names[key] for key, user in zip(SCORES, USERS, strict=False)}
        path = roster(tmp_path, [PEOPLE, *USERS])
        exported = export("moodle", results(numbers), Options(roster=path))
        assert rows_of(exported.data)[0][0] == "ID number"
        assert moodle(exported.data, [user[2] for user in USERS])["0123"] == 0.0

    def test_a_grade_above_the_maximum(self, tmp_path):
        path = roster(tmp_path, [PEOPLE, *USERS])
        made = document(submission("ann", score=120.0, max_score=120.0))
        exported = export("moodle", made, Options(roster=path))
        assert any("--out-of 100" in remark for remark in exported.remarks)
        with pytest.raises(Refused):
            moodle(exported.data, ["ann"])
        exported = export("moodle", made, Options(roster=path, out_of=100))
        assert moodle(exported.data, ["ann"]) == {"ann": 100.0}

    def test_the_grading_worksheet(self, tmp_path):
        """By the participant's number, which is in the folders' names too."""
        header = [
            "Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade",
            "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
            "Feedback comments",
        ]  # fmt: skip
        rows = [
            [f"Participant {77 + i}", f"={user[0]}", user[4], "Submitted", "", "5.00", "Yes",
             "Monday, 2 March 2026, 8:00 PM", "-", ""]
            for i, user in enumerate(USERS)
        ]  # fmt: skip
        rows[4][4] = "4.50"  # by hand, and ours could not be graded
        names = {key: f"Name_of {i}_{77 + i}" for i, key in enumerate(SCORES)}
        path = roster(tmp_path, [header, *rows])
        exported = export("moodle", results(names), Options(roster=path))
        found = rows_of(exported.data)
        assert found[0] == header
        assert {row[0]: row[4] for row in found[1:]} == {
            "Participant 77": "3.5", "Participant 78": "0", "Participant 79": "2.67",
            "Participant 80": "5", "Participant 81": "4.50",
        }  # fmt: skip
        assert found[3][1] == "'==Eve" and found[3][8] == "-"
        with pytest.raises(CannotExport, match=r"maximum grade in Moodle is below 100.*out-of 5"):
            export("moodle", results(names), Options(roster=path, out_of=100))

    def test_no_column_to_map_by(self, tmp_path):
        path = roster(tmp_path, [["Name", "Group"], ["ann", "A"]])
        made = document(submission("ann"))
        with pytest.raises(CannotExport, match=r"looked in: no column.*--match"):
            export("moodle", made, Options(roster=path))
        with pytest.raises(CannotExport, match="no column by which Moodle"):
            export("moodle", made, Options(roster=path, match="name"))


class TestBrightspace:
    HEADER = ("OrgDefinedId", "Username", "Last Name", "Email")

    def rows(self, *titles, cells=()):
        header = [*self.HEADER, *titles, "End-of-Line Indicator"]
        people = [[f"#{i}", f"#{login}", name, "", *cells, "#"] for i, _, login, name in CLASS]
        return [header, *people]

    @pytest.mark.parametrize("column", [0, 2])
    def test_scores_arrive(self, tmp_path, column):
        names = {row[0]: row[column] for row in CLASS}
        path = roster(tmp_path, self.rows(), encoding="utf-8-sig")
        exported = export("brightspace", results(names), Options(roster=path))
        header, *rows = rows_of(exported.data)
        assert header == [
            "OrgDefinedId", "Username", f"{PS} Points Grade", "End-of-Line Indicator",
        ]  # fmt: skip
        assert {row[-1] for row in rows} == {"#"}
        assert [(row[0], row[2]) for row in rows] == [
            ("#1001", "3.5"), ("#1002", "0"), ("#1003", "2.67"), ("#1004", "5"), ("#1005", ""),
        ]  # fmt: skip

    def test_an_item_that_is_there(self, tmp_path):
        heading = f"{PS} Points Grade <Numeric MaxPoints:5 Weight:10>"
        path = roster(tmp_path, self.rows(heading, cells=["1"]))
        header, *rows = rows_of(export("brightspace", results(), Options(roster=path)).data)
        assert header[2] == heading
        assert rows[-1][2] == "1"  # ours could not be graded: nothing changes

    def test_a_name_that_brightspace_refuses(self, tmp_path):
        path = roster(tmp_path, self.rows())
        with pytest.raises(CannotExport, match="allows no / in the name"):
            export("brightspace", results(), Options(roster=path, column="a/b"))

    def test_no_key(self, tmp_path):
        path = roster(tmp_path, [["Last Name", "x"], ["a", "b"]])
        with pytest.raises(CannotExport, match="neither a column OrgDefinedId nor Username"):
            export("brightspace", results(), Options(roster=path))


class TestBlackboard:
    HEADING = f"{PS} [Total Pts: 5 Score] |23456"

    def rows(self, *headings):
        header = ["Last Name", "First Name", "Username", "Student ID", *headings]
        people = [[name, "", login, i, *[""] * len(headings)] for i, _, login, name in CLASS]
        return [header, *people]

    @pytest.mark.parametrize(
        "form",
        [
            {"encoding": "utf-16", "delimiter": "\t", "quoting": csv.QUOTE_ALL},
            {"encoding": "utf-8-sig", "quoting": csv.QUOTE_ALL},
            {},
        ],
        ids=str,
    )
    def test_scores_arrive_in_the_form_that_was_downloaded(self, tmp_path, form):
        path = roster(tmp_path, self.rows(self.HEADING), **form)
        exported = export("blackboard", results(), Options(roster=path))
        encoding = form.get("encoding", "utf-8")
        header, *rows = rows_of(exported.data, form.get("delimiter", ","), encoding)
        assert header == ["Username", self.HEADING]
        assert [tuple(row) for row in rows] == [
            ("ann@x.edu", "3.5"), ("0123", "0"), ("=cmd@x.edu", "2.67"), ("+49", "5"),
            ("zoe", ""),
        ]  # fmt: skip
        assert exported.data[:2] == (b"\xff\xfe" if encoding == "utf-16" else exported.data[:2])

    @pytest.mark.parametrize("heading", [PS, f"{PS} [Total Pts: 5 Score]", "Other |7"])
    def test_without_an_id_it_would_become_a_column_of_text(self, tmp_path, heading):
        path = roster(tmp_path, self.rows(heading))
        with pytest.raises(CannotExport, match=r"no column .* with an id; make it in Blackboard"):
            export("blackboard", results(), Options(roster=path))

    def test_other_points_there_are_told(self, tmp_path):
        path = roster(tmp_path, self.rows(f"{PS} [Total Pts: up to 20 Score] |7"))
        exported = export("blackboard", results(), Options(roster=path))
        assert any("has 20 points in Blackboard, and 5 here" in r for r in exported.remarks)


class TestRosters:
    def test_one_is_needed(self, tmp_path):
        for kind in ("canvas", "moodle", "brightspace", "blackboard"):
            with pytest.raises(CannotExport, match=f"{kind} needs --roster"):
                export(kind, results())
            with pytest.raises(CannotExport, match="cannot be read"):
                export(kind, results(), Options(roster=tmp_path / "none.csv"))
            with pytest.raises(CannotExport, match="cannot be read"):
                export(kind, results(), Options(roster=tmp_path))

    def test_an_option_that_would_do_nothing(self, tmp_path):
        for kind in ("csv", "json", "gradescope", "junit"):
            with pytest.raises(CannotExport, match=f"{kind} takes no --out-of"):
                export(kind, results(), Options(out_of=10))

    def test_options_for_one_kind(self):
        with pytest.raises(CannotExport, match=r"csv takes no --student; .* for: gradescope\)"):
            export("csv", results(), Options(student="x"))
        with pytest.raises(CannotExport, match="gradescope takes no --allow-unsandboxed"):
            export("gradescope", results(), Options(allow_unsandboxed=True))

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"one", b"\xff\xfe", b"Student,\xe4\n"])
    def test_what_is_no_table(self, tmp_path, data):
        path = tmp_path / "roster.csv"
        path.write_bytes(data)
        for kind in ("canvas", "moodle", "brightspace", "blackboard"):
            with pytest.raises(CannotExport):
                export(kind, results(), Options(roster=path))

    @given(st.binary(max_size=200))
    def test_any_bytes_are_a_table_or_refused_in_a_sentence(self, tmp_path_factory, data):
        path = tmp_path_factory.getbasetemp() / "any.csv"
        path.write_bytes(b"Student,ID,Section\n" + data)
        try:
            export("canvas", results(), Options(roster=path))
        except CannotExport as problem:
            assert "\n" not in str(problem)[:40] and str(problem)

    def test_two_people_with_one_identifier_get_nothing(self, tmp_path):
        rows = [PEOPLE, *USERS, ["Ann", "Twin", "S-9", "ANN", ""], ["A", "B", "", "ann", ""]]
        exported = export("moodle", results(LOGINS), Options(roster=roster(tmp_path, rows)))
        assert exported.left_out == (("ann", "2 rows have this Username"),)

    def test_two_of_ours_for_one_row_get_nothing(self, tmp_path):
        made = document(submission("Ann"), submission("ANN"), submission("li"))
        exported = export("moodle", made, Options(roster=roster(tmp_path, [PEOPLE, *USERS])))
        assert [who for who, _ in exported.left_out] == ["Ann", "ANN"]
        assert moodle(exported.data, [user[3] for user in USERS]) == {"li": 3.5}

    def test_capitals_do_not_matter_where_they_are_all_the_difference(self, tmp_path):
        made = document(submission("LI"))
        exported = export("moodle", made, Options(roster=roster(tmp_path, [PEOPLE, *USERS])))
        assert moodle(exported.data, [user[3] for user in USERS]) == {"li": 3.5}

    def test_the_column_of_names_can_be_told(self, tmp_path):
        rows = [[*PEOPLE, "Group"], *([*user, f"team {i}"] for i, user in enumerate(USERS))]
        path = roster(tmp_path, rows)
        exported = export(
            "moodle", document(submission("team 1")), Options(roster=path, match="group")
        )
        assert moodle(exported.data, [user[3] for user in USERS]) == {"li": 3.5}
        with pytest.raises(CannotExport, match="has no column Team; it has: First name, "):
            export("moodle", results(), Options(roster=path, match="Team"))

    @pytest.mark.parametrize("formula", FORMULAS)
    def test_a_name_that_is_a_formula(self, tmp_path, formula):
        rows = [["Student", "ID", "Section"], [formula, "7", formula]]
        data = export(
            "canvas", document(submission("7")), Options(roster=roster(tmp_path, rows))
        ).data
        assert rows_of(data)[2] == [f"'{formula}", "7", f"'{formula}", "3.5"]


def test_scores_are_rounded_once(tmp_path):
    """Scaled from the document's score, not from a rounded one of its parts."""
    path = roster(tmp_path, [PEOPLE, *USERS])
    made = document(submission("ann", score=total(OURS.exercises[1:]), max_score=3.0))
    exported = export("moodle", made, Options(roster=path, out_of=100))
    assert moodle(exported.data, ["ann"]) == {"ann": 66.67}
