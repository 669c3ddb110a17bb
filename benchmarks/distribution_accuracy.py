"""How accurate quantiles are, on shapes that the design was chosen on and on others, and against peers.

    make bench NAME=distribution_accuracy   (or python -m benchmarks.distribution_accuracy [TRIALS] [PART ...])

Parts: targets, bands, scales, floor, awkward, differ, peers, new. Reports are drawn as counts, by their law;
summaries, release and estimate are the real ones, seeded. A rank error is how far the fraction of users below the
answer is from q, in percentage points; it is pooled over p50, p90, p95 and p99 as a root mean square. Takes some
twenty minutes on one core with 40 trials.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from opendp.mod import enable_features

from benchmarks import square_wave
from benchmarks.distribution_shapes import AWKWARD, DEV, NEW, STEEP, Shape
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution import DistributionEstimate, DistributionFit, DistributionStudy, LocalSummary, TrustedSummary
from hybriddp.distribution.quantile import band, normal_quantile, quantile
from hybriddp.simulation.quantiles import report_counts

ROOT = Path(__file__).parents[1]
PEERS_PYTHON = ROOT / "build" / "peers" / "bin" / "python"
SCRIPT = ROOT / "benchmarks" / "peers" / "diffprivlib_quantiles.py"
AT = (0.5, 0.9, 0.95, 0.99)
DECILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Cell:
    """A setting, and what the design asks of it: the pooled rank error in percent."""

    name: str
    epsilon: float
    n_users: int
    trusted: float
    most: float = float("nan")


TARGETS = (
    Cell("T1", 1, 10**6, 0.01, 0.30),
    Cell("T2", 1, 10**5, 0.01, 1.00),
    Cell("T3", 1, 10**6, 0.001, 0.46),
    Cell("T4", 2, 10**5, 0.05, 0.36),
    Cell("T5", 0.5, 10**5, 0.01, 1.85),
    Cell("T6", 1, 10**5, 0, 1.35),
    Cell("T6", 2, 10**5, 0, 0.78),
    Cell("T6", 4, 10**5, 0, 0.33),
)


@dataclass
class Measured:
    """Errors of one estimator over trials: of ranks, of the CDF at the edges next to the quantiles, and coverage."""

    ranks: list[list[float]] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    band: list[float] = field(default_factory=list)
    linear: list[float] = field(default_factory=list)
    covered: list[float] = field(default_factory=list)

    def add(self, fit: DistributionFit, study: DistributionStudy, shape: Shape, at: Sequence[float] = AT) -> None:
        """One trial."""
        bins, ends = study.bins, band(fit, study.bins, 0.95)
        found = [quantile(fit, bins, q, 0.95) for q in at]
        truths = [shape.quantile(q) for q in at]
        self.ranks.append([shape.rank_error(one.value, one.q) for one in found])
        self.covered += [
            float(one.interval.lower <= x <= one.interval.upper) for one, x in zip(found, truths, strict=True)
        ]
        near = [int(np.abs(bins.edges - x).argmin()) for x in truths]
        exact = np.cumsum(shape.masses(bins))[near]
        self.squares.append(float(np.mean((fit.cdf[near] - exact) ** 2)))
        self.band += ((ends.lower[near] <= exact) & (exact <= ends.upper[near])).astype(float).tolist()
        error, reach = np.cumsum(fit.linear)[near] - exact, normal_quantile(0.95) * fit.standard_errors[near]
        self.linear += (np.abs(error) <= reach).astype(float).tolist()

    @property
    def rms(self) -> float:
        """Pooled rank error, in percent."""
        return 100 * float(np.sqrt(np.mean(np.square(self.ranks))))


@dataclass
class Trio:
    """Both groups together, and each alone."""

    both: Measured = field(default_factory=Measured)
    trusted: Measured = field(default_factory=Measured)
    local: Measured = field(default_factory=Measured)

    @property
    def better(self) -> Measured:
        """The better group."""
        known = [group for group in (self.trusted, self.local) if group.ranks]
        return min(known, key=lambda group: float(np.mean(group.squares)))

    @property
    def ratio(self) -> float:
        """The rank error of both over that of the better group."""
        return self.both.rms / self.better.rms

    @property
    def z(self) -> float:
        """By how many standard errors both together are worse than the better group, in paired squared errors."""
        d = np.subtract(self.both.squares, self.better.squares)
        return float(d.mean() / (d.std(ddof=1) / len(d) ** 0.5))


def trial(study: DistributionStudy, shape: Shape, cell: Cell, rng: np.random.Generator) -> DistributionEstimate:
    """One study: both groups drawn as counts."""
    masses, n_trusted = shape.masses(study.bins), round(cell.trusted * cell.n_users)
    trusted = None
    if n_trusted:
        trusted = TrustedSummary(study.digest, n_trusted, tuple(rng.multinomial(n_trusted, masses).tolist()))
    counts = report_counts(study.channel, rng.multinomial(cell.n_users - n_trusted, masses), rng)
    local = LocalSummary.of_codes(study.digest, counts.ravel().tolist(), tied=True, seeded=True)
    return study.estimate(trusted=trusted, local=local, single_group=not n_trusted, random_state=rng)


def run(shape: Shape, cell: Cell, trials: int, scale: str = "equal", *, fresh: bool = False) -> Trio:
    """A cell on a shape; ``fresh`` with draws that no other ε has."""
    study = DistributionStudy("x", bounds=(0, 1), epsilon=cell.epsilon, scale=scale)
    seeds = [sum(map(ord, shape.name + scale)), cell.n_users, round(1000 * cell.trusted)]
    rng = np.random.default_rng([*seeds, round(1000 * cell.epsilon)] if fresh else seeds)
    found = Trio()
    for _ in range(trials):
        estimate = trial(study, shape, cell, rng)
        found.both.add(estimate.fit, study, shape)
        if cell.trusted:
            for group, fit in ((found.trusted, estimate.fits.trusted), (found.local, estimate.fits.local)):
                if fit is not None:
                    group.add(fit, study, shape)
    return found


def pooled(many: Iterable[Measured]) -> float:
    """The root mean square over shapes, in percent."""
    return float(np.sqrt(np.mean([one.rms**2 for one in many])))


def row(*cells: object) -> None:
    """A line of a table."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(*cells: str) -> None:
    """Its first two lines."""
    row(*cells)
    row(*("---" for _ in cells))


