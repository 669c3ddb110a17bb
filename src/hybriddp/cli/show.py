"""``hybriddp show``: a result that was kept beside its ledger."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hybriddp.cli import options
from hybriddp.cli.releasing import Full
from hybriddp.cli.terminal import say
from hybriddp.release.results import read_result


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File in the folder LEDGER.results.")],
    as_json: options.AsJson = False,
    full: Full = False,
) -> None:
    """Show a result that was released before, checked against the ledger. Nothing is read or charged."""
    text = read_result(file)
    if not as_json:
        say(f"{file} is complete, and as it was written. Show it with --json.")
        return
    content = json.loads(text)
    public = content if full else _public(content)
    typer.echo(text if public == content else json.dumps(public, indent=2))


def _public(content: Any) -> Any:  # noqa: ANN401
    """Leave out what is the curator's."""
    if isinstance(content, list):
        return [_public(one) for one in content]
    if isinstance(content, dict):
        return {name: _public(value) for name, value in content.items() if name != "curator"}
    return content
