"""Transactions in a gradebook: they wait for others, and say what to do when they fail."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from autograder.nbgrader_plugin import NbgraderError, databases, gradebooks


def engine_for(db_url: str) -> Engine:
    """An engine whose transactions wait `gradebooks.LOCKED_SECONDS` for other programs."""
    engine = create_engine(db_url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _take_charge)
        event.listen(engine, "begin", _lock_at_once)
    return engine


class Transaction:
    """A transaction whose failures say what to do."""

    def __init__(self, connection: Connection, db_url: str) -> None:
        self._connection, self._db_url = connection, db_url

    def __enter__(self) -> Connection:
        try:
            self._open = self._connection.begin()
        except OperationalError as fault:
            raise DatabaseGone(in_words(fault, self._db_url)) from fault
        return self._connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if fault is None:
                self._open.commit()
        except BaseException as problem:
            self._undo()
            if isinstance(problem, OperationalError):
                raise DatabaseGone(in_words(problem, self._db_url)) from problem
            raise
        if fault is not None:
            self._undo()
        if isinstance(fault, OperationalError):
            raise DatabaseGone(in_words(fault, self._db_url)) from fault

    def _undo(self) -> None:
        try:
            self._open.rollback()
        except OperationalError:  # there is nobody left to tell
            self._connection.invalidate()


class DatabaseGone(NbgraderError):
    """Nothing can be written any more, for nobody."""


def in_words(fault: SQLAlchemyError, db_url: str) -> str:
    """What a database complains of, in a sentence that says what to do."""
    reason = " ".join(str(getattr(fault, "orig", None) or fault).split())
    if "database is locked" in reason:
        return (
            f"the gradebook {databases.parsed(db_url).database} is locked by another program; "
            "close that and run the same command again: what was graded is kept"
        )
    return (
        f"its database fails ({databases.without_password(reason, db_url)}); correct that and run "
        "the same command again: what was graded is kept"
    )


def _take_charge(connection: Any, record: Any) -> None:
    """Leave it to us where a transaction begins: the driver begins one at the first write."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {round(gradebooks.LOCKED_SECONDS * 1000)}")


def _lock_at_once(connection: Connection) -> None:
    """Wait for others before anything is read, not between reading and writing, where SQLite
    gives up at once."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
