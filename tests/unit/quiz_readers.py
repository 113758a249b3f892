"""Readers of what LMSs import, none of which knows how we write it.

`moodle` and `gift_in_moodle` follow Moodle's own importers, format.php of question/format/xml and
/gift: what they take, what they refuse, which shares of the points they know. `gift` is read by
pygiftparser, QTI by qti2latex.
"""

import html
import io
import re
import warnings
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass, field
from urllib.parse import unquote

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of their own: old regular expressions, locale's functions
    import pygiftparser.parser as gift_parser
    import qti2latex

# question/engine/bank.php, the grade options: others are an error when a file is imported
FRACTIONS = [100, 90, 83.33333, 80, 75, 70, 66.66667, 60, 50, 40, 33.33333, 30, 25, 20, 16.66667]
FRACTIONS += [14.28571, 12.5, 11.11111, 10, 5, 0]

ORDERED = ["single", "shuffleanswers", "answernumbering", "usecase", "layouttype", "selecttype"]
ORDERED += ["selectcount", "gradingtype", "showgrading", "numberingstyle", "unitgradingtype"]
ORDERED += ["unitpenalty", "showunits", "unitsleft"]
HEADERS = ["name", "questiontext", "generalfeedback", "defaultgrade", "penalty", "hidden"]


@dataclass
class Read:
    """A question as a program understood it. answers: (share in percent, text, feedback)."""

    name: str
    kind: str
    text: str
    category: str = ""
    explanation: str = ""
    points: float | None = None
    answers: list = field(default_factory=list)
    tolerances: list = field(default_factory=list)
    pairs: list = field(default_factory=list)
    units: dict = field(default_factory=dict)
    single: bool = False


def moodle(data: bytes) -> list[Read]:
    root = ET.fromstring(data)
    assert root.tag == "quiz"
    found, category = [], ""
    for entry in root:
        assert entry.tag == "question"
        if entry.get("type") == "category":
            category = entry.findtext("category/text")
            assert category.startswith("$course$/top/")
            continue
        found.append(_moodle_question(entry, category))
    return found


def _moodle_question(entry, category):
    known = {*HEADERS, *ORDERED, "answer", "subquestion", "units"}
    assert {child.tag for child in entry} <= known
    for tag in HEADERS:
        # a Cloze question has the points of its fields
        expected = 0 if (tag, entry.get("type")) == ("defaultgrade", "cloze") else 1
        assert len(entry.findall(tag)) == expected, tag
    assert entry.find("questiontext").get("format") == "html"
    read = Read(
        name=entry.findtext("name/text"),
        kind=entry.get("type"),
        text=entry.findtext("questiontext/text"),
        category=category,
        explanation=entry.findtext("generalfeedback/text"),
        points=float(entry.findtext("defaultgrade", "0")),
        single=entry.findtext("single") == "true",
    )
    assert 0 <= float(entry.findtext("penalty")) <= 1
    for answer in entry.findall("answer"):
        share = float(answer.get("fraction"))
        text = answer.findtext("text")
        read.answers.append((share, text, answer.findtext("feedback/text", "")))
        if read.kind == "numerical":
            float(text)
            read.tolerances.append(float(answer.findtext("tolerance")))
        if read.kind != "ordering":
            assert any(abs(abs(share) - each) < 1e-5 for each in FRACTIONS), share
    for pair in entry.findall("subquestion"):
        right = pair.findtext("answer/text")
        assert right and "<" not in html.unescape(right).replace("< ", "")  # shown as plain text
        read.pairs.append((pair.findtext("text") or "", right))
    for unit in entry.findall("units/unit"):
        read.units[unit.findtext("unit_name")] = float(unit.findtext("multiplier"))
    _moodle_rules(entry, read)
    return read


