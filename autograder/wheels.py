"""This package as a wheel, made of what is installed: no build tool, no network.

A wheel is a zip file of the package and of a folder of metadata; ours is pure Python. An
editable installation gives the files as they are now.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import autograder

DISTRIBUTION = "attention-autograder"
# Zip files with equal contents are equal bytes.
DATE = (1980, 1, 1, 0, 0, 0)
_METADATA = ("METADATA", "entry_points.txt")


def wheel() -> tuple[str, bytes]:
    """(name, bytes) of the wheel."""
    distribution = importlib.metadata.distribution(DISTRIBUTION)
    stem = f"{DISTRIBUTION.replace('-', '_')}-{distribution.version}"
    about = f"{stem}.dist-info"
    members = dict(package_files())
    for name in _METADATA:
        members[f"{about}/{name}"] = (distribution.read_text(name) or "").encode()
    members[f"{about}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: autograder export\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in members.items())
    members[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    return f"{stem}-py3-none-any.whl", packed(
        {name: (data, 0o644) for name, data in members.items()}
    )


def package_files() -> Iterator[tuple[str, bytes]]:
    """(path in a wheel, content) of every file of this package, in order."""
    folder = Path(autograder.__file__).parent
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder.parent)
        if path.is_file() and "__pycache__" not in inside.parts:
            yield inside.as_posix(), path.read_bytes()


def packed(members: dict[str, tuple[bytes, int]]) -> bytes:
    """A zip file of members: path → (content, mode)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in members.items():
            info = zipfile.ZipInfo(name, DATE)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
