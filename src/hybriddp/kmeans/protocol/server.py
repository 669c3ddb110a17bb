"""The curator's side of the protocol: rounds go out, tallies come in, centers come out.

The server's state is its *transcript*, everything that was published so far, and nothing else: what it computes is
post-processing of that, always the same. So it can be written down between rounds and taken up again elsewhere, and
whoever reads it learns no more than the releases have told everybody.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, PublishedVector, Release, Step, StepResult
from hybriddp.kmeans.points import PointArray, TrustedPoints, group_of
from hybriddp.kmeans.protocol.budget import TrustedBudget, choose_algorithm, trusted_pays
from hybriddp.kmeans.protocol.round import Round, RoundTally, SimulatedDevices, implausible_answers
from hybriddp.kmeans.protocol.transcript import MOST_USERS, ServerState
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.result import KMeansResult, Spending
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import NEIGHBORS
from hybriddp.randomness import byte_source, simulation_generator
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.study.result import Statement

Seed = int | np.random.Generator | None
_LARGEST = 1 << 62  # no release of fewer than 2^40 users is larger, noise included


class HybridKMeansServer:
    """Runs a study: hands out rounds, absorbs answers, releases what the trusted group is asked for.

    Nothing is spent before `start`.

    Parameters
    ----------
    study : KMeansStudy
        The study.
    n_local : int
        Number of local users to be asked, all rounds together; public.
    trusted : array_like or TrustedPoints, optional
        The points of the trusted group, columns in the order of the bounds: a study has no names of columns.
    ledger : Ledger, optional
        Where every release is recorded before its noise is drawn; `BudgetError` if there is not enough left.
    random_state : int or numpy.random.Generator, optional
        For simulation only: what comes out is **not** a private release, and is not recorded.

    Attributes
    ----------
    round : Round or None
        What local users are to be asked now; None before `start` and after the last round.
    spending : tuple of Spending
        What each step so far cost whom.
    n_trusted, n_local : int
        The sizes of the groups.
    rejected : int
        Invalid reports so far.
    implausible_reports : int
        Lower bound on the number of forged answers so far, each of them a valid report by itself.
    seeded, in_ledger : bool
        Whether it is a simulation, and whether a ledger records the releases.

    Examples
    --------
    >>> study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 1)], epsilon=2)
    >>> points = np.random.default_rng(0).choice([0.2, 0.8], (10_100, 1))
    >>> server = HybridKMeansServer(study, n_local=10_000, trusted=points[:100], random_state=1)
    >>> server.start()
    >>> server.round.purpose, server.round.user_fraction
    ('a grid for the first centers', Fraction(1, 2))
    >>> reports = server.round.answer(points[100:5100], random_state=2)  # on 5,000 devices
    >>> server.absorb(server.round.count(reports))
    >>> server.round.number
    2
    """

    def __init__(
        self,
        study: KMeansStudy,
        *,
        n_local: int,
        trusted: ArrayLike | TrustedPoints | None = None,
        ledger: Ledger | None = None,
        random_state: Seed = None,
    ) -> None:
        if not isinstance(study, KMeansStudy):
            raise ParameterError("study", "a KMeansStudy", study)
        require_ledger(ledger)
        group = group_of(study.box, trusted)
        state = ServerState(
            study=study,
            n_local=_check.integer("n_local", n_local, at_least=0, at_most=MOST_USERS),
            n_trusted=0 if group is None else group.count,
            seeded=random_state is not None,
            in_ledger=ledger is not None and random_state is None,
        )
        self._set_up(state, group, ledger, random_state)

    def _set_up(
        self, state: ServerState, group: TrustedPoints | None, ledger: Ledger | None, random_state: Seed
    ) -> None:
        """Set everything up to the algorithm's first step."""
        study = state.study
        self.study, self.n_trusted, self.n_local = study, state.n_trusted, state.n_local
        self.seeded, self.in_ledger = state.seeded, state.in_ledger
        self.round: Round | None = None
        self.rejected = state.rejected
        self.implausible_reports = 0
        self.spending: tuple[Spending, ...] = ()
        self._state, self._group = state, group
        self._budget = TrustedBudget(study, None if state.seeded else ledger)
        self._ledger_nonce = state.ledger_nonce
        self._seed = None if random_state is None else int.from_bytes(byte_source(random_state).take(16).tobytes())
        self._results: list[StepResult] = []
        self._pending: PublishedVector | None = None
        self._estimate: ClusterEstimate | None = None
        self._stopped = False
        self._algorithm = choose_algorithm(study, n_trusted=state.n_trusted, n_local=state.n_local)
        self._step: Step | None = next(self._algorithm)

    def start(self) -> None:
        """Begin the study: release what the trusted group is asked for first. Nothing is spent before.

        `BudgetError` if the ledger has less left than the whole study needs. If reading the points fails, call it
        again. A study that has begun goes on where it is; one that was interrupted is taken up from its text.
        """
        if not self._started() and self.trusted_used:
            self._budget.require_enough()
        self._advance()

    def absorb(self, tally: RoundTally) -> None:
        """Take the answers to the current round, and go on to the next.

        If a release fails that was due after the answers (the ledger has too little left, or a table cannot be read),
        the answers are kept: `release_pending` tries again, also after the server has been taken up from its text.
        """
        if not isinstance(tally, RoundTally):
            raise ParameterError("tally", "a RoundTally, as round.count gives it", tally)
        if self.round is None or self._step is None:
            raise ProtocolError(f"There is no round to answer. {self._why_no_round()}")
        if tally.round_digest not in ("", self.round.digest):
            raise ProtocolError(f"Round {self.round.number} is to be answered, got answers to another round.")
        if tally.seeded and not self.seeded:
            raise ProtocolError(
                "The reports were made with a random_state, so they are not private, and this is not a simulation. "
                "Answer the round without a random_state, or give one to the server."
            )
        answers = self._checked(self.round.asks, tally.answers)
        self.rejected += _check.integer("rejected", tally.rejected, at_least=0, at_most=MOST_USERS - self.rejected)
        self._record(self._step, StepResult(answers, self._pending))
        self._advance()

    def run(self, points: ArrayLike | PointArray, random_state: Seed = None) -> None:
        """Run the study to its end with the devices of all local users, who have these points, in one process."""
        self.start()
        local = points if isinstance(points, PointArray) else PointArray(self.study.box, points, "local_points")
        devices = SimulatedDevices(local, byte_source(random_state))
        while self.round is not None:
            self.absorb(RoundTally(devices.answer(self.round.asks), round_digest=self.round.digest))

    def release_pending(self) -> None:
        """Release what is due, if that failed before or the server was taken up from its text meanwhile."""
        if not self._started():
            raise ProtocolError(f"No release is due. {self._why_no_round()}")
        self._advance()

    def _started(self) -> bool:
        return bool(self._results) or self.round is not None

    def _advance(self) -> None:
        """Release statistics of the trusted group until local users are wanted too, or to the end."""
        if self._stopped:
            raise ProtocolError(self._why_no_round())
        if self._step is not None:
            self._budget.charge_local()  # once: a ledger may have joined since the study began
        while self.round is None and self._step is not None:
            step, published = self._step, None
            asked = self._round_of(step)  # whose channels are checked before anything is released
            if step.release is not None:
                if self._group is None:
                    raise ProtocolError("The trusted group's points are needed to go on. Give them as trusted.")
                # The noise of a simulation depends on seed and step only, so that it can be resumed anywhere.
                number, seed = len(self._results), self._seed
                rng = None if seed is None else simulation_generator(seed, f"k-means release {number}")
                published = self._budget.release(step.purpose, step.release, self._group, self._spent(), rng)
            if asked is None:
                self._record(step, StepResult((), published))
            else:
                self._pending, self.round = published, asked

    def _spent(self) -> Fraction:
        """Add up what the steps so far have cost each trusted user."""
        return sum((Fraction(step.trusted_epsilon) for step in self.spending), Fraction(0))

    def _round_of(self, step: Step) -> Round | None:
        number = 1 + sum(bool(result.answers) for result in self._results)
        return Round(self.study, number, step.purpose, step.asks) if step.asks else None

    def _record(self, step: Step, result: StepResult) -> None:
        """Send the algorithm what came back, and get its next step."""
        self._stopped = True  # if anything raises below, an interrupt too: what was released must not be released again
        self._results.append(result)
        if result.answers:
            number = sum(bool(earlier.answers) for earlier in self._results)
            self.implausible_reports += implausible_answers(step.asks, result.answers, number)
        self.round = self._pending = self._step = None
        cost = "0" if step.release is None else self._budget.epsilon(step.release)
        users = sum(tally.n_users for tally in result.answers)
        self.spending = (*self.spending, Spending(step.purpose, cost, users))
        try:
            self._step = self._algorithm.send(result)
        except StopIteration as end:
            self._estimate = end.value
        self._stopped = False

    @property
    def estimate(self) -> ClusterEstimate:
        """What the algorithm knows after the last round, in a box of sides up to 1."""
        if self._estimate is None:
            why = f"Round {self.round.number} has not been answered." if self.round else self._why_no_round()
            raise ProtocolError(f"There is no result yet. {why}")
        return self._estimate

    @property
    def has_ended(self) -> bool:
        """Whether there is a result."""
        return self._estimate is not None

    @property
    def cluster_centers(self) -> NDArray[np.float64]:
        """Centers in the units of the data, after the last round."""
        return self.study.box.values(self.estimate.centers)

    @property
    def result(self) -> KMeansResult:
        """The result in the units of the data, after the last round."""
        estimate, promise = self.estimate, self.study.privacy
        total = max(float(estimate.sizes.sum()), 1e-12)
        return KMeansResult(
            study=self.study,
            privacy=Statement(
                promise.epsilon, promise.delta, NEIGHBORS, self._spent() > 0, self.in_ledger, self.seeded
            ),
            implausible_reports=self.implausible_reports,
            centers=self.cluster_centers,
            standard_errors=self.study.box.units * np.sqrt(estimate.variance),
            sizes=estimate.sizes / total,
            size_errors=np.sqrt(estimate.size_variance) / total,
            trusted_weight=estimate.trusted_weight,
            doubt=estimate.doubt,
            doubts=estimate.doubts,
            start=estimate.start,
            steps=self.spending,
            n_trusted=self.n_trusted,
            n_local=self.n_local,
            trusted_used=self.trusted_used,
        )

    @property
    def trusted_used(self) -> bool:
        """Whether the trusted group takes part. One that cannot help is not used: it is asked nothing and pays nothing.

        Public numbers decide that before the study begins.
        """
        return trusted_pays(self.study, self.n_trusted, self.n_local)

    def _why_no_round(self) -> str:
        if self._stopped:
            return "The study stopped in an error. Resume it from to_json() with from_json()."
        if not self._started():
            return "The study has not been started. Call start() first."
        return "A release is due first. Call release_pending()." if self._step else "The study has ended."

    def to_json(self) -> str:
        """Write the state between rounds: what was published, and nothing that was not."""
        if self.in_ledger and self.trusted_used and self._budget.ledger is not None:
            self._ledger_nonce = self._budget.ledger.nonce
        return replace(
            self._state,
            rejected=self.rejected,
            results=tuple(self._results),
            pending_release=self._pending,
            open_round=None if self.round is None else self.round.to_json(),
            ledger_nonce=self._ledger_nonce,
        ).to_json()

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        trusted: ArrayLike | TrustedPoints | None = None,
        ledger: Ledger | None = None,
        random_state: Seed = None,
    ) -> "HybridKMeansServer":
        """Take up a server again from what `to_json` gave. That spends nothing.

        If a round is open, go on with `absorb`. If a release is due, because it failed before, `release_pending` makes
        it. A server that was written down before `start` begins with that. ``trusted`` are the same points as before;
        they are not needed if nothing is released any more. A simulation goes on with the same ``random_state``; if
        that is an integer, it ends as if it had not been interrupted.

        If there was a ledger, the same one is needed until the study has ended: it is what keeps a state that is taken
        up twice from spending more than ε. Where releases are left, two servers of one state draw on the same rest of
        ε, and at most one of them comes to its end. `ProtocolError` if there is no ledger, or one that does not hold
        what the state says was spent. A ledger may join a study that has spent nothing yet.
        """
        require_ledger(ledger)
        state = ServerState.from_json(text)
        if state.seeded != (random_state is not None):
            whose = "a simulation: it goes on with" if state.seeded else "a private study: it goes on without"
            raise ProtocolError(f"The state is that of {whose} a random_state.")
        group, size = group_of(state.study.box, trusted), state.n_trusted
        if group is not None and group.count != size:
            raise DataError(f"The trusted group had {size:,} users, now {group.count:,} are given.")
        joins = ledger is not None and not state.in_ledger and not state.seeded
        if joins:
            state = state.joined()
        server = cls.__new__(cls)
        try:
            server._set_up(state, group, ledger, random_state)  # noqa: SLF001  (of its own class)
        except (DataError, ParameterError) as reason:
            raise ProtocolError(f"The state is refused: {reason}") from None
        server._replay(state)  # noqa: SLF001
        if joins and server._started() and server.trusted_used:  # noqa: SLF001  (before that, `start` looks)
            server._budget.require_enough()  # noqa: SLF001
        return server

    def __reduce__(self) -> NoReturn:
        """Prevent copying and pickling, because copies would share one generator."""
        raise ProtocolError("A HybridKMeansServer cannot be copied. Use to_json() and from_json().")

    def _replay(self, state: ServerState) -> None:
        """Send the algorithm what came back before; `ProtocolError` if it could not have come back."""
        for result in state.results:
            step = self._wanted()
            self._check_release(step.release, result.release)
            self._record(step, StepResult(self._checked(step.asks, result.answers), result.release))
        if state.open_round is not None:
            step = self._wanted()
            self._check_release(step.release, state.pending_release)
            sent = Round.from_json(state.open_round, study=self.study)
            asked = self._round_of(step)
            same = asked is not None and asked.is_like(sent)
            state.require(same, "it waits for another round than this version of hybriddp asks")
            self._pending, self.round = state.pending_release, sent  # to the last digit, in which machines may differ
        else:
            state.require(state.pending_release is None, "it holds a release of a step that does not wait for answers")
        if state.in_ledger and self.trusted_used and self._step is not None:
            spent = self._spent()
            if self._pending is not None and self._step.release is not None:  # in the step that waits for local users
                spent += Fraction(self._budget.epsilon(self._step.release))
            self._budget.require_same_ledger(state.ledger_nonce, spent)

    def _wanted(self) -> Step:
        if self._step is None:
            raise ProtocolError("The state is refused: it goes on after the end of the study.")
        return self._step

    def _checked(self, asks: Sequence[Ask], tallies: Sequence[ReportTally]) -> tuple[ReportTally, ...]:
        """Validate tallies; `ProtocolError` unless users who have not answered yet can have answered these asks."""
        if not isinstance(tallies, Sequence) or not all(isinstance(tally, ReportTally) for tally in tallies):
            raise ProtocolError("Answers must be a ReportTally for each ask, as round.count gives them.")
        if len(tallies) != len(asks):
            raise ProtocolError(f"The round has {len(asks)} asks, got answers to {len(tallies)}.")
        pairs = zip(asks, tallies, strict=True)
        checked = tuple(tally.checked(ask.question.n_variants, ask.channel.n_symbols) for ask, tally in pairs)
        users = sum(step.local_users for step in self.spending) + sum(tally.n_users for tally in checked)
        if users > self.n_local:
            raise ProtocolError(
                f"The study has {self.n_local:,} local users, but {users:,} would have answered. "
                "Everybody answers once, in one round: leave out the others."
            )
        return checked

    def _check_release(self, release: Release | None, published: PublishedVector | None) -> None:
        """Raise `ProtocolError` unless these can be the numbers of the release."""
        both = (release is None) == (published is None)
        ServerState.require(both, "it has results that were not wanted, or lacks some that were")
        if release is None or published is None:
            return
        values, variance = published.values, self._budget.noise_variance(release)
        good = values.shape == (release.statistic.size,) and values.min() >= -_LARGEST and values.max() <= _LARGEST
        ServerState.require(good, "it has other numbers than were released")
        good = math.isclose(published.variance, variance, rel_tol=1e-6)
        ServerState.require(good, "it says of a release that its noise had another variance than it has")
