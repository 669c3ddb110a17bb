"""Errors in the words of the command line: ``--single-group``, where Python says ``single_group=True``.

The package speaks of the parameters of its functions. At the edge their names are turned into the options of the
command that was called, found by its own parameters and by a short list of those with another name.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer

RENAMED = {
    "n_users": "users",
    "trusted_fraction": "trusted",
    "colluding_local": "colluding",
    "random_state": "seed",
    "for_": "solve_for",
}
"""Parameters in Python whose option is called differently."""


_KEYWORDS = ("sd_at_most", "single_group", "mean_gap", "target_rmse", "trusted_if", "simulate_local")
"""Parameters that results, written for Python too, may speak of, and that are options under the same name."""

_MENTIONED = re.compile(rf"(?<![\w./-])({'|'.join(_KEYWORDS)})(?!\w|\.\w)(=True\b| ?= ?(?=\S))?")


def options_of(app: typer.Typer, *words: str | None) -> dict[str, str]:
    """The option of each parameter in Python, for the command that these words call; for all if they call none.

    Examples
    --------
    >>> from hybriddp.cli import app
    >>> options_of(app, "plan")["n_users"]
    '--users'
    >>> options_of(app, "ledger", "create")["accountant"], options_of(app, "ledger", "create")["path"]
    ('--accountant', 'PATH')
    """
    called: Any = typer.main.get_command(app)
    for word in words:
        if word not in getattr(called, "commands", {}):
            break
        called = called.commands[word]
    options = {
        parameter.name: _as_typed(parameter)
        for one in _commands(called)
        for parameter in getattr(one, "params", ())
        if parameter.name
    }
    for name, flag in RENAMED.items():
        if flag in options and name not in options:
            options[name] = options[flag]
    return options


def _commands(called: Any) -> Iterator[Any]:  # noqa: ANN401  (click's classes are not part of typer's interface)
    """The command itself, or all that are below it."""
    if not hasattr(called, "commands"):
        yield called
        return
    for below in called.commands.values():
        yield from _commands(below)


def _as_typed(parameter: Any) -> str:  # noqa: ANN401
    """The option, or what the help calls an argument."""
    flags = [text for text in parameter.opts if text.startswith("--")]
    return flags[0] if flags else str(parameter.metavar or parameter.name).upper().removesuffix("...")


def in_options(text: str) -> str:
    """Words of a result with the options in place of the parameters that they speak of.

    Examples
    --------
    >>> in_options("It is public knowledge that sd_at_most = 9. More of it (sd_at_most) helps.")
    'It is public knowledge that --sd-at-most 9. More of it (--sd-at-most) helps.'
    """

    def option(found: re.Match[str]) -> str:
        given = found[2] is not None and found[2] != "=True"
        return f"--{found[1].replace('_', '-')}{' ' * given}"

    return _MENTIONED.sub(option, text)


def in_flags(message: str, options: Mapping[str, str]) -> str:
    """A message with the options in place of the names of parameters.

    Names that are ordinary words too (``value``, ``users``) are touched only where they cannot be meant as such: before
    "must be", before "=" or between backquotes.

    Examples
    --------
    >>> options = {"single_group": "--single-group", "trusted_fraction": "--trusted"}
    >>> in_flags("Pass single_group=True if the other group will do.", options)
    'Pass --single-group if the other group will do.'
    >>> in_flags("trusted_fraction must be below 1, got trusted_fraction=1.5.", options)
    '--trusted must be below 1, got 1.5.'
    """
    for name in sorted(options, key=len, reverse=True):
        flag, word = options[name], rf"(?<![\w-]){re.escape(name)}"
        message = re.sub(rf"\bgot {re.escape(name)}(?:\[[\d, ]*\])?=", "got ", message)
        message = re.sub(rf"`{re.escape(name)}`", flag, message)
        message = re.sub(rf"{word}=True\b", flag, message)
        message = re.sub(rf"{word}=(?=\S)", f"{flag} ", message)
        message = re.sub(rf"(?:(?<=^)|(?<=\. )){re.escape(name)}(?:\[[\d, ]*\])?(?= must be)", flag, message)
        if "_" in name:
            message = re.sub(rf"{word}\b", flag, message)
    return message.replace(", got None.", ".")
