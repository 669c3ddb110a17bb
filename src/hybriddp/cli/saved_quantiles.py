"""``hybriddp quantiles --from``: other quantiles of a distribution that was released before. No data, and no cost."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from hybriddp.cli.terminal import say
from hybriddp.distribution.explain import shown
from hybriddp.distribution.published import PublishedDistribution
from hybriddp.errors import DataError, ParameterError

_FREE = "From what was released before: nothing was spent."


def answer_again(
    path: Path,
    at: Sequence[float],
    *,
    as_json: bool,
    groups_may_differ: bool,
    others: Mapping[str, object],
) -> None:
    """Tell the quantiles ``at`` of the distribution in a file of JSON; ``others`` are options that make no sense."""
    for name, value in others.items():
        if value:
            raise ParameterError(name, "left out with --from: nothing is read or released", value)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read. It must hold the JSON of released quantiles.") from None
    found = PublishedDistribution.parts_from_json(text)
    if groups_may_differ:
        found = tuple(one.allowing_groups_to_differ() for one in found)
    if as_json:
        told = [one.with_quantiles(at).to_dict() for one in found]
        typer.echo(json.dumps(told[0] if len(told) == 1 else {"parts": told}, indent=2))
        return
    for one in found:
        for warning in one.warnings:
            say(warning)
        say(f"{one.title}:")
        _say_quantiles(one, at)
        if one.if_groups_may_differ is not None:
            say("If the groups may differ, each counts for its own users only:")
            _say_quantiles(one.if_groups_may_differ, at)
    say(str(found[0].privacy) if found[0].privacy.seeded else _FREE)


def _say_quantiles(answer: PublishedDistribution, at: Sequence[float]) -> None:
    for q in at:
        one = answer.quantile(q)
        say(f"{one.name}: {shown(one)}.")
