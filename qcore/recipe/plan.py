"""``Plan``: what a recipe makes of the tensors of one file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from qcore import errors
from qcore.capability import problem
from qcore.formats import orientation
from qcore.formats.dtypes import BY_NAME
from qcore.layout.packing import quantized_data_len
from qcore.ops.options import one_of
from qcore.recipe.ties import tie_of
from qcore.recipe.words import ask_of, settled

if TYPE_CHECKING:
    from qcore.formats.orientation import Move
    from qcore.formats.protocol import TensorInfo
    from qcore.ops.options import Options
    from qcore.recipe.recipe import Recipe

__all__ = ["FLOATS", "Decision", "Plan", "RuleTotals"]

FLOATS: Final = MappingProxyType({name: word for name, word in problem.FLOATS.items() if name in BY_NAME})
"""The element types of files that are quantized, and what rules call them."""
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one tensor."""

    info: TensorInfo
    """As its file has it."""
    move: Move
    """Its new name, and whether its axes change places first."""
    rule: int | None
    """The index of the rule that decided; None for the default and for what no rule was asked about."""
    kept: str | None
    """Why it stays as it is; None where it is quantized."""
    ask: Mapping[str, Any]
    """The arguments of ``qcore.quantize`` for it as it lies after the move; nothing where it is kept."""
    after: TensorInfo
    """As it will be: name, shape, scheme, exact bytes."""
    shares: str | None = None
    """The group of tied tensors whose global scale it shares, under two levels."""

    @property
    def name(self) -> str:
        """Its name in its file."""
        return self.info.name

    @property
    def target(self) -> str:
        """Its name in the output."""
        return self.move.target


@dataclass(frozen=True, slots=True)
class RuleTotals:
    """What one rule makes: its number (0 for the default), its text, and the decisions it took."""

    number: int
    text: str
    scheme: str
    decisions: tuple[Decision, ...]

    @property
    def before(self) -> int:
        """Bytes of its tensors in their file."""
        return sum(decision.info.nbytes for decision in self.decisions)

    @property
    def after(self) -> int:
        """Bytes they will have."""
        return sum(decision.after.nbytes for decision in self.decisions)

    @property
    def bits_per_weight(self) -> float:
        """Bits for each element they will have."""
        size = sum(decision.info.size for decision in self.decisions)
        return 8 * self.after / size if size else 0.0


@dataclass(frozen=True, slots=True)
class Plan(Sequence[Decision]):
    """One decision for each tensor, in their order; what is refused, and which rules decide nothing."""

    recipe: Recipe
    decisions: tuple[Decision, ...]
    refusals: tuple[errors.QuantError, ...]
    """Errors that nobody has raised yet; each names its tensor."""
    dead: tuple[str, ...]
    """Sentences about rules that decide nothing."""

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, index: Any) -> Any:
        return self.decisions[index]

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    @property
    def chosen(self) -> tuple[Decision, ...]:
        """Those that are quantized."""
        return tuple(decision for decision in self.decisions if decision.kept is None)

    def demand(self) -> None:
        """Raise what is refused, and do nothing where all is fine.

        Raises
        ------
        QuantError
            The refusal, where there is one; ``recipe-refused`` listing all of them by name where there are more.
        """
        if len(self.refusals) == 1:
            raise self.refusals[0].for_tensor(self.refusals[0].tensor)
        if self.refusals:
            listed = [f"{error.tensor}: [{error.code}] {error}" for error in self.refusals]
            rest = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
            raise errors.build(
                "recipe-refused", count=len(listed), total=len(self), shown="; ".join(listed[:_SHOWN]) + rest,
                tensors=tuple(listed),
            )  # fmt: skip

    def groups(self) -> dict[str, tuple[Decision, ...]]:
        """The decisions that share a global scale, by their group."""
        found: dict[str, list[Decision]] = defaultdict(list)
        for decision in self.decisions:
            if decision.shares is not None:
                found[decision.shares].append(decision)
        return {name: tuple(members) for name, members in found.items()}

    def by_rule(self) -> tuple[RuleTotals, ...]:
        """What each rule makes, in their order; the default comes last."""
        rows = []
        for at, rule in enumerate(self.recipe.rules):
            mine = tuple(decision for decision in self.decisions if decision.rule == at)
            scheme = rule.scheme or self.recipe.default or ""
            rows.append(RuleTotals(at + 1, rule.text, "keep" if rule.keep else scheme, mine))
        rest = tuple(decision for decision in self.decisions if decision.rule is None)
        return (*rows, RuleTotals(0, "default", self.recipe.default or "keep", rest))


