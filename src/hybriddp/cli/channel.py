"""``hybriddp channel``: what a device does with a number, and how good that is."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from hybriddp.channels import WindowChannel
from hybriddp.channels.comparison import hybrid, laplace, lower_bound, one_bit, piecewise, tabulated
from hybriddp.cli.numbers import decimal
from hybriddp.cli.screen import console, say
from hybriddp.errors import DataError


def channel(
    epsilon: Annotated[
        str, typer.Option(help="Privacy of one report, from 0.01 to 20. Smaller is more private.", parser=decimal)
    ],
    prior: Annotated[str | None, typer.Option(help="'uniform' for the least variance on average.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the channel's text here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture here (.png, .svg, .pdf).")] = None,
    codes: Annotated[bool, typer.Option("--codes", help="List what every code is worth.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show the one-byte report of a number: its proof of privacy and its variance.

    Variances are for values between 0 and 1; for bounds LO and HI multiply them by (HI - LO) squared.
    """
    made = WindowChannel(epsilon=epsilon, prior=prior)
    if output is not None:
        _write(made, output)
    if plot is not None:
        from hybriddp.figures.channel import draw  # here, because matplotlib is optional

        draw(made, path=plot)
    if as_json:
        typer.echo(json.dumps(_as_dict(made), indent=2))
        return
    screen = console()
    screen.print(_variances(made))
    say(_proof(made))
    if codes:
        screen.print(_codes(made))
    for path, what in ((output, "Text"), (plot, "Picture")):
        if path is not None:
            say(f"{what}: {path}")


def _mechanisms(made: WindowChannel) -> dict[str, float]:
    epsilon = float(made.epsilon)
    rows = {
        "Laplace noise (the paper's)": laplace(epsilon),
        "piecewise mechanism": piecewise(epsilon),
        "one bit": one_bit(epsilon),
        "piecewise and one bit mixed": hybrid(epsilon),
        "this channel": made.worst_variance,
    }
    if made.epsilon in tabulated():
        rows["no unbiased report can be below"] = lower_bound(made.epsilon)
    return rows


def _variances(made: WindowChannel) -> Table:
    table = Table(title=f"One report of a number at ε = {made.epsilon}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("mechanism", no_wrap=True)
    table.add_column("worst variance", justify="right")
    table.add_column("of this channel's", justify="right")
    for name, variance in _mechanisms(made).items():
        style = "bold green" if name == "this channel" else None
        table.add_row(name, f"{variance:.5g}", f"{variance / made.worst_variance:.4g} ×", style=style)
    return table


def _proof(made: WindowChannel) -> str:
    w = made.window
    return (
        f"A report is one byte: each of {w.n_codes} codes has {w.low:,} of 2^{w.bits} draws, and {w.width} "
        f"neighboring ones, which depend on the value, have {w.extra:,} more.\n"
        f"So no value makes a code more than ({w.low:,} + {w.extra:,})/{w.low:,} = {1 + w.extra / w.low:.9g} times as "
        f"likely as another does; e^{made.epsilon} is larger. Checked in integers.\n"
        f"Averaged over uniform values the variance is {made.mean_variance:.5g}. The bias is at most "
        f"{_rounded_up(float(made.worst_bias))} of the range. One forged report moves the sum by at most "
        f"{_rounded_up((made.largest_value + 1) / 2)} ranges.\n"
        f"SHA-256 of its text: {made.digest}"
    )


def _rounded_up(x: float) -> str:
    """Three digits, rounded so that "at most" is true."""
    step = 10.0 ** (math.floor(math.log10(x)) - 2)
    return f"{math.ceil(x / step) * step:.3g}"


def _codes(made: WindowChannel) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What codes are worth, with values from 0 to 1", title_justify="left")
    for _ in range(4):
        table.add_column("code", justify="right")
        table.add_column("value", justify="right")
    quarter = made.n_codes // 4
    for row in range(quarter):
        cells = [(code, made.values[code]) for code in range(row, made.n_codes, quarter)]
        table.add_row(*(text for code, value in cells for text in (str(code), f"{value:.6f}")))
    return table


def _as_dict(made: WindowChannel) -> dict[str, Any]:
    return {
        "epsilon": made.epsilon,
        "channel": json.loads(made.to_json()),
        "digest": made.digest,
        "worst_variance": made.worst_variance,
        "mean_variance": made.mean_variance,
        "worst_bias": float(made.worst_bias),
        "largest_value": made.largest_value,
        "values": made.values.tolist(),
        "mechanisms": _mechanisms(made),
    }


def _write(made: WindowChannel, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made.to_json(), encoding="utf-8")
    except OSError as reason:
        raise DataError(f"The channel cannot be written to {path}: {reason}.") from reason
