"""A file of a release taken apart into named places, and each place out of its disguises.

A place is a cell's source, one of its outputs, its metadata or an attachment; what the
self-check key says of an exercise; one of its arrays; a member of an archive. Whatever is
in a place may be packed (zlib, gzip, zip, tar, compiled Python), encoded (base64, hex, escapes,
UTF-16) or written backwards, several times over.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import contextlib
import io
import json
import lzma
import marshal
import re
import tarfile
import types
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import MAGIC_NUMBER
from typing import Any

# How often something may be packed or encoded in something else.
DEPTH = 4
# An archive that unpacks to more than this is no release.
LARGEST = 64 << 20

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")
_LINE_BROKEN = re.compile(r"(?<=[A-Za-z0-9+/]{60})(?:\\r|\\n|\s)+(?=[A-Za-z0-9+/=])")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){12,}")
_HEX_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}){4,}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([nrtbf\"'/\\]))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_NUMBERS = re.compile(r"(?:\d{1,3}\s*,\s*){12,}\d{1,3}")
_WORDS = re.compile(rb"[\t\n\r -~]{10,}")
_PACKED = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08|BZh[1-9]|\xfd7zXZ\x00|PK\x03\x04")


@dataclass(frozen=True)
class Place:
    """A part of a file. `json` is its value where it is JSON, `exercise` whose part it is."""

    where: str
    data: bytes
    json: Any = None
    exercise: str = ""
    is_code: bool = False


def places_of(name: str, data: bytes) -> Iterator[Place]:
    """The places of a file; the whole file, where it is none that is known."""
    try:
        if name.endswith(".ipynb"):
            yield from _notebook(json.loads(data))
            return
        if name.endswith(".safetensors"):
            yield from _key(data)
            return
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # not of that form: all of it is one text
    yield Place("", data, is_code=name.endswith(".py"))


def _notebook(book: dict[str, Any]) -> Iterator[Place]:
    rest = {key: value for key, value in book.items() if key != "cells"}
    yield _json_place("the notebook's metadata", rest)
    for number, cell in enumerate(book["cells"], 1):
        about = cell.get("metadata", {}).get("nbgrader", {})
        name = f"cell {about.get('grade_id') or cell.get('id') or number}"
        source = _joined(cell.get("source", ""))
        yield Place(name, source.encode(), is_code=cell.get("cell_type") == "code")
        for count, output in enumerate(cell.get("outputs", ()), 1):
            yield _json_place(f"{name}, output {count}", output)
        for key, value in cell.items():
            if key not in ("source", "outputs"):
                yield _json_place(f"{name}, {key}", value)


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def _key(data: bytes) -> Iterator[Place]:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    for key, text in metadata.items():
        document = json.loads(text) if key == "autograder" else text
        exercises = document.pop("exercises", []) if isinstance(document, dict) else []
        yield _json_place("what is said of the set", document)
        for exercise in exercises:
            yield _json_place(f"exercise {exercise['name']}", exercise, exercise["name"])
    yield _json_place("names of arrays", list(header))
    for name, about in header.items():
        start, end = about["data_offsets"]
        yield Place(f"array {name}", data[8 + size + start : 8 + size + end])
    last = max((about["data_offsets"][1] for about in header.values()), default=0)
    yield Place("bytes behind the arrays", data[8 + size + last :])


def _json_place(where: str, value: Any, exercise: str = "") -> Place:
    text = "\n|\n".join(_plain_strings(value))  # two encoded ones must not run into one
    return Place(where, text.encode("utf-8", "surrogatepass"), value, exercise)


def _plain_strings(value: Any) -> Iterator[str]:
    """Every text, key and number in a JSON value; `key: value` where the value is one of them."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict):
                yield str(key)
                yield from _plain_strings(item)
            elif isinstance(item, list) and item and all(isinstance(x, str) for x in item):
                yield f"{key}: {''.join(item)}"  # lines, as notebooks have them
                yield from item
            elif isinstance(item, list):
                yield str(key)
                yield from _plain_strings(item)
            else:
                yield f"{key}: {item}"
                yield str(item)
    elif isinstance(value, list):
        for item in value:
            yield from _plain_strings(item)
    else:
        yield str(value)