def targets(trials: int, shapes: Sequence[Shape] = DEV, title: str = "dev shapes") -> None:
    """T1 to T6, T8, T9 and T10."""
    names = [shape.name for shape in shapes]
    head("", "ε", "n", "c", "target", "both", "trusted", "local", *names, "band", "interval")
    all_bands, all_covered, ratios, worse = [], [], [], []
    for cell in TARGETS:
        found = [run(shape, cell, trials) for shape in shapes]
        bands = [x for trio in found for x in trio.both.band]
        covered = [x for trio in found for x in trio.both.covered]
        all_bands += bands
        all_covered += covered
        alone = ["", ""]
        if cell.trusted:
            alone = [f"{pooled(t.trusted for t in found):.2f}", f"{pooled(t.local for t in found):.2f}"]
            ratios += [(cell, trio.ratio) for trio in found]
            worse += [(cell.name, shape.name, trio.z) for shape, trio in zip(shapes, found, strict=True) if trio.z > 2]
        each = [f"{trio.both.rms:.2f}" for trio in found]
        target = f"≤ {cell.most:.2f}"
        rms = f"**{pooled(t.both for t in found):.3f}**"
        share = f"{100 * cell.trusted:g} %"
        coverage = (f"{np.mean(bands):.3f}", f"{np.mean(covered):.3f}")
        row(cell.name, f"{cell.epsilon:g}", f"{cell.n_users:,}", share, target, rms, *alone, *each, *coverage)
    at_one = [ratio for cell, ratio in ratios if cell.trusted == 0.01]
    print(
        f"\n{title}: T8: {len(worse)} of {len(ratios)} cells worse than the better group by more than 2 s.e. {worse};"
    )
    print(f"median ratio at c = 1 %: {np.median(at_one):.2f} (largest of all {max(r for _, r in ratios):.2f}).")
    print(f"T9: band {np.mean(all_bands):.3f}. T10: interval {np.mean(all_covered):.3f}.\n", flush=True)


def bands(trials: int) -> None:
    """T9 over all edges between p1 and p99: of the CDF before and after it is made to rise, on the dev shapes."""
    head("T9", "ε", "n", "c", "band of the linear CDF", "of the isotonic CDF", "least of a shape, linear")
    every: list[list[float]] = [[], []]
    for cell in TARGETS:
        found = []
        for shape in DEV:
            study = DistributionStudy("x", bounds=(0, 1), epsilon=cell.epsilon)
            exact, rng = np.cumsum(shape.masses(study.bins))[:-1], np.random.default_rng(29)
            inner = (exact > 0.01) & (exact < 0.99)
            held = []
            for _ in range(trials):
                fit = trial(study, shape, cell, rng).fit
                reach = normal_quantile(0.95) * fit.standard_errors
                cdfs = np.cumsum(fit.linear)[:-1], fit.cdf
                held.append([float(np.mean(np.abs(cdf - exact)[inner] <= reach[inner])) for cdf in cdfs])
            found.append(np.mean(held, axis=0))
        linear, isotonic = np.mean(found, axis=0)
        every[0].append(linear)
        every[1].append(isotonic)
        least = min(one[0] for one in found)
        told = (f"{cell.epsilon:g}", f"{cell.n_users:,}", f"{100 * cell.trusted:g} %")
        row(cell.name, *told, f"{linear:.3f}", f"{isotonic:.3f}", f"{least:.3f}")
    row("pooled", "", "", "", f"**{np.mean(every[0]):.3f}**", f"{np.mean(every[1]):.3f}", "")
    print()


