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
from tests.hostile.tensors import layers, tensors
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


# These need a zygote that holds PyTorch.
TENSORS: tuple[Hostile, ...] = (*tensors.members, *layers.members)


def choose(
    kinds: Sequence[str] | None = None,
    name: str | None = None,
    *,
    torch: bool = False,
    every: int = 1,
) -> list[Hostile]:
    """Some of them. torch: those with tensors too. every: of each kind one in so many."""
    every_kind = [*KINDS, *((tensors, layers) if torch else ())]
    numbered = [pair for kind in every_kind for pair in enumerate(kind.members)]
    return [
        hostile
        for number, hostile in numbered
        if number % every == 0
        if (not kinds or hostile.kind in kinds) and (name is None or name in hostile.title)
    ]