def leaves(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys too."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        yield value


def members(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every file of an archive: a wheel, a zip or a tar file."""
    if zipfile.is_zipfile(io.BytesIO(data)) and data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if not info.is_dir() and info.file_size <= LARGEST:
                    yield info.filename, archive.read(info)
    elif name.endswith((".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz")):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive_:
            for member in archive_:
                content = archive_.extractfile(member) if member.isfile() else None
                if content is not None and member.size <= LARGEST:
                    yield member.name, content.read()


# --- out of disguises ------------------------------------------------------------------


def readings(data: bytes) -> Iterator[tuple[str, str]]:
    """(disguise, text) of everything that can be read in some bytes; first the plain text."""
    seen: set[int] = set()
    todo: list[tuple[str, bytes, int]] = [("", data, 0)]
    while todo:
        how, piece, depth = todo.pop()
        if not piece or hash(piece) in seen:
            continue
        seen.add(hash(piece))
        text = piece.decode("utf-8", "replace")
        yield how, text
        if depth < DEPTH:
            todo += [
                (f"{how}, {step}" if how else step, inner, depth + 1)
                for step, inner in _inside(piece, text)
            ]
            if "backwards" not in how:
                todo.append(
                    (f"{how}, backwards" if how else "backwards", _reversed(text), depth + 1)
                )


def _inside(data: bytes, text: str) -> Iterator[tuple[str, bytes]]:
    """What one step of unpacking or decoding finds."""
    yield from _unpacked(data)
    if data.count(b"\0") * 3 >= len(data):
        yield "UTF-16", data.replace(b"\0", b"")
    if "\\" in text and (plain := _ESCAPE.sub(_unescape, text)) != text:
        yield "escaped", plain.encode("utf-8", "replace")
    for run in _HEX_ESCAPES.findall(text):
        yield "escaped", bytes.fromhex(run.replace("\\x", ""))
    for run in _HEX.findall(text):
        yield "hex", bytes.fromhex(run)
    for run in _BASE64.findall(_LINE_BROKEN.sub("", text)):
        for start in range(4):
            if (found := _from_base64(run[start:])) and _tells(found):
                yield "base64", found
    for run in _NUMBERS.findall(text):
        codes = [int(code) for code in run.split(",")]
        if all(9 <= code < 256 for code in codes):
            yield "numbers of letters", bytes(codes)


def _reversed(text: str) -> bytes:
    return text[::-1].encode("utf-8", "replace")


def _unescape(found: re.Match[str]) -> str:
    four, eight, two, single = found.groups()
    if single:
        return _ESCAPED.get(single, single)
    code = int(four or eight or two, 16)
    return chr(code) if code < 0x110000 else found[0]


def _from_base64(run: str) -> bytes:
    run = run.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(run[: len(run) // 4 * 4] + _padded(run[len(run) // 4 * 4 :]))
    except (ValueError, binascii.Error):
        return b""


def _padded(rest: str) -> str:
    return rest + "=" * (4 - len(rest)) if len(rest) > 1 else ""


def _tells(data: bytes) -> bool:
    """Whether decoding has given a text or something packed, not noise."""
    if _PACKED.match(data) or data[:4] == MAGIC_NUMBER or data[:4] == b"\x89PNG":
        return True
    if _WORDS.search(data):
        return True
    text = data[:48].decode("utf-8", "replace")
    good = sum(character.isprintable() or character in "\n\r\t" for character in text)
    return good - 2 * text.count("\ufffd") >= 0.6 * len(text)


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data[:4] == MAGIC_NUMBER:
        with contextlib.suppress(ValueError, EOFError, TypeError):
            yield "compiled Python", "\n".join(_constants(marshal.loads(data[16:]))).encode()
    for number, found in enumerate(_PACKED.finditer(data)):
        if number == 20:
            break
        rest = data[found.start() :]
        if rest[:2] == b"PK":
            try:
                for name, content in members("a zip", rest):
                    yield f"{name} in a zip", content
            except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
                pass
            break  # its other members have the same mark
        if content := _decompressed(rest):
            yield "compressed", content


def _decompressed(data: bytes) -> bytes:
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: zlib.decompressobj(47).decompress(data, LARGEST),  # zlib or gzip
        lambda: bz2.BZ2Decompressor().decompress(data, LARGEST),
        lambda: lzma.LZMADecompressor().decompress(data, LARGEST),
    )
    for unpack in ways:
        with contextlib.suppress(zlib.error, OSError, lzma.LZMAError, EOFError, ValueError):
            return unpack()
    return b""


def _constants(code: types.CodeType) -> Iterator[str]:
    """Names and texts of compiled code, and its digests, by which a function is known again."""
    yield fingerprint(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield f"def {constant.co_name}("
            yield from _constants(constant)
        else:
            yield repr(constant) if not isinstance(constant, str) else constant


def fingerprint(code: types.CodeType) -> str:
    """What stays of a function when it is compiled: its names and numbers, as one word."""
    numbers = [c for c in code.co_consts if isinstance(c, int | float | tuple)]
    names = repr((code.co_names, code.co_varnames, numbers))
    return f"compiled_{zlib.crc32(names.encode()):08x}"