def new(trials: int) -> None:
    """The same on shapes that no constant was chosen on."""
    targets(trials, NEW, "new shapes")


def scales(trials: int) -> None:
    """Latencies on equal bins and on a log scale."""
    head("latency", "bins", "p50", "p90", "p95", "p99", "pooled")
    for shape in (DEV[3], STEEP):
        for scale in ("equal", "log"):
            found = run(shape, TARGETS[0], trials, scale).both
            each = 100 * np.sqrt(np.mean(np.square(found.ranks), axis=0))
            row(shape.name, scale, *(f"{x:.2f}" for x in each), f"{found.rms:.3f}")
    print()


def floor(_: int) -> None:
    """What is left if the masses of the bins are known exactly: where values lie within a bin."""
    nothing = np.zeros((N_BINS, N_BINS))
    head("exact masses", *(f"{scale} bins, {kind}" for scale in ("equal", "log") for kind in ("line", "curve")))
    for shape in (*DEV, STEEP, *NEW):
        told = []
        for scale in ("equal", "log"):
            bins = DistributionStudy("x", bounds=(0, 1), epsilon=1, scale=scale).bins
            fit = DistributionFit(shape.masses(bins), nothing)
            found = [quantile(fit, bins, q, 0.95) for q in AT]
            line = [np.interp(q, [0.0, *fit.cdf, 1.0], [0.0, *bins.edges, 1.0]) for q in AT]
            for values in (line, [one.value for one in found]):
                errors = [100 * shape.rank_error(float(x), q) for x, q in zip(values, AT, strict=True)]
                told.append(f"{np.sqrt(np.mean(np.square(errors))):.3f}")
        row(shape.name, *told)
    print()


def differ(trials: int) -> None:
    """T11: trusted values 10 % larger; the truth is that of everybody."""
    cell, beta = TARGETS[0], DEV[0]
    study = DistributionStudy("x", bounds=(0, 1), epsilon=1)
    head("T11: trusted values of beta × (1 + δ)", "band", "interval", "band, groups_may_differ", "p50, p90 rank rms %")
    n_trusted = round(cell.trusted * cell.n_users)
    for delta in (0.0, 0.02, 0.05, 0.1, 0.3):
        other = beta.scaled(1 + delta)
        everybody = Shape("all", [(cell.trusted, other.laws[0][1]), (1 - cell.trusted, beta.laws[0][1])])
        rng, doubt, honest = np.random.default_rng(11), Measured(), Measured()
        for _ in range(trials):
            trusted = TrustedSummary(
                study.digest, n_trusted, tuple(rng.multinomial(n_trusted, other.masses(study.bins)).tolist())
            )
            drawn = rng.multinomial(cell.n_users - n_trusted, beta.masses(study.bins))
            channel = MaskedResponse(epsilon=1)
            counts = tuple(report_counts(channel, drawn, rng).ravel().tolist())
            local = LocalSummary.of_codes(study.digest, counts, tied=True, seeded=True)
            estimate = study.estimate(trusted=trusted, local=local, random_state=rng)
            doubt.add(estimate.fit, study, everybody)
            honest.add(estimate.allowing_groups_to_differ().fit, study, everybody)
        ranks = 100 * np.sqrt(np.mean(np.square(doubt.ranks), axis=0))
        told = (np.mean(doubt.band), np.mean(doubt.covered), np.mean(honest.band))
        row(f"δ = {100 * delta:g} %", *(f"{x:.3f}" for x in told), f"{ranks[0]:.2f}, {ranks[1]:.2f}")
    print()


def awkward(trials: int) -> None:
    """T10 on shapes with atoms, gaps and whole numbers."""
    cell = TARGETS[1]
    study = DistributionStudy("x", bounds=(0, 1), epsilon=1)
    head("T10: awkward shapes, ε = 1, n = 100,000, c = 1 %", "interval, 7 quantiles", "band")
    for shape in AWKWARD:
        rng, measured = np.random.default_rng(13), Measured()
        for _ in range(trials):
            measured.add(trial(study, shape, cell, rng).fit, study, shape, DECILES)
        row(shape.name, f"{np.mean(measured.covered):.3f}", f"{np.mean(measured.band):.3f}")
    print()


# Peers


