"""All that a gradebook holds, in a form in which two of them can be compared."""

from __future__ import annotations


def rows(db_url: str) -> dict[str, list[str]]:
    """Table → its rows as texts, sorted, with each random id written as the row that it names."""
    from nbgrader.api import Base
    from sqlalchemy import create_engine, select

    from autograder.nbgrader_plugin import databases

    engine = create_engine(databases.driver_url(db_url))
    named: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    with engine.connect() as connection:
        for table in Base.metadata.sorted_tables:
            found[table.name] = []
            for row in connection.execute(select(table)).mappings():
                own = {
                    key: named.get(value, value) if isinstance(value, str) else value
                    for key, value in row.items()
                    if key != "id" or table.c.id.foreign_keys or len(str(value)) != 32
                }
                text = f"{table.name}{sorted(own.items(), key=lambda item: item[0])}"
                found[table.name].append(text)
                if "id" in row:
                    named[row["id"]] = text
            found[table.name].sort()
    engine.dispose()
    return found
