"""``Recipe``: ordered rules, read from and written to TOML."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from qcore.recipe.rule import KEEP, OPTIONS, Rule, refusal

if TYPE_CHECKING:
    from qcore.formats import orientation_map
    from qcore.formats.orientation import Move
    from qcore.formats.protocol import TensorInfo
    from qcore.recipe.plan import Plan

__all__ = ["Recipe"]

VERSION: Final = 1
_SETTINGS: Final = (*OPTIONS, "on_invalid", "layout")
_KEYS: Final = ("version", "default", "ties", "settings", "made", "rule")
_WORDS: Final = {"on_invalid": ("error", "float")}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What becomes of each tensor of a model.

    Attributes
    ----------
    default : str or None
        The scheme of what no rule matches; None keeps that as it is.
    rules : tuple of Rule
        In order; the first that matches a name decides about it.
    settings : mapping
        What every rule takes that says nothing else: ``calibration``, ``scale_rounding``, ``rounding``, ``codebook``,
        ``tied``, ``nonfinite``; and ``on_invalid`` (``error``, or ``float``: keep what a scheme cannot take),
        ``layout`` (as for ``qcore.save``).
    ties : tuple of str
        Kinds of tied tensors, from the table of ``recipe.ties``.
    made : mapping
        How the recipe came to be: objective, budget, what was measured. Read by people, and by nothing else.

    Examples
    --------
    >>> recipe = Recipe.loads('''
    ... version = 1
    ... default = "int4-b32"
    ... [[rule]]
    ... match = "*.norm*"
    ... action = "keep"
    ... ''')
    >>> recipe.default, recipe.rules[0].keep, Recipe.loads(recipe.dumps()) == recipe
    ('int4-b32', True, True)
    """

    default: str | None = None
    rules: tuple[Rule, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)
    source: str = field(default="the recipe", compare=False)
    """The file it was read from."""

    def __post_init__(self) -> None:
        from qcore.recipe.ties import TIES
        from qcore.recipe.words import hold_words

        for kind in self.ties:
            if kind not in TIES:
                raise refusal(self.source, f"ties among {', '.join(TIES)}", repr(kind))
        for key, value in self.settings.items():
            if key not in _SETTINGS or not isinstance(value, str):
                raise refusal(f"{self.source}, settings", f"texts for {', '.join(_SETTINGS)}", f"{key} = {value!r}")
            if value not in _WORDS.get(key, (value,)):
                raise refusal(f"{self.source}, settings", f"{key} = {' or '.join(_WORDS[key])}", repr(value))
        hold_words(self)

    @classmethod
    def of(cls, scheme: str, **settings: str) -> Recipe:
        """A recipe of one scheme for every float tensor."""
        return cls(default=scheme, settings=settings, source="")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recipe:
        """Read a recipe from a file.

        Raises
        ------
        InvalidSchemeError
            ``recipe-text``, naming the rule and what it should say; ``scheme-text`` and ``unknown-name`` for words.
        """
        return cls._read(Path(path).read_bytes(), str(path))

    @classmethod
    def loads(cls, text: str) -> Recipe:
        """Read a recipe from a text."""
        return cls._read(text.encode(), "the recipe")

    @classmethod
    def _read(cls, data: bytes, where: str) -> Recipe:
        try:
            said = tomllib.loads(data.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise refusal(where, "TOML", str(problem)) from None
        for key in said:
            if key not in _KEYS:
                raise refusal(where, f"keys among {', '.join(_KEYS)}", repr(key))
        if said.get("version") != VERSION or isinstance(said["version"], bool):
            raise refusal(where, f"version = {VERSION}", repr(said.get("version", "none")))
        default = said.get("default", KEEP)
        if not isinstance(default, str):
            raise refusal(where, "a text for default", repr(default))
        rules, ties = said.get("rule", []), said.get("ties", [])
        tables = {key: said.get(key, {}) for key in ("settings", "made")}
        for key, table in tables.items():
            if not isinstance(table, dict):
                raise refusal(where, f"a table [{key}]", repr(table))
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise refusal(where, "tables [[rule]]", repr(rules))
        if not isinstance(ties, list) or not all(isinstance(tie, str) for tie in ties):
            raise refusal(where, "a list of texts for ties", repr(ties))
        read = tuple(Rule.read(rule, f"{where}, rule {number}") for number, rule in enumerate(rules, 1))
        return cls(None if default == KEEP else default, read, ties=tuple(ties), source=where, **tables)

    def dumps(self) -> str:
        """The recipe as TOML; equal recipes give equal texts."""
        import tomlkit

        document = tomlkit.document()
        document["version"] = VERSION
        document["default"] = KEEP if self.default is None else self.default
        if self.ties:
            document["ties"] = list(self.ties)
        for key, table in (("settings", self.settings), ("made", self.made)):
            if table:
                document[key] = dict(sorted(table.items()))
        if self.rules:
            rules = tomlkit.aot()
            for rule in self.rules:
                rules.append(tomlkit.item(rule.told()))
            document["rule"] = rules
        return tomlkit.dumps(document)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the recipe to a file, whole or not at all.

        Raises
        ------
        FormatError
            ``file-exists``.
        """
        from qcore.formats.atomic import atomic_write

        with atomic_write(Path(path), overwrite=overwrite) as file:
            file.write(self.dumps().encode())

    @property
    def digest(self) -> str:
        """Digest of the canonical text: what an output records of the recipe that made it."""
        return hashlib.blake2b(self.dumps().encode(), digest_size=16).hexdigest()

    @property
    def moving(self) -> tuple[orientation_map.Rule, ...]:
        """What the rules say of names and axes: the rules of a map."""
        return tuple(rule.naming for rule in self.rules)

    def deciding(self, name: str) -> int | None:
        """The index of the rule that decides about a name; None for the default."""
        return next((at for at, rule in enumerate(self.rules) if rule.matches(name)), None)

    def plan(
        self,
        infos: Iterable[TensorInfo],
        *,
        arranged: Sequence[tuple[Move, TensorInfo]] | None = None,
        layout: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        overrides: Mapping[str, Any] | None = None,
        on_invalid: str | None = None,
        backend: str = "cpu",
        threads: int | None = None,
        hold: Callable[[TensorInfo], None] | None = None,
    ) -> Plan:
        """Decide about every tensor of a file, as a whole and before any work.

        Parameters
        ----------
        infos
            The tensors as their file has them.
        arranged
            What becomes of their names and axes, and each as it lies then; by default what ``layout`` (or the
            recipe's) and the rules' own ``rename`` and ``transpose`` say.
        include, exclude
            Globs on top of the rules: what no ``include`` matches, or an ``exclude`` matches, stays as it is.
        overrides
            Words of ``qcore.quantize`` that win over those of rules and settings: flags.
        on_invalid
            ``float`` keeps what a scheme cannot take, ``error`` refuses it; default what the settings say, else
            ``error``.
        backend, threads
            Where it will be quantized.
        hold
            Called with each quantized tensor as it will be; raises where its destination has no form for it.

        Returns
        -------
        Plan
            Its ``demand()`` raises what is refused.

        Examples
        --------
        >>> from qcore.formats.protocol import TensorInfo
        >>> info = TensorInfo("fc.weight", (8, 64), "float32", None, 2048, ("fc.weight",))
        >>> [(d.name, str(d.after.scheme), d.after.nbytes) for d in Recipe.of("int4-b32").plan([info])]
        [('fc.weight', 'q4s/u32/b32:f16', 288)]
        """
        from qcore.recipe import plan

        return plan.make(
            self, tuple(infos), arranged, layout=layout, include=include, exclude=exclude, overrides=overrides,
            on_invalid=on_invalid, backend=backend, threads=threads, hold=hold,
        )  # fmt: skip