def _moodle_rules(entry, read):
    shares = [share for share, _, _ in read.answers]
    if read.kind == "multichoice":
        assert len(shares) >= 2
        positive = sum(share for share in shares if share > 0)
        assert max(shares) == 100 if read.single else abs(positive - 100) < 0.01
    elif read.kind in ("numerical", "shortanswer"):
        assert max(shares) == 100
        # a star stands for any text in a short answer
        assert read.kind == "numerical" or not any("*" in text for _, text, _ in read.answers)
        if read.kind == "numerical":
            assert entry.findtext("showunits") == ("0" if read.units else "3")
            assert not read.units or 1.0 in read.units.values()
    elif read.kind == "matching":
        assert len([left for left, _ in read.pairs if left]) >= 2 and len(read.pairs) >= 3
    elif read.kind == "cloze":
        fields = re.findall(r"\{(\d*):NUMERICAL:=(-?[\d.]+):([\d.]+)\}", read.text)
        assert fields and read.text.count("NUMERICAL") == len(fields)
        read.points = float(sum(int(weight or 1) for weight, _, _ in fields))
        read.answers = [(100.0, value, "") for _, value, _ in fields]
        read.tolerances = [float(allowed) for _, _, allowed in fields]
    elif read.kind == "ordering":
        assert shares == list(range(1, len(shares) + 1))
        assert entry.findtext("selecttype") == "ALL"
        assert entry.findtext("gradingtype") in ("ABSOLUTE_POSITION", "LONGEST_ORDERED_SUBSET")
    else:
        raise AssertionError(f"Moodle has no {read.kind}")


def gift(data: bytes) -> list[Read]:
    found = []
    # pygiftparser knows no minus sign: it gets digits in its place, which are taken out again
    text = re.sub(r"(=%\d+%)-(?=\d)", rf"\g<1>{_MINUS}", data.decode("utf-8"))
    for question in gift_parser.parseFile(io.StringIO(text)):
        if not question.source.strip():
            continue
        assert question.valid
        assert question.markup == "html"
        read = Read(
            name=question.title,
            kind=type(question.answers).__name__,
            text=_gift_text(question.text),
            category=question.cat,
            explanation=_gift_text(question.generalFeedback),
        )
        for answer in question.answers.answers:
            if read.kind == "MatchingSet":
                read.pairs.append((_gift_text(answer.question), _gift_text(answer.answer)))
                continue
            numeric = read.kind == "NumericAnswerSet"
            value = _signed(answer.value) if numeric else _gift_text(answer.answer)
            read.answers.append((answer.fraction, value, _gift_text(answer.feedback)))
            if numeric:
                read.tolerances.append(float(answer.tolerance))
        found.append(read)
    return found


def gift_in_moodle(data: bytes) -> list[Read]:
    """Step by step as its readquestion(): placeholders for what is escaped, then cuts."""
    found, category = [], ""
    for block in re.split(r"\n\s*\n", data.decode("utf-8")):
        lines = ["" if line.strip().startswith("//") else line for line in block.split("\n")]
        text = _held("\n".join(lines).strip())
        if text.startswith("$CATEGORY:"):
            category = text[10:].strip()
        elif text:
            found.append(_gift_question(text, category))
    return found


_ESCAPED = {f"\\{sign}": f"&&{ord(sign):03};" for sign in ":#={}~"} | {"\\n": "&&010;"}


def _held(text):
    text = text.replace("\\\\", "&&092;")
    for escaped, place in _ESCAPED.items():
        text = text.replace(escaped, place)
    return text.replace("&&092;", "\\")


def _released(text):
    return re.sub(r"&&(0\d\d|1\d\d);", lambda place: chr(int(place[1])), text).strip()


def _gift_question(text, category):
    assert text.startswith("::")
    name, _, text = text[2:].partition("::")
    start, finish = text.index("{"), text.index("}")
    assert text.endswith("}") and finish == len(text) - 1
    head, inner = text[:start].strip(), text[start + 1 : finish].strip()
    assert head.startswith("[html]")
    inner, _, general = inner.rpartition("####")
    read = Read(_released(name), "", _released(head[6:]), category, _released(general))
    inner = inner.strip()
    if inner.startswith("#"):
        read.kind = "numerical"
        answers = [answer.strip() for answer in inner[1:].split("=") if answer.strip()]
    elif "~" in inner:
        read.kind, read.single = "multichoice", "=" in inner
        parts = inner.replace("=", "~=").split("~")
        answers = [part.strip() for part in parts if part.strip()]
        assert len(answers) >= 2
    else:
        read.kind = "matching" if "->" in inner else "shortanswer"
        answers = [answer.strip() for answer in inner.split("=") if answer.strip()]
    for answer in answers:
        _gift_answer(answer, read)
    return read


