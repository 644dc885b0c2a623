"""The shape of a documented error: its row, and the exception classes that rows are raised as.

An exception keeps the code of its row and the parameters of its message, nothing else, so that one
``__reduce__`` serves every class and an error that crosses a process boundary arrives whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, Self

__all__ = [
    "ChecksumError",
    "DTypeError",
    "DeviceError",
    "ErrorDoc",
    "FormatError",
    "InvalidSchemeError",
    "LimitError",
    "NonFiniteError",
    "OperationCancelled",
    "QuantError",
    "ScaleError",
    "ShapeError",
    "TruncatedFileError",
    "UnsupportedSchemeError",
]


@dataclass(frozen=True, slots=True)
class ErrorDoc:
    """One row of the catalogue.

    Parameters
    ----------
    code
        Kebab-case name of the error; never reused for another meaning.
    family
        The class the error is raised as.
    message
        ``str.format`` template of the message.
    cause
        Why it is refused.
    when
        The situations that raise it.
    solutions
        What to do instead, each a sentence that can be acted on.
    refs
        Codes of related rows, and places where the rule is explained.
    variants
        Other templates of the same error, by name.
    """

    code: str
    family: type[QuantError]
    message: str
    cause: str
    when: str
    solutions: tuple[str, ...]
    refs: tuple[str, ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)

    def template(self, variant: str | None = None) -> str:
        """Return the template of a variant, or the message's own."""
        return self.message if variant is None else self.variants[variant]

    def render(self, params: Mapping[str, Any], variant: str | None = None) -> str:
        """Fill a template; several words are listed with commas."""
        shown = {name: _listed(value) for name, value in params.items()}
        return self.template(variant).format(**shown)


class QuantError(Exception):
    """Base of every error that qcore raises on its own account.

    ``str(error)`` is the message alone; ``code``, ``params``, ``tensor``, ``cause``, ``solutions``, ``refs``
    are its fields.

    Examples
    --------
    >>> import qcore.errors
    >>> error = qcore.errors.build("missing-global-scale").for_tensor("encoder.weight")
    >>> str(error), error.code, error.tensor
    ('a two-level scheme should have a per-tensor scale', 'missing-global-scale', 'encoder.weight')
    """

    def __init__(
        self,
        doc: ErrorDoc,
        params: Mapping[str, Any],
        *,
        variant: str | None = None,
        tensor: str | None = None,
    ) -> None:
        super().__init__(doc.render(params, variant))
        self._doc = doc
        self.params: dict[str, Any] = dict(params)
        self.variant = variant
        self.tensor = tensor

    @property
    def code(self) -> str:
        """Name of the catalogue's row."""
        return self._doc.code

    @property
    def cause(self) -> str:
        """Why it is refused."""
        return self._doc.cause

    @property
    def when(self) -> str:
        """The situations that raise it."""
        return self._doc.when

    @property
    def solutions(self) -> tuple[str, ...]:
        """What to do instead."""
        return self._doc.solutions

    @property
    def refs(self) -> tuple[str, ...]:
        """Related codes and documents."""
        return self._doc.refs

    def for_tensor(self, name: str | None) -> Self:
        """Return a copy of the error that names the tensor it is about."""
        named = type(self)(self._doc, self.params, variant=self.variant, tensor=name)
        named.__cause__ = self.__cause__
        return named

    def __str__(self) -> str:
        return str(self.args[0])

    def __repr__(self) -> str:
        named = "" if self.tensor is None else f" ({self.tensor})"
        return f"<{type(self).__name__} {self.code}{named}: {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuantError):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.code, str(self), self.tensor))

    def _identity(self) -> tuple[object, ...]:
        return self.code, self.params, self.variant, self.tensor

    def __reduce__(self) -> tuple[Callable[..., QuantError], tuple[object, ...], dict[str, object] | None]:
        notes = getattr(self, "__notes__", None)
        return _revive, self._identity(), None if notes is None else {"__notes__": list(notes)}


class UnsupportedSchemeError(QuantError, NotImplementedError):
    """A backend, a target or a format cannot do this; another one may."""


class InvalidSchemeError(QuantError, ValueError):
    """A scheme, a word or a combination of arguments that means nothing anywhere."""


class ScaleError(QuantError, ValueError):
    """Scales that are missing, too many, negative or not finite."""


class ShapeError(QuantError, ValueError):
    """Shapes, ranks, axes, divisibility and layout operations."""


class DTypeError(QuantError, TypeError):
    """An input or output of the wrong type, or in the wrong place."""


class NonFiniteError(QuantError, ValueError):
    """NaN or infinity among the values to quantize."""


class FormatError(QuantError, ValueError):
    """Bytes or a file that are not what they claim to be."""


class TruncatedFileError(FormatError):
    """A file that ends before what it announces."""


class LimitError(FormatError):
    """A file that asks for more than a fixed limit."""


class ChecksumError(FormatError):
    """Data that does not match the digest stored with it."""


class DeviceError(QuantError, RuntimeError):
    """A compute device that is absent, failing, or used from the wrong process."""


class OperationCancelled(QuantError, CancelledError):
    """Work that was stopped on request."""


def _listed(value: object) -> object:
    if isinstance(value, tuple) and value and all(isinstance(word, str) for word in value):
        return ", ".join(value)
    return value


def _revive(code: str, params: Mapping[str, Any], variant: str | None, tensor: str | None) -> QuantError:
    # Imported late: the catalogue's rows are made of this module's classes.
    from qcore.errors.catalog import build

    return build(code, variant=variant, tensor=tensor, **params)