def make(
    recipe: Recipe,
    infos: tuple[TensorInfo, ...],
    arranged: Sequence[tuple[Move, TensorInfo]] | None,
    *,
    layout: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
    overrides: Mapping[str, Any] | None,
    on_invalid: str | None,
    backend: str,
    threads: int | None,
    hold: Callable[[TensorInfo], None] | None,
) -> Plan:
    """Decide about every tensor of a file; :meth:`Recipe.plan` says what is what."""
    if arranged is None:
        moves = orientation.plan(infos, layout or recipe.settings.get("layout", orientation.KEEP), recipe.moving)
        arranged = [(move, orientation.moved(info, move)) for move, info in zip(moves, infos, strict=True)]
    policy = one_of(
        "answer to --on-invalid", on_invalid or recipe.settings.get("on_invalid", "error"), ("error", "float")
    )
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    given |= {"backend": backend, "threads": threads}
    refusals: list[errors.QuantError] = []
    found: list[Decision] = []
    ways: dict[int | None, tuple[dict[str, Any], Options]] = {}
    for info, (move, lying) in zip(infos, arranged, strict=True):
        at = recipe.deciding(info.name)
        start = Decision(info, move, at, None, {}, lying)
        reason = _kept(recipe, info, at, include, exclude)
        if reason is not None:
            found.append(replace(start, kept=reason))
            continue
        if at not in ways:
            ask = ask_of(recipe, None if at is None else recipe.rules[at], given)
            ways[at] = ask, settled(ask)
        try:
            found.append(_quantized(start, *ways[at], hold))
        except errors.QuantError as error:
            if policy == "error":
                refusals.append(error.for_tensor(info.name))
            found.append(replace(start, kept=f"[{error.code}] {error}"))
    tied = _tied(recipe, found, refusals)
    return Plan(recipe, tied, tuple(refusals), _dead(recipe, tied))


def _kept(
    recipe: Recipe, info: TensorInfo, at: int | None, include: Sequence[str], exclude: Sequence[str]
) -> str | None:
    if include and not any(fnmatchcase(info.name, glob) for glob in include):
        return "not included"
    if any(fnmatchcase(info.name, glob) for glob in exclude):
        return "excluded"
    if at is not None and recipe.rules[at].keep:
        note = recipe.rules[at].note
        return f"rule {at + 1} keeps it" + (f": {note}" if note else "")
    if at is None and recipe.default is None:
        return "no rule matches it"
    if info.scheme is not None:
        return "already quantized"
    if info.dtype not in FLOATS:
        return f"{info.dtype} is no float that is quantized"
    return None


def _quantized(
    start: Decision, ask: Mapping[str, Any], options: Options, hold: Callable[[TensorInfo], None] | None
) -> Decision:
    lying = start.after
    fitted = options.for_shape(lying.shape)
    fitted.check(lying.shape, FLOATS[str(lying.dtype)]).demand()
    book = fitted.codebook
    after = replace(
        lying,
        dtype=None,
        scheme=fitted.scheme,
        nbytes=quantized_data_len(fitted.scheme, lying.shape) + (0 if book is None else book.table.nbytes),
        rules=fitted.record(),
        codebook=None if book is None else book.name,
        origin="",
        fidelity="requantized",
    )
    if hold is not None:
        hold(after)
    return replace(start, ask=ask, after=after)


def _tied(recipe: Recipe, found: list[Decision], refusals: list[errors.QuantError]) -> tuple[Decision, ...]:
    """Hold tied tensors to one scheme, and tell those under two levels that they share a global scale."""
    groups: dict[str, list[int]] = defaultdict(list)
    for at, decision in enumerate(found):
        tie = tie_of(decision.name, recipe.ties)
        if tie is not None:
            groups[tie].append(at)
    for tie, members in groups.items():
        ways = {found[at].name: (found[at].after.scheme, dict(found[at].ask)) for at in members}
        first, *others = ways
        apart = [name for name in others if ways[name] != ways[first]]
        if apart:
            told = [f"{name} ({ways[name][0] or 'kept'})" for name in (first, *apart)]
            refusals.append(errors.build("recipe-tied-apart", tie=tie, names=tuple(told)).for_tensor(first))
        elif len(members) > 1 and (scheme := ways[first][0]) is not None and scheme.is_two_level:
            for at in members:
                found[at] = replace(found[at], shares=tie)
    return tuple(found)


def _dead(recipe: Recipe, decisions: Sequence[Decision]) -> tuple[str, ...]:
    used = {decision.rule for decision in decisions}
    said = []
    for at, rule in enumerate(recipe.rules):
        if at in used:
            continue
        shadowed = sum(rule.matches(decision.name) for decision in decisions)
        why = f"decides nothing: earlier rules match its {shadowed} tensors" if shadowed else "matches nothing"
        said.append(f"rule {at + 1} ({rule.text}) {why}")
    return tuple(said)
