"""All hostile submissions, by kind."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hostile.carrying import carrying
from tests.hostile.changing import changing
from tests.hostile.frames import frames
from tests.hostile.kernel import kernel
from tests.hostile.kinds import Hostile, Kind
from tests.hostile.network import network
from tests.hostile.objects import objects
from tests.hostile.oracles import oracles
from tests.hostile.patching import patching
from tests.hostile.processes import processes
from tests.hostile.reading import reading
from tests.hostile.resources import resources
from tests.hostile.searching import searching
from tests.hostile.words import words

KINDS: tuple[Kind, ...] = (
    reading,
    changing,
    network,
    processes,
    kernel,
    resources,
    patching,
    searching,
    objects,
    frames,
    oracles,
    carrying,
    words,
)

SUITE: tuple[Hostile, ...] = tuple(hostile for kind in KINDS for hostile in kind.members)

# These do no harm outside of their process, so that they can be tried without a sandbox too.
HARMLESS = ("patching", "carrying")


def choose(kinds: Sequence[str] | None = None, name: str | None = None) -> list[Hostile]:
    """Some of them."""
    return [
        hostile
        for hostile in SUITE
        if (not kinds or hostile.kind in kinds) and (name is None or name in hostile.title)
    ]
