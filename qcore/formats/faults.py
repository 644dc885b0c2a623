"""How this package words what is wrong with a file: always the file, the place, the found and the allowed value."""

from qcore import errors

__all__ = ["malformed", "truncated"]

_SHOWN = 200


def malformed(
    path: str, where: int | str, rule: str, found: object, allowed: object, *, tensor: str | None = None
) -> errors.QuantError:
    """Build the error of a broken rule.

    Parameters
    ----------
    path
        The file.
    where
        A byte offset, or a place in words.
    rule
        What is looked at ("the range of the data").
    found, allowed
        What the file says, and what it may say.
    tensor
        Name of the tensor concerned.
    """
    shown = str(found)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    return errors.build(
        "file-malformed",
        tensor=tensor,
        path=path,
        where=f"at byte {where}" if isinstance(where, int) else where,
        offset=where,
        reason=f"{rule} is {shown}, allowed is {allowed}",
        rule=rule,
        found=shown,
        allowed=str(allowed),
    )


def truncated(
    path: str, size: int, what: str, needed: int, *, tensor: str | None = None
) -> errors.QuantError:
    """Build the error of a file that ends before something it announces."""
    return errors.build("file-truncated", tensor=tensor, path=path, size=size, what=what, needed=needed)
