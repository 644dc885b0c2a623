"""The program: built from the table of commands, with one place where every error ends."""

import os
import sys
import traceback
from collections.abc import Sequence

from qcore import errors
from qcore.cli import exits, output

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv
        The words after the program's name; those of the process by default.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return exits.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Whoever read has seen enough; Typer turns the error into an exit that it leaves to nobody else. What is
        # still in the buffer must not raise again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.OK
    except errors.QuantError as error:
        return _refused(error, words)
    except OSError as error:
        return _system(error, words)
    except Exception as error:  # noqa: BLE001  # the one boundary: a fault of ours is reported, not dumped
        return _unexpected(error, words)


def _run(words: list[str]) -> int:
    # Imported here, so that an interrupt while the libraries load ends like any other.
    from qcore.cli.program import UsageError, build

    try:
        code = build()(args=words, prog_name="qcore", standalone_mode=False)
    except UsageError as problem:
        problem.show()
        facts: dict[str, object] = {
            "code": "usage",
            "class": type(problem).__name__,
            "message": problem.format_message(),
        }
        return _failed(facts, exits.USAGE, words)
    return int(code or 0)


def _refused(error: errors.QuantError, words: list[str]) -> int:
    from qcore.errors.render import to_dict

    facts = to_dict(error)
    named = f"{facts['tensor']}: " if facts.get("tensor") else ""
    _say(f"error[{facts['code']}]", f"{named}{facts['message']}")
    if not _asked(words, "-q", "--quiet"):
        lines = [
            f"  why: {facts['cause']}",
            "  what to do:",
            *(f"    - {text}" for text in facts["solutions"]),
        ]
        lines.append(f"  more: qcore explain {facts['code']}")
        sys.stderr.writelines(output.printable(line) + "\n" for line in lines)
    keys = ("code", "class", "message", "tensor", "cause", "solutions", "params")
    return _failed({key: facts.get(key) for key in keys}, exits.of_error(error), words)


def _system(error: OSError, words: list[str]) -> int:
    # a missing or unreadable input is the caller's matter; an output that cannot be written is not foreseen
    reading = isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError))
    message = error.strerror or str(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    _say("error", f"{where}{message}")
    code = exits.CORRUPT if reading else exits.UNEXPECTED
    return _failed({"code": None, "class": type(error).__name__, "message": f"{where}{message}"}, code, words)


def _unexpected(error: Exception, words: list[str]) -> int:
    if any(word.startswith("-v") or word == "--verbose" for word in words):
        traceback.print_exc()
    _say("error", f"unexpected {type(error).__name__}: {error}")
    sys.stderr.write("  what to do:\n    - Run it again with -v and report what it prints.\n")
    return _failed(
        {"code": None, "class": type(error).__name__, "message": str(error)}, exits.UNEXPECTED, words
    )


def _say(label: str, text: str) -> None:
    sys.stderr.write(f"{output.styled(label, '1;31', sys.stderr)}: {output.printable(text)}\n")


def _failed(error: dict[str, object], code: int, words: list[str]) -> int:
    """Keep the promise of ``--json``: one document, also when there is nothing but an error to tell."""
    if _asked(words, "--json"):
        from qcore.cli.table import COMMANDS

        command = next((word for word in words if word in COMMANDS), "error")
        output.write(output.Result({"error": error, "exit": code}, ()), command=command, as_json=True)
    return code


def _asked(words: list[str], *options: str) -> bool:
    return any(word in options for word in words)


if __name__ == "__main__":
    sys.exit(main())
