"""The symbols of a formula: how they are declared, and what a name that was typed stands for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.exercise import AuthoringError
from autograder.quiz.answers import NotAnAnswer

FUNCTIONS = {
    "sqrt": "sqrt",
    "log": "log",
    "ln": "log",
    "log2": "log2",
    "log10": "log10",
    "exp": "exp",
    "abs": "abs",
    "sin": "sin",
    "cos": "cos",
    "floor": "floor",
    "ceil": "ceil",
}
CONSTANTS = ("pi", "e")

_KEYS = ("low", "high", "real", "multiple_of")


@dataclass(frozen=True)
class Symbol:
    """A symbol and the values at which formulas are compared: whole numbers, unless `real`.

    low, high: the least and the largest of them. multiple_of: another symbol that divides it,
    such as the number of heads a width; the factor then lies between low and high.
    """

    name: str
    low: float = 2
    high: float = 1000
    real: bool = False
    multiple_of: str = ""


# A list of names and of maps of one name each, or one map of all names.
Entries = Iterable[str | Mapping[str, Any] | Symbol] | Mapping[str, Any]


def read_symbols(entries: Entries) -> tuple[Symbol, ...]:
    """Symbols as quiz.yaml lists them: `[n, d_k, {theta: {low: -3, high: 3, real: true}}]`.

    One map, `{n: {}, theta: {real: true}}`, does as well.

    Raises AuthoringError with the fault and the fix.
    """
    if isinstance(entries, Mapping):
        entries = [{name: options or {}} for name, options in entries.items()]
    symbols = tuple(_symbol(entry) for entry in entries)
    names = [symbol.name for symbol in symbols]
    for symbol in symbols:
        if names.count(symbol.name) > 1:
            raise AuthoringError(f"symbols: {symbol.name} stands there twice; leave one out")
        parents = [other for other in symbols if other.name == symbol.multiple_of]
        if symbol.multiple_of and not (parents and not parents[0].multiple_of):
            raise AuthoringError(
                f"symbols: {symbol.name} is a multiple of {symbol.multiple_of}, which is to be "
                "another symbol of the list, and a multiple of none; name such a one"
            )
    return symbols


def _symbol(entry: str | Mapping[str, Any] | Symbol) -> Symbol:
    if isinstance(entry, Symbol):
        return entry
    name: Any = entry
    options: Any = {}
    if isinstance(entry, Mapping):
        if len(entry) != 1:
            raise AuthoringError(
                f"symbols: {dict(entry)!r} is not one symbol; write n, or {{n: …}}"
            )
        ((name, options),) = entry.items()
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", spelled(name)):
        raise AuthoringError(f"symbols: {name!r} is no name; write letters, such as d_k")
    name = spelled(name)
    if name in FUNCTIONS:
        raise AuthoringError(f"symbols: {name} is a function; choose another name")
    if not isinstance(options, Mapping) or not set(options) <= set(_KEYS):
        raise AuthoringError(f"symbols: of {name} can be said {', '.join(_KEYS)}, and no more")
    real = options.get("real", False) is True
    low, high = options.get("low", -10 if real else 2), options.get("high", 10 if real else 1000)
    for value in (low, high):
        if isinstance(value, bool) or not isinstance(value, (int, float) if real else int):
            raise AuthoringError(f"symbols: {name} goes to {value!r}; write a number")
    if not -(10**6) <= low < high <= 10**6:
        raise AuthoringError(
            f"symbols: {name} goes from {low} to {high}; let it go up, and within a million"
        )
    return Symbol(name, low, high, real, str(options.get("multiple_of", "")))


def spelled(text: str) -> str:
    """Greek letters by their names, each as a name of its own: 2πσ_x is `2 pi sigma_x`."""
    out: list[str] = []
    for sign in text:
        words = unicodedata.name(sign, "").split()
        if len(words) == 4 and words[0] == "GREEK" and words[2] == "LETTER":
            letter = {"lamda": "lambda"}.get(words[3].lower(), words[3].lower())
            if out and out[-1][-1].isalpha():
                out.append(" ")
            out.append((letter if words[1] == "SMALL" else letter.capitalize()) + " ")
        elif sign == "_" and out and out[-1].endswith(" "):
            out[-1] = out[-1].rstrip() + sign
        else:
            out.append(sign)
    return "".join(out).strip()


def meant_by(name: str, symbols: Sequence[Symbol]) -> list[str]:
    """The symbols, function or constant that a typed name stands for: several for a product.

    Case and underscores count only where they must: `D_K` and `dk` are d_k unless that leaves
    a doubt, and `nd_k` is n times d_k. Raises NotAnAnswer for a name that is none of these.
    """
    names = [symbol.name for symbol in symbols]
    if name in names:
        return [name]
    if name.casefold().replace("_", "") in FUNCTIONS:
        return [FUNCTIONS[name.casefold().replace("_", "")]]
    whole = _alike(name, names)
    if len(whole) == 1 and not _products(name, names):
        return whole
    if not whole and (name in CONSTANTS or name.casefold() == "pi"):
        return [name.lower()]
    ways = [[one] for one in whole] + _products(name, names)
    if len(ways) == 1:
        return ways[0]
    listed = ", ".join(names)
    if ways:
        raise NotAnAnswer(f"{name} can be read in two ways; write · between factors: {listed}")
    raise NotAnAnswer(f"there is no {name} here; the symbols are {listed}")


def _key(name: str) -> str:
    return name.replace("_", "").casefold()


def _alike(name: str, names: Sequence[str]) -> list[str]:
    if name in names:
        return [name]
    return [other for other in names if _key(other) == _key(name) and name[0] != "_"]


def _products(name: str, names: Sequence[str]) -> list[list[str]]:
    """The ways in which a name is two symbols or more in a row; at most a few are looked for."""
    found: list[list[str]] = []

    def go_on(rest: str, so_far: list[str]) -> None:
        if len(found) > 1 or len(so_far) > 4:
            return
        if not rest and len(so_far) > 1:
            found.append(so_far)
        for end in range(1, len(rest) + 1):
            if rest[end : end + 1] == "_" or (rest[end : end + 1].isdigit()):
                continue
            for other in _alike(rest[:end], names):
                go_on(rest[end:], [*so_far, other])

    if len(name) <= 30:
        go_on(name, [])
    return found