def peers(trials: int) -> None:
    """Pooled rank errors: ours, square wave with everybody local, OpenDP's and diffprivlib's on the trusted group."""
    for n, some in ((10**5, trials), (10**6, max(trials // 2, 2))):
        cell = Cell("", 1, n, 0.01)
        local_peers, trusted_peers = ("ours, all local", "square wave, all local"), ("ours, trusted only", "OpenDP")
        head(f"ε = 1, n = {n:,}", "both, c = 1 %", *local_peers, *trusted_peers, "diffprivlib")
        for shape in (*DEV, STEEP, *NEW):
            ours = run(shape, cell, some)
            local = run(shape, Cell("", 1, n, 0), some).both.rms
            alone = [ours.trusted.rms, _opendp(shape, n // 100, some), _diffprivlib(shape, n // 100, some)]
            found = [ours.both.rms, local, _square_wave(shape, n, some), *alone]
            row(shape.name, *("" if np.isnan(x) else f"{x:.2f}" for x in found))
        print()


def _square_wave(shape: Shape, n: int, trials: int) -> float:
    rng, errors = np.random.default_rng(17), []
    for _ in range(trials):
        counts = square_wave.histogram(square_wave.report(shape.draw(n, rng), 1.0, rng), 1.0)
        masses = square_wave.estimate(counts, 1.0)
        errors.append([shape.rank_error(square_wave.quantile(masses, q), q) for q in AT])
    return 100 * float(np.sqrt(np.mean(np.square(errors))))


def _opendp(shape: Shape, n: int, trials: int) -> float:
    """The exponential mechanism on 255 candidates, a quarter of ε for each quantile; neighbors replace one value."""
    import opendp.prelude as dp

    enable_features("contrib")
    rng, errors = np.random.default_rng(19), []
    candidates = (np.arange(N_BINS - 1) / (N_BINS - 2)).tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()
    asked: list[Any] = []
    for q in AT:
        score = dp.t.make_quantile_score_candidates(*space, candidates, q)

        def make(scale: float, score: Any = score) -> Any:  # noqa: ANN401
            return score >> dp.m.make_noisy_max(
                score.output_domain, score.output_metric, dp.max_divergence(), scale, negate=True
            )

        asked.append(dp.binary_search_chain(make, d_in=2, d_out=1 / len(AT), bounds=(1.0, 1e20)))
    for _ in range(trials):
        values = shape.draw(n, rng).tolist()
        chosen = [candidates[release(values)] for release in asked]
        errors.append([shape.rank_error(x, q) for x, q in zip(chosen, AT, strict=True)])
    return 100 * float(np.sqrt(np.mean(np.square(errors))))


def _diffprivlib(shape: Shape, n: int, trials: int) -> float:
    """The exponential mechanism between the values themselves; NaN where ``make bench`` has not set it up."""
    if not PEERS_PYTHON.exists():
        return float("nan")
    rng = np.random.default_rng(19)
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "values.npz"
        np.savez(given, values=[shape.draw(n, rng) for _ in range(trials)], at=AT, epsilon=1.0)
        made = subprocess.run(  # noqa: S603  (our own script)
            [PEERS_PYTHON, SCRIPT, given], check=True, stdout=subprocess.PIPE, text=True
        )
    answers = json.loads(made.stdout)["answers"]
    errors = [[shape.rank_error(x, q) for x, q in zip(row, AT, strict=True)] for row in answers]
    return 100 * float(np.sqrt(np.mean(np.square(errors))))


def speed() -> None:
    """T12: one estimate."""
    for epsilon in (1, 2, 4):
        study = DistributionStudy("x", bounds=(0, 1), epsilon=epsilon)
        rng, times = np.random.default_rng(23), []
        for _ in range(7):
            masses = DEV[0].masses(study.bins)
            trusted = TrustedSummary(study.digest, 1000, tuple(rng.multinomial(1000, masses).tolist()))
            channel = MaskedResponse(epsilon=epsilon)
            counts = tuple(report_counts(channel, rng.multinomial(99_000, masses), rng).ravel().tolist())
            local = LocalSummary.of_codes(study.digest, counts, tied=True, seeded=True)
            start = time.process_time()  # others may use the machine
            study.estimate(trusted=trusted, local=local, random_state=rng)
            times.append(time.process_time() - start)
        print(f"T12: one estimate at ε = {epsilon}: {1000 * float(np.median(times)):.0f} ms of processor time")
    print()


PARTS = {
    "targets": targets,
    "bands": bands,
    "scales": scales,
    "awkward": awkward,
    "differ": differ,
    "floor": floor,
    "peers": peers,
    "new": new,
}


def main() -> None:
    """Run the parts that are named, or all."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asked = [word for word in sys.argv[1:] if not word.isdigit()] or list(PARTS)
    speed()
    for name in asked:
        PARTS[name](numbers[0] if numbers else 40)


if __name__ == "__main__":
    main()
