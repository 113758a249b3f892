"""Sandboxed processes for submissions: the trusted side.

    with ZygotePool("numpy", size=2, secret=[course / "solutions"]) as pool:
        with pool.session(limits) as session:
            session.load(statements, {})
            session.run(program)

A pool may be used by several threads; a session by one at a time. A session costs about a
fork, so each submission has its own. Linux only; elsewhere there is `spawned`.
"""

from __future__ import annotations

import base64
import contextlib
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from autograder.observe import bubblewrap, kernel, landlock, protocol, readable, sandbox, seccomp
from autograder.observe.child import ChildSession
from autograder.observe.conversation import HELLO, infrastructure
from autograder.observe.session import Isolation, Limits, Stopped
from autograder.observe.supervisor import Supervisor, ZygoteDied

_HERE = Path(__file__).parent


class ZygotePool:
    """Zygotes that fork a sandboxed child for each session.

    framework: "numpy", or "torch" to have it loaded too. packages: others that submissions
    may import, by import name; they are loaded before the fork. secret: paths that student
    code must never be able to read; a ValueError says so if they could. layers, words: fewer
    layers than all, and refusals in the kernel's own words, for trials only. Raises ZygoteDied
    when a zygote cannot start, with the cause.
    """

    def __init__(
        self,
        framework: str = "numpy",
        size: int = 1,
        *,
        packages: Sequence[str] = (),
        secret: Iterable[Path] = (),
        layers: Collection[str] = sandbox.LAYERS,
        words: bool = True,
        body_limit: int = protocol.DEFAULT_BODY_LIMIT,
    ) -> None:
        if sys.platform != "linux":
            raise OSError("the sandbox exists on Linux only: elsewhere there is SpawnedSession")
        secret = list(secret)
        self._config, self._missing = _configuration(framework, packages, secret, layers, words)
        self._wrap = self._bubblewrap(layers)
        self._body_limit = body_limit
        self._lock = threading.Lock()
        self._closed = False
        self._zygotes: list[Supervisor] = []
        self._programs: tuple[Sequence[protocol.Prepared], bytes] | None = None
        try:
            self.layers = self._start(size, secret)
        except BaseException:
            self.close()
            raise

    @property
    def isolation(self) -> Isolation:
        """The rung of the ladder, from the layers that a child really entered."""
        return "none" if "secrets" in self._missing else sandbox.level(self.layers)

    @property
    def missing(self) -> dict[str, str]:
        """For each layer that this machine does not have, why."""
        return {**self._missing, **self._zygotes[0].missing}

    @property
    def landlock_abi(self) -> int:
        """The version of Landlock in use (signals are scoped from 6 on); 0 without it."""
        return self._zygotes[0].landlock_abi

    @property
    def pids(self) -> list[int]:
        """The numbers of the zygotes' processes."""
        return [zygote.pid for zygote in self._zygotes]

    def teach(self, programs: Sequence[protocol.Prepared]) -> None:
        """Have the zygotes hold these programs: sessions then send no more than their numbers.

        A zygote holds the last ones that it was taught. One that dies of it is replaced as any.
        """
        with self._lock:
            self._programs = (tuple(programs), protocol.pack_programs(programs))
            for zygote in self._zygotes:
                with contextlib.suppress(ZygoteDied):
                    zygote.teach(*self._programs)

    def session(self, limits: Limits | None = None) -> ChildSession:
        """A fresh child for one submission. Never waits for another session to end.

        A zygote that has died is replaced. Raises Stopped("infrastructure") when no child
        can be made.
        """
        limits = limits or Limits()
        if limits.processes != 0:
            raise ValueError("the sandbox can give a submission no processes: leave them at 0")
        nonce = protocol.fresh_nonce()
        zygote = self._least_busy()
        for last in (False, True):
            try:
                started = zygote.spawn(limits, nonce)
                return ChildSession(zygote, started, limits, nonce, self.layers, self._body_limit)
            except ZygoteDied as fault:
                if last:
                    raise infrastructure(str(fault)) from None
                zygote = self._replace(zygote)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """End all zygotes and so all children. May be called twice."""
        with self._lock:
            self._closed = True
            for zygote in self._zygotes:
                zygote.stop()

    def __enter__(self) -> ZygotePool:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def _least_busy(self) -> Supervisor:
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            return min(self._zygotes, key=lambda zygote: zygote.busy)

    def _replace(self, dead: Supervisor) -> Supervisor:
        """A live zygote in the place of a dead one, whoever notices first."""
        with self._lock:
            if self._closed:
                raise infrastructure("the pool was closed")
            if dead in self._zygotes:
                dead.stop()
                fresh = Supervisor(self._config, self._wrap)
                self._zygotes[self._zygotes.index(dead)] = fresh
                try:
                    fresh.wait_until_ready()
                    if self._programs is not None:
                        fresh.teach(*self._programs)
                except ZygoteDied as fault:
                    raise infrastructure(str(fault)) from None
                return fresh
            return min(self._zygotes, key=lambda zygote: zygote.busy)

    def _bubblewrap(self, layers: Collection[str]) -> list[str]:
        """What to write before a zygote's command; nothing when it is not there."""
        if "bubblewrap" not in layers:
            return []
        try:
            return bubblewrap.command(self._config["readable"], _HERE / "zygote.py")
        except bubblewrap.NoBubblewrap as fault:
            self._missing["bubblewrap"] = str(fault)
            return []

    def _start(self, size: int, secret: Sequence[Path]) -> tuple[str, ...]:
        """Start all zygotes and try each; the layers that children of all of them enter.

        All at once, since what takes long is the imports of each.
        """
        self._zygotes = [Supervisor(self._config, self._wrap) for _ in range(size)]
        try:
            for zygote in self._zygotes:
                zygote.wait_until_ready()
                if self._wrap and "landlock" in zygote.missing:  # weighs more than bubblewrap
                    raise ZygoteDied(f"no Landlock in there: {zygote.missing['landlock']}")
            return self._probe(secret)
        except (ZygoteDied, Stopped) as fault:
            if not self._wrap:
                raise ZygoteDied(str(fault)) from None
            # Many containers forbid it. What is recorded is then the rung without it.
            self._missing["bubblewrap"] = str(fault)
            self._wrap = []
            for zygote in self._zygotes:
                zygote.stop()
            return self._start(size, secret)

    def _probe(self, secret: Sequence[Path]) -> tuple[str, ...]:
        """The layers that a child of every zygote says it has entered.

        Before any student code has run, so that its word can be taken.
        """
        entered: list[tuple[str, ...]] = []
        for zygote in self._zygotes:
            limits, nonce = Limits(), protocol.fresh_nonce()
            with ChildSession(zygote, zygote.spawn(limits, nonce), limits, nonce, None) as child:
                entered.append(child.layers())
                readable_all_the_same = child.can_read(secret)
            if readable_all_the_same:
                self._missing["secrets"] = (
                    f"a submission could read {readable_all_the_same[0]}: "
                    "take it from others with chmod -R go="
                )
        return tuple(layer for layer in entered[0] if all(layer in other for other in entered))


