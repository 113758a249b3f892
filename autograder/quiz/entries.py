"""The maps of a quiz.yaml, with the line that each stands on: mistakes are named with both."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from autograder.exercise import AuthoringError
from autograder.quiz.questions import Option, Wrong

_LARGEST = sys.float_info.max


def read_list(path: Path, text: str) -> list[Any]:
    """The nodes of the questions; AuthoringError for what is no list in YAML."""
    import yaml

    try:
        node = yaml.compose(text, yaml.SafeLoader)
        if node is not None:
            _value(node)  # a tag that nothing is known of, a date that is none
    except (yaml.YAMLError, ValueError) as error:
        raise AuthoringError(
            f"{path} is not YAML in UTF-8: {error}; a text with signs such as : ? {{ # belongs in "
            "quotes"
        ) from error
    if node is None:
        return []
    if not isinstance(node, yaml.SequenceNode):
        line = node.start_mark.line + 1
        raise AuthoringError(
            f"{path}, line {line}: write a list of questions, each beginning with `- id:`"
        )
    return list(node.value)


def _value(node: Any) -> Any:
    import yaml

    # the constructor alone is used: the text was read before
    return yaml.SafeLoader("").construct_object(node, deep=True)


class Entry:
    """One map of the file. `keys`: those that it may have; None before its type is known."""

    def __init__(self, path: Path, about: str, node: Any, keys: Iterable[str] | None) -> None:
        import yaml

        self.path, self.about, self.node = path, about, node
        self.keys = None if keys is None else sorted(keys)
        if not isinstance(node, yaml.MappingNode):
            listed = ", ".join(self.keys or ("id", "type"))
            self.refuse(f"{_value(node)!r} is no map; write {listed}")
        self.nodes: dict[str, Any] = {}
        for key, value in node.value:
            name = str(_value(key))
            if name in self.nodes:
                self.refuse(f"{name} stands twice; take one out", key)
            self.nodes[name] = value
        unknown = [name for name in self.nodes if self.keys is not None and name not in self.keys]
        if unknown and self.keys is not None:
            self.refuse(
                f"there is no {', '.join(unknown)}; the keys are {', '.join(self.keys)}",
                self.nodes[unknown[0]],
            )

    def refuse(self, fault: str, node: Any = None) -> NoReturn:
        """Raise an AuthoringError with the place of a node, by default of the whole map."""
        line = (self.node if node is None else node).start_mark.line + 1
        about = f"{self.about}: " if self.about else ""
        raise AuthoringError(f"{self.path}, line {line}: {about}{fault}")

    def refuse_key(self, key: str, fault: str) -> NoReturn:
        """Raise an AuthoringError with the place of a key, if it is there."""
        self.refuse(fault, self.nodes.get(key))

    def has(self, key: str) -> bool:
        """Whether the key is there, with a value."""
        return self.value(key) is not None

    def value(self, key: str, default: Any = None) -> Any:
        """What stands under a key, as YAML has it."""
        return _value(self.nodes[key]) if key in self.nodes else default

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty, unless it may be left out."""
        value = self.value(key, default)
        if not isinstance(value, str):
            what = "is missing; add it" if value is None else f"is {value!r}; put it in quotes"
            self.refuse_key(key, f"{key} {what}")
        if not value.strip() and default is None:
            self.refuse_key(key, f"{key} is empty; write it")
        return value.strip()

    def number(self, key: str, default: float | None = None, least: float = -math.inf) -> float:
        """A finite number."""
        value = self.value(key, default)
        if value is None:
            self.refuse_key(key, f"{key} is missing; add it")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse_key(key, f"{key} is {value!r}; write a number")
        if not max(least, -_LARGEST) <= value <= _LARGEST:
            bound = "" if least == -math.inf else f", at least {least:g}"
            self.refuse_key(key, f"{key} is {value!r}; write a finite number{bound}")
        return value

    def formula(self, key: str, formulas: bool) -> Any:
        """A finite number, or, where numbers are drawn, a formula in quotes."""
        value = self.value(key)
        if formulas and isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, str):
            self.refuse_key(key, f"{key} is {value!r}; write a number")
        return self.number(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, which is not empty."""
        value = self.value(key)
        if not isinstance(value, list) or not value:
            what = "is missing" if value is None else "is no list"
            self.refuse_key(key, f"{key} {what}; write them as [a, b]")
        for item in value:
            if not isinstance(item, str) or not item.strip():
                self.refuse_key(key, f"{key} holds {item!r}; put it in quotes")
        return tuple(item.strip() for item in value)

    def map_of(self, key: str) -> Mapping[str, Any]:
        """A map with names as keys, which may be left out."""
        value = self.value(key, {})
        if not isinstance(value, dict):
            self.refuse_key(key, f"{key} is {value!r}; write it as {{name: value}}")
        for name in value:
            if not isinstance(name, str):
                self.refuse_key(key, f"{key} holds {name!r}; put it in quotes")
        return value

    def inner(self, key: str, keys: Iterable[str]) -> Entry:
        """A map within this one; an empty one when it is left out."""
        import yaml

        node = self.nodes.get(key)
        if node is None:
            node = yaml.MappingNode("tag:yaml.org,2002:map", [], self.node.start_mark)
        return Entry(self.path, f"{self.about}, {key}", node, keys)

    def list_of(self, key: str, keys: Iterable[str]) -> list[Entry]:
        """The maps of a list, which may be left out."""
        import yaml

        node = self.nodes.get(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.refuse(f"{key} is no list; write each item after a dash", node)
        return [Entry(self.path, f"{self.about}, {key}", item, keys) for item in node.value]

    # --- what several types of question have ------------------------------------------

    def options(self, key: str = "options") -> tuple[Option, ...]:
        """The options of a question: two at least, told apart by their ids."""
        entries = self.list_of(key, {"id", "text", "misconception", "hint"})
        options = tuple(
            Option(
                option.text("id"),
                option.text("text"),
                option.text("misconception", ""),
                option.text("hint", ""),
            )
            for option in entries
        )
        read_as = [plain(option.id) for option in options]
        if len(read_as) < 2:
            self.refuse_key(key, "there are fewer than two options; add one")
        for entry, option, shown in zip(entries, options, read_as, strict=True):
            if read_as.count(shown) > 1:
                entry_place = f"the option {option.id} is not the only one to be read so; rename it"
                self.refuse(entry_place, entry.node)
        return options

    def named_options(self, key: str = "options") -> tuple[Option, ...]:
        """Options whose ids are words, so that several can stand in one answer."""
        options = self.options(key)
        for option in options:
            if not (option.id.isascii() and option.id.isidentifier()):
                self.refuse_key(
                    key, f"the id {option.id!r} is no single word; write letters, digits and _"
                )
        return options

    def wrong(self, value: Any) -> tuple[Wrong, ...]:
        """The wrong answers that are known; `value(entry)` reads what one of them gives."""
        return tuple(
            Wrong(value(item), item.text("misconception"), item.text("hint", ""))
            for item in self.list_of("wrong", {"value", "misconception", "hint"})
        )


def plain(text: str) -> str:
    """How options are told apart: neither case nor space counts."""
    return "".join(text.split()).casefold()
