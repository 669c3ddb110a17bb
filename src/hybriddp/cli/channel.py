"""``hybriddp channel``: what a device does with a number, and how good that is."""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from hybriddp.channels import WindowChannel
from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import print_table, say, say_written, write_text
from hybriddp.theory.local_mechanisms import LOWER_BOUNDS, hybrid, laplace, one_bit, piecewise


def channel(
    epsilon: options.Epsilon,
    output: Annotated[Path | None, option("Write the channel as JSON to this file.", "--output", "-o")] = None,
    plot: options.Plot = None,
    codes: Annotated[bool, option("List the value of every code.", "--codes")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show the one-byte report of a number: its proof of privacy and its variance.

    Variances are for values between 0 and 1; for bounds LO and HI multiply them by (HI - LO) squared.
    """
    made = WindowChannel(epsilon=epsilon)
    if output is not None:
        _write(made, output)
    if plot is not None:
        from hybriddp.figures.channel import draw  # here, because matplotlib is optional

        draw(made, path=plot)
    if as_json:
        typer.echo(json.dumps(_as_dict(made), indent=2))
        return
    mechanisms = _mechanisms(made)
    print_table(
        ("mechanism", "worst variance", "of this channel's"),
        [(name, f"{v:.5g}", f"{v / made.worst_variance:.4g} ×") for name, v in mechanisms.items()],
        title=f"One report of a number at ε = {made.epsilon}",
        bold=[name == "this channel" for name in mechanisms],
    )
    say(_proof(made))
    if codes:
        quarter = made.n_codes // 4
        columns = [range(row, made.n_codes, quarter) for row in range(quarter)]
        print_table(
            ("code", "value") * 4,
            [[text for code in row for text in (str(code), f"{made.values[code]:.6f}")] for row in columns],
            title="What codes are worth, with values from 0 to 1",
        )
    say_written(output, plot)


def _mechanisms(made: WindowChannel) -> dict[str, float]:
    epsilon = float(made.epsilon)
    rows = {
        "Laplace noise (the paper's)": laplace(epsilon),
        "piecewise mechanism": piecewise(epsilon),
        "one bit": one_bit(epsilon),
        "piecewise and one bit mixed": hybrid(epsilon),
        "this channel": made.worst_variance,
    }
    if made.epsilon in LOWER_BOUNDS:
        rows["no unbiased report can be below"] = LOWER_BOUNDS[made.epsilon]
    return rows


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
    with suppress(OSError):  # writing will say it
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, made.to_json())
