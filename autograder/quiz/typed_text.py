"""Answers as keyboards really type them: Chinese and European input methods, copied formulas.

    read_text("（２、４，７×７）")    →  "(2,4,7*7)"
    read_text("x² − √d_k")           →  "x**2 - √d_k"
    read_number("1.5 × 10³")         →  1500.0

What can be meant in two ways, such as the comma of `1,024`, is refused with a sentence and
never guessed.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from fractions import Fraction
from typing import Any, NoReturn

from autograder.quiz.answers import NotAnAnswer

# No answer needs more; a parser's work grows with it.
LONGEST = 2000
LONGEST_NUMBER = 60
# 10**308 is the largest power of ten that a float holds.
LARGEST_EXPONENT = 400

_SEPARATORS = "write the number with a decimal point and no separators: 1024.5"
_ONE_NUMBER = "write one number, for example 12.5"
_FINITE = "write a finite number"

# Full-width forms, which compatibility folding (NFKC) handles, are not listed here.
_SIGNS = {
    "-": "‐‑‒–—―−﹣－⁃",
    "*": "×✕✖⨯⨉·⋅∙•・‧∗⁎",
    "/": "÷∕⁄⧸",
    ",": "、，﹐﹑､",
    ";": "；",
    ":": "：∶",
    "(": "（﹙〔【〖",
    ")": "）﹚〕】〗",
    "[": "［「『〈《",
    "]": "］」』〉》",
    '"': "“”„‟«»＂〃",
    "'": "‘’‚‛＇",
    "->": "→⟶➝",
}
_SIGN = {ord(sign): plain for plain, signs in _SIGNS.items() for sign in signs}

_INTEGER = re.compile(r"[+-]?\d+")


def read_text(text: str) -> str:
    """The text in ASCII signs and digits, as far as there are such; letters stay.

    Superscripts become `**` before anything is folded (x² is `x**2`, not x2), subscripts `_`
    (dₖ is `d_k`); invisible characters go, white space becomes single spaces. Case is left to
    whoever compares. Raises NotAnAnswer for a text that is too long to be meant.
    """
    if len(text) > LONGEST:
        raise NotAnAnswer(f"this is too long to be read; write at most {LONGEST} characters")
    text = "".join(sign for sign in text if not _is_invisible(sign))
    if re.search(r"\d\s?[½¼¾⅐-⅞↉]", text):
        raise NotAnAnswer("write a mixed number with a decimal point: 2.5")
    text = "".join(_plain_run(kind, "".join(run)) for kind, run in itertools.groupby(text, _kind))
    text = unicodedata.normalize("NFKC", text.translate(_SIGN)).translate(_SIGN)
    text = "".join(_ascii_digit(sign) for sign in text)
    # 1。5: the full stop of an input method, where a decimal point stands
    text = re.sub(r"(?<=\d)。(?=\d)", ".", text)
    return " ".join(text.split())


def read_number(value: Any) -> float:
    """One finite number: a number, or a text such as `1024`, `1.5e3`, `2^10`, `1/9`, `3 × 10⁸`.

    Raises NotAnAnswer for anything else: separators of thousands and decimal commas, more than
    one number, `inf` and `nan`, and numbers too large for a float.
    """
    if isinstance(value, str):
        return as_float(_ratio(_unadorned(value)))
    if isinstance(value, bool):
        raise NotAnAnswer(_ONE_NUMBER)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise NotAnAnswer(_ONE_NUMBER) from None
    except OverflowError:
        _refuse_size()
    if not math.isfinite(number):
        raise NotAnAnswer(_FINITE)
    return number


def as_float(number: Fraction) -> float:
    """The nearest float; NotAnAnswer when there is none."""
    try:
        return float(number)
    except OverflowError:
        _refuse_size()


def decimal(digits: str) -> Fraction:
    """The exact value of digits with or without a point and an exponent, such as `1.5e3`.

    Raises NotAnAnswer for what is no such number, and for one too large to be meant.
    """
    # `1_024`, which Fraction would take, has no separators either
    found = re.fullmatch(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", digits, re.ASCII)
    if not found or not (found[2] or found[3]):
        raise NotAnAnswer(_ONE_NUMBER)
    if len(digits) > LONGEST_NUMBER or abs(int(found[4] or 0)) > LARGEST_EXPONENT:
        _refuse_size()
    return Fraction(f"{found[1]}{found[2] or 0}.{found[3] or 0}") * power(10, int(found[4] or 0))


def power(base: Fraction | int, exponent: int) -> Fraction:
    """base**exponent, exactly. NotAnAnswer for a power too large to be meant, or of zero."""
    base = Fraction(base)
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * size > 4 * LARGEST_EXPONENT and base not in (0, 1, -1):
        _refuse_size()
    if base == 0 and exponent < 0:
        raise NotAnAnswer("this divides by zero; write a finite number")
    return base**exponent


def _unadorned(value: str) -> str:
    text = read_text(value).strip("'\"` ").rstrip("。")
    text = re.sub(r"^[=≈~≃]", "", text).strip()
    return re.sub(r"^\(([^()]*)\)$", r"\1", text)


def _ratio(text: str) -> Fraction:
    """A product or quotient of numbers and powers."""
    if re.search(r"\b(inf(inity)?|nan)\b|∞", text, re.IGNORECASE):
        raise NotAnAnswer(_FINITE)
    if re.search(r"\d\s*[,_'\s]\s*\d", text) or "," in text or "_" in text:
        raise NotAnAnswer(_SEPARATORS)
    if text.endswith("%"):
        raise NotAnAnswer("write the number itself and not per cent: 0.75 for 75%")
    parts = re.split(r"\s*(?<!\*)([*/])(?!\*)\s*", text.replace("^", "**"))
    number = _power_of(parts[0])
    for sign, part in zip(parts[1::2], parts[2::2], strict=True):
        factor = _power_of(part)
        if sign == "/" and factor == 0:
            raise NotAnAnswer("this divides by zero; write a finite number")
        number = number * factor if sign == "*" else number / factor
    return number


def _power_of(part: str) -> Fraction:
    base, raised, exponent = (piece.strip() for piece in part.partition("**"))
    sign, digits = re.fullmatch(r"([+-]?)\s*(.*)", base, re.DOTALL).groups()  # type: ignore[union-attr]
    if digits[:1] in ("+", "-"):
        raise NotAnAnswer(_ONE_NUMBER)
    number = decimal(digits)
    if raised:
        exponent = exponent.removeprefix("(").removesuffix(")")
        if not _INTEGER.fullmatch(exponent):
            raise NotAnAnswer(_ONE_NUMBER)
        if len(exponent) > 6:
            _refuse_size()
        number = power(number, int(exponent))
    return -number if sign == "-" else number


def _refuse_size() -> NoReturn:
    raise NotAnAnswer("this number is too large to be meant") from None


def _is_invisible(sign: str) -> bool:
    """Joiners, marks of direction, soft hyphens, selectors of variants; not white space."""
    category = unicodedata.category(sign)
    if category == "Cc":
        return not sign.isspace()
    return category in ("Cf", "Cs") or "\ufe00" <= sign <= "\ufe0f" or sign == "\u3164"


def _ascii_digit(sign: str) -> str:
    digit = unicodedata.decimal(sign, None)
    return sign if digit is None else str(digit)


def _kind(sign: str) -> str:
    """`<super>`, `<sub>`, `<fraction>` … as Unicode's own tables have it; else nothing."""
    kind = unicodedata.decomposition(sign).partition(" ")[0]
    return kind if kind in ("<super>", "<sub>", "<fraction>") else ""


def _plain_run(kind: str, run: str) -> str:
    """Signs of one kind in a row, with what folding would lose written out."""
    if not kind:
        return run
    if kind == "<fraction>":
        return "".join(f"({unicodedata.normalize('NFKC', sign)})" for sign in run)
    plain = unicodedata.normalize("NFKC", run).translate(_SIGN)
    if kind == "<sub>":
        return f"_{plain}" if plain.isalnum() else f"_{{{plain}}}"
    return f"**{plain}" if plain.isdigit() or len(plain) == 1 else f"**({plain})"
