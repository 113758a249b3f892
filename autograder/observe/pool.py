"""Sandboxed processes for submissions: the trusted side.

    with ZygotePool("numpy", size=2, secret=[course / "solutions"]) as pool:
        with pool.session(limits) as session:
            session.load(statements, {})
            session.run(program)

A pool may be used by several threads; a session by one at a time. A session costs about a
fork, so each submission has its own. Linux only; elsewhere there is `spawned`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from autograder.observe import protocol, readable, sandbox
from autograder.observe.child import ChildSession
from autograder.observe.conversation import HELLO, infrastructure
from autograder.observe.session import Limits
from autograder.observe.supervisor import Supervisor, ZygoteDied


class ZygotePool:
    """Zygotes that fork a sandboxed child for each session.

    framework: "numpy", or "torch" to have it loaded too. packages: others that submissions
    may import, by import name; they are loaded before the fork. secret: paths that student
    code must never be able to read; a ValueError says so if they could. layers: fewer than
    all for trials only. Raises ZygoteDied when a zygote cannot start, with the cause.
    """

    def __init__(
        self,
        framework: str = "numpy",
        size: int = 1,
        *,
        packages: Sequence[str] = (),
        secret: Iterable[Path] = (),
        layers: Collection[str] = sandbox.LAYERS,
        body_limit: int = protocol.DEFAULT_BODY_LIMIT,
    ) -> None:
        if sys.platform != "linux":
            raise OSError("the sandbox exists on Linux only: elsewhere there is SpawnedSession")
        self._config = _configuration(framework, packages, secret, layers)
        self._body_limit = body_limit
        self._lock = threading.Lock()
        self._closed = False
        # all at once: what takes long is the imports of each
        self._zygotes = [Supervisor(self._config) for _ in range(size)]
        try:
            for zygote in self._zygotes:
                zygote.wait_until_ready()
            self.layers = self._probe()
        except BaseException:
            self.close()
            raise

    @property
    def isolation(self) -> str:
        """The rung of the ladder, from the layers that a child really entered."""
        return sandbox.level(self.layers)

    @property
    def missing(self) -> dict[str, str]:
        """For each layer that this machine does not have, why."""
        return dict(self._zygotes[0].missing)

    @property
    def landlock_abi(self) -> int:
        """The version of Landlock in use (signals are scoped from 6 on); 0 without it."""
        return self._zygotes[0].landlock_abi

    def session(self, limits: Limits | None = None) -> ChildSession:
        """A fresh child for one submission. Never waits for another session to end.

        A zygote that has died is replaced. Raises Stopped("infrastructure") when no child
        can be made.
        """
        limits = limits or Limits()
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
                fresh = Supervisor(self._config)
                self._zygotes[self._zygotes.index(dead)] = fresh
                try:
                    fresh.wait_until_ready()
                except ZygoteDied as fault:
                    raise infrastructure(str(fault)) from None
                return fresh
            return min(self._zygotes, key=lambda zygote: zygote.busy)

    def _probe(self) -> tuple[str, ...]:
        """The layers that a child of every zygote says it has entered."""
        entered: list[tuple[str, ...]] = []
        for zygote in self._zygotes:
            limits, nonce = Limits(), protocol.fresh_nonce()
            with ChildSession(zygote, zygote.spawn(limits, nonce), limits, nonce, None) as child:
                entered.append(child.layers())
        return tuple(layer for layer in entered[0] if all(layer in other for other in entered))


def _configuration(
    framework: str, packages: Sequence[str], secret: Iterable[Path], layers: Collection[str]
) -> dict[str, Any]:
    """What a zygote is told at its start. Nothing in it is secret: children can see it."""
    if framework not in ("numpy", "torch"):
        raise ValueError(f"no zygote is made for {framework!r}: use 'numpy' or 'torch'")
    names = list(dict.fromkeys(["numpy", framework, *packages]))
    allowed, roots = readable.packages(names)
    _, tool_roots = readable.packages(["pyseccomp", "py_landlock"])
    allowed = readable.interpreter() + allowed
    here = Path(__file__).parent
    # All of ours that a child needs is in its memory before it enters the sandbox.
    readable.refuse_overlap(allowed, [here.parent, *secret])
    return {
        "framework": framework,
        "packages": names,
        "path": list(dict.fromkeys([*roots, *tool_roots])),
        "readable": allowed,
        "layers": list(layers),
        "folder": str(here),
        "hello": HELLO,
    }