def _configuration(
    framework: str,
    packages: Sequence[str],
    secret: Iterable[Path],
    layers: Collection[str],
    words: bool,
) -> tuple[dict[str, Any], dict[str, str]]:
    """What a zygote is told at its start, and which layers cannot be had, with the reasons.

    Nothing in the former is secret: children can see it.
    """
    if framework not in ("numpy", "torch"):
        raise ValueError(f"no zygote is made for {framework!r}: use 'numpy' or 'torch'")
    names = list(dict.fromkeys(["numpy", framework, *packages]))
    allowed, roots = readable.packages(names)
    allowed = readable.interpreter() + allowed
    # All of ours that a child needs is in its memory before it enters the sandbox.
    readable.refuse_overlap(allowed, [_HERE.parent, *secret])
    prepared: dict[str, Any] = {"landlock": None, "seccomp": None}
    missing: dict[str, str] = {}
    ways: dict[str, Callable[[], Any]] = {
        "landlock": landlock.rights,
        "seccomp": lambda: base64.b64encode(seccomp.compile_filter()).decode(),
    }
    for layer, prepare in ways.items():
        if layer in layers:
            try:
                prepared[layer] = prepare()
            except Exception as fault:  # not installed, no libseccomp, too old a kernel, …
                missing[layer] = f"{type(fault).__name__}: {fault}"
    config = {
        "framework": framework,
        "packages": names,
        "path": roots,
        "readable": allowed,
        "layers": list(layers),
        "words": words,
        "folder": str(_HERE),
        "hello": HELLO,
        "outside": kernel.namespaces(),
        **prepared,
    }
    return config, missing
