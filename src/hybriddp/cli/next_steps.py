"""What to try after the demonstration: commands that run as printed, in the shell that the demonstration ran in."""

import os
import shlex
import shutil
import sys
from pathlib import Path

STEPS = (
    ("More privacy, and more who trust", "hybriddp demo --epsilon 0.1 --trusted 1%"),
    (
        "What a study of yours would give",
        "hybriddp plan --users 2,000,000 --trusted 0.2% --epsilon 0.5 --bounds 0 600",
    ),
    ("What the devices do, and why it is private", "hybriddp channel --epsilon 1"),
    ("The same for a table of your own", "hybriddp mean --help"),
)
"""What a command shows, and the command."""

_ENDINGS = {"fish": ".fish", "csh": ".csh", "tcsh": ".csh"}
"""Shells that need a script of their own."""


def next_steps() -> str:
    """The steps, a command per line and nothing else on it, so that whole lines can be pasted."""
    activate = activation()
    first = () if activate is None else (("Let this shell find hybriddp", activate),)
    return "\n".join(["What to try next:", *(f"  {words}:\n    {command}" for words, command in (*first, *STEPS))])


def activation() -> str | None:
    """The command that activates the environment of this Python, or None where the shell finds its hybriddp already."""
    programs = Path(sys.executable).parent
    found = shutil.which("hybriddp")
    script = programs / "activate"
    if (found is not None and Path(found).parent == programs) or not script.exists():
        return None
    here = Path.cwd()
    shown = str(script.relative_to(here) if script.is_relative_to(here) else script)
    if os.name == "nt":
        return shown
    ending = _ENDINGS.get(Path(os.environ.get("SHELL", "")).name, "")
    return f"{'source' if ending else '.'} {shlex.quote(shown + ending)}"