def _gift_answer(answer, read):
    if read.kind == "matching":
        left, arrow, right = answer.partition("->")
        assert arrow
        read.pairs.append((_released(left), _released(right)))
        return
    share = 0.0 if read.kind == "multichoice" else 100.0
    weight = re.match(r"%-*([0-9]{1,2})\.?([0-9]*)%", answer)
    if weight:
        share, answer = float(answer[1 : answer.index("%", 1)]), answer[weight.end() :]
    elif read.kind == "multichoice" and answer.startswith("="):
        share, answer = 100.0, answer[1:]
    assert any(abs(abs(share) - each) < 1e-5 for each in FRACTIONS), share
    text, _, said = answer.partition("#")
    text = _released(text)
    if read.kind == "numerical":
        text, _, allowed = text.partition(":")
        read.tolerances.append(float(allowed or 0))
        float(text)
    read.answers.append((share, text, _released(said)))


_MINUS = "31415926"


def _signed(value: float) -> float:
    digits = f"{value:.12g}"
    return -float(digits.removeprefix(_MINUS)) if digits.startswith(_MINUS) else value


def _gift_text(text: str) -> str:
    # pygiftparser takes the \n of \\nabla for a line break, which we write none of
    text = text.replace("\\\n", "\\\\n")
    text = re.sub(r"\\([\\~=#{}:])", r"\1", text).strip()
    return text.replace("&#123;", "{").replace("&#125;", "}").replace("&#37;", "%")


def qti(data: bytes) -> list[Read]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        assert package.testzip() is None
        manifest = ET.fromstring(package.read("imsmanifest.xml"))
        resources = [each.get("href") for each in manifest.iter() if each.get("href")]
        assert set(resources) <= set(package.namelist())
        (name,) = (
            each for each in package.namelist()
            if each.endswith(".xml") and "_assessment_" in each.rpartition("/")[2]
        )  # fmt: skip
        root = ET.fromstring(package.read(name))
    groups = {}
    for section in qti2latex.findall_anyns(root, "section"):
        picked, points, items = qti2latex.get_group(section)
        if picked:
            assert picked == 1
            groups |= {item.get("ident"): (section.get("ident"), points) for item in items}
    return [_qti_item(item, groups) for item in qti2latex.findall_anyns(root, "item")]


def _qti_item(item, groups):
    meta = qti2latex.get_qti_metadata(item)
    group, points = groups.get(item.get("ident"), ("", None))
    # conditions that only show feedback say nothing of what is right
    for processing in qti2latex.findall_anyns(item, "resprocessing"):
        for condition in qti2latex.childall_anyns(processing, "respcondition"):
            if not qti2latex.findall_anyns(condition, "setvar"):
                processing.remove(condition)
    right = qti2latex.get_correct_idents(item)
    read = Read(
        name=item.get("title"),
        kind=qti2latex.guess_type(meta, item),
        text=_qti_text(qti2latex.get_item_stem(item)),
        category=group,
        points=float(meta["points_possible"]) if points is None else points,
    )
    said = {
        each.get("ident"): _qti_text(each.findtext(".//{*}mattext"))
        for each in qti2latex.findall_anyns(item, "itemfeedback")
    }
    read.explanation = said.get("general_fb", "")
    for ident, text in qti2latex.get_choices(item):
        share = 100 if ident in right else 0
        read.answers.append((share, _qti_text(text), said.get(f"{ident}_fb", "")))
    if read.kind == "short_answer_question":
        read.answers = [(100, text, "") for text in sorted(right)]
    if read.kind == "numerical_question":
        (low,) = {float(each.text) for tag in ("vargte", "vargt")
                  for each in qti2latex.findall_anyns(item, tag)}  # fmt: skip
        (high,) = {float(each.text) for each in qti2latex.findall_anyns(item, "varlte")}
        read.tolerances = [low, high]
    return read


def _qti_text(text: str | None) -> str:
    """Canvas's pictures of formulas back as formulas, and typographic quotes as typed."""
    text = re.sub(r'<img[^>]*data-equation-content="([^"]*)"[^>]*>', _formula, text or "")
    text = re.sub(r'<img[^>]*src="/equation_images/([^"]*)"[^>]*>', _formula, text)
    for entity, plain in (("rsquo", "'"), ("lsquo", "'"), ("ldquo", '"'), ("rdquo", '"')):
        text = text.replace(f"&{entity};", plain)
    return text


def _formula(found):
    return rf"\({html.unescape(unquote(unquote(found[1])))}\)"
