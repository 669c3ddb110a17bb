"""Errors in the words of the command line: ``--single-group``, where Python says ``single_group=True``.

The package speaks of the parameters of its functions. At the edge their names are turned into the options of the
command that was called, found by its own parameters and by a short list of those with another name.
"""

import re
from collections.abc import Mapping

import typer

RENAMED = {
    "n_users": "users",
    "trusted_fraction": "trusted",
    "colluding_local": "colluding",
    "random_state": "seed",
    "for_": "solve_for",
}
"""Parameters in Python whose option is called differently."""


def options_of(app: typer.Typer, command: str | None) -> dict[str, str]:
    """The option of each parameter in Python, for one command; for all of them if there is no such command.

    Examples
    --------
    >>> from hybriddp.cli import app
    >>> options_of(app, "plan")["n_users"]
    '--users'
    """
    group = typer.main.get_command(app)
    commands: Mapping[str, object] = getattr(group, "commands", {"": group})
    chosen = [commands[command]] if command is not None and command in commands else list(commands.values())
    options = {
        parameter.name: opts[0]
        for one in chosen
        for parameter in getattr(one, "params", ())
        if parameter.name and (opts := [text for text in parameter.opts if text.startswith("--")])
    }
    for name, flag in RENAMED.items():
        if flag in options and name not in options:
            options[name] = options[flag]
    return options


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
        message = re.sub(rf"(?:(?<=^)|(?<=\. )){re.escape(name)}(?= must be)", flag, message)
        if "_" in name:
            message = re.sub(rf"{word}\b", flag, message)
    return message.replace(", got None.", ".")
