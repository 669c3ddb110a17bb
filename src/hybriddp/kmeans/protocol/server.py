"""The curator's side of the protocol: rounds go out, counts come in, centers come out.

The server's state is its *transcript*, everything that was published so far, and nothing else: what it computes is
post-processing of that, always the same. So it can be written down between rounds and taken up again elsewhere, and
whoever reads it learns no more than the releases have told everybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.kmeans.algorithm.choose import conversation, joins_local
from hybriddp.kmeans.algorithm.step import Centers, Published, Release, Step, StepResult
from hybriddp.kmeans.protocol.budget import Account
from hybriddp.kmeans.protocol.round import Round, RoundTally, simulate_devices
from hybriddp.kmeans.protocol.transcript import State
from hybriddp.kmeans.protocol.trusted_points import PointArray, TrustedPoints
from hybriddp.kmeans.reports.symbols import n_symbols
from hybriddp.kmeans.reports.tally import Ask, ReportTally
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.randomness import byte_source, simulation_generator
from hybriddp.release.event import Part
from hybriddp.release.ledger import Ledger
from hybriddp.release.mechanisms import release_vector


@dataclass(frozen=True, slots=True)
class Spending:
    """What one step cost whom.

    Attributes
    ----------
    what : str
        What it was for.
    trusted_epsilon : str
        What a release cost each trusted user, as a decimal.
    local_users : int
        How many local users reported, each with all of ε.
    trusted_users : int
        How many trusted users were reported like local ones, each with all of ε.
    """

    what: str
    trusted_epsilon: str
    local_users: int
    trusted_users: int = 0


class HybridKMeansServer:
    """Runs a study: hands out rounds, absorbs answers, releases what the trusted group says.

    Parameters
    ----------
    study : KMeansStudy
        The study.
    n_local : int
        How many local users there are to be asked, all rounds together; public.
    trusted : array_like or TrustedPoints, optional
        The points of the trusted group.
    ledger : Ledger, optional
        Where every release is written down before its noise is drawn; `BudgetError` if there is not enough left.
    random_state : int or numpy.random.Generator, optional
        For simulation only: what comes out is **not** a private release, and is not written down.

    Attributes
    ----------
    round : Round or None
        What local users are to be asked now; None after the last round.
    spending : tuple of Spending
        What each step so far cost whom.
    rejected : int
        How many reports so far were no answers.
    joins_local : bool
        Whether the trusted group is too small to help by noisy sums, so that its points are reported like local ones.
    seeded, counted : bool
        Whether it is a simulation, and whether a ledger has the releases.

    Examples
    --------
    >>> study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 1)], epsilon=2)
    >>> points = np.random.default_rng(0).choice([0.2, 0.8], (10_100, 1))
    >>> server = HybridKMeansServer(study, n_local=10_000, trusted=points[:100], random_state=1)
    >>> server.round.what, server.round.user_fraction
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
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        if not isinstance(study, KMeansStudy):
            raise ParameterError("study", "a KMeansStudy", study)
        group = _group(study, trusted)
        state = State(
            study=study,
            n_local=_check.integer("n_local", n_local, at_least=0),
            n_trusted=_public_size(study, group),
            seeded=random_state is not None,
            counted=ledger is not None and random_state is None,
        )
        known = group is None or not study.size_is_private
        if known and state.n_trusted + state.n_local < study.n_clusters:
            raise DataError(
                f"There must be at least as many users as clusters, but there are {state.n_trusted + state.n_local:,} "
                f"users for {study.n_clusters:,} clusters. Nothing has been spent."
            )
        if group is not None:
            Account(study, ledger if state.counted else None).require_all()
        self._start(state, group, ledger, random_state)
        self.release_pending()

    def _start(
        self,
        state: State,
        group: TrustedPoints | None,
        ledger: Ledger | None,
        random_state: int | np.random.Generator | None,
    ) -> None:
        """Everything up to what the algorithm wants first."""
        self.study, self.n_local, self.ledger = state.study, state.n_local, ledger
        self._known_ledger = state.ledger
        self.seeded, self.counted = state.seeded, state.counted
        self._account = Account(state.study, None if state.seeded else ledger)
        self.joins_local = joins_local(state.study, state.n_trusted, state.n_local)
        self.round: Round | None = None
        self.rejected = state.rejected
        self.spending: tuple[Spending, ...] = ()
        self._group, self._n_trusted = group, state.n_trusted
        self._source = byte_source(random_state)
        self._noise = None if random_state is None else simulation_generator(random_state, "k-means release")
        self._heard: list[StepResult] = []
        self._pending: Published | None = None
        self._asked = Fraction(0)
        self._result: Centers | None = None
        self._talk = conversation(
            state.study, has_trusted=state.n_trusted > 0, n_trusted=state.n_trusted, n_local=state.n_local
        )
        self._step: Step | None = next(self._talk)

    # Rounds -------------------------------------------------------------------------------------------------------

    @property
    def result(self) -> Centers:
        """The centers in the unit box, after the last round."""
        if self._result is None:
            number = 1 if self.round is None else self.round.number
            raise ProtocolError(f"There is no result yet: round {number} has not been answered.")
        return self._result

    @property
    def n_trusted(self) -> int:
        """The size of the trusted group: exact where it is public, else as released (0 before that)."""
        if not self.study.size_is_private:
            return self._n_trusted
        sizes = [heard.published for heard in self._heard[:1]]
        return max(int(sizes[0].values[0]), 1) if sizes and sizes[0] is not None and self._n_trusted else 0

    @property
    def cluster_centers(self) -> NDArray[np.float64]:
        """The centers in the units of the data, after the last round."""
        return self.study.box.values(self.result.centers)

    def absorb(self, counted: RoundTally) -> None:
        """Take the answers to the current round, and go on to the next.

        If a release fails that was due after the answers (the ledger has too little left, or a table cannot be read),
        the answers are kept: `release_pending` tries again, also after the server has been taken up from its text.
        """
        if self.round is None:
            ended = "the study has ended" if self._step is None else "a release is due first; see go_on"
            raise ProtocolError(f"There is no round to answer: {ended}.")
        answers, asks = counted.answers, self.round.asks
        if len(answers) != len(asks):
            raise ProtocolError(f"Round {self.round.number} has {len(asks)} asks, got answers to {len(answers)}.")
        if counted.round_digest not in ("", self.round.digest):
            raise ProtocolError(f"Round {self.round.number} is to be answered, got answers to another round.")
        answers = tuple(_checked(ask, got) for ask, got in zip(asks, answers, strict=True))
        if self.joins_local:
            answers = tuple(mine + others for mine, others in zip(self._own_answers(self.round), answers, strict=True))
        self.rejected += counted.rejected
        self._hear(StepResult(answers, self._pending))
        self.release_pending()

    def _hear(self, heard: StepResult) -> None:
        """Tell the algorithm what came back, and get what it wants next."""
        step, self.round = self._step, None
        assert step is not None  # noqa: S101
        self._heard.append(heard)
        cost = "0" if step.release is None else self._account.cost(step.release)
        users = sum(int(answers.users.sum()) for answers in heard.answers)
        mine = sum(turn.stop - turn.start for turn in self._turns(step.asks)) if self.joins_local else 0
        self.spending = (*self.spending, Spending(step.what, cost, users - mine, mine))
        self._asked += sum((ask.user_fraction for ask in step.asks), Fraction(0))
        try:
            self._step = self._talk.send(heard)
        except StopIteration as end:
            self._step, self._result = None, end.value

    def release_pending(self) -> None:
        """Release what the trusted group is wanted for, until local users are wanted too, or the end.

        It is called by everything that gets there; call it to try again where that failed.
        """
        if self.round is not None:
            return
        while self._step is not None:
            step, published = self._step, None
            if step.release is not None:
                published = self._released(step.what, step.release)
            if step.asks:
                self._wait(published)
                return
            self._hear(StepResult((), published))

    def _wait(self, published: Published | None) -> None:
        assert self._step is not None  # noqa: S101
        self._pending = published
        number = 1 + sum(bool(heard.answers) for heard in self._heard)
        self.round = Round(self.study, number, self._step.what, self._step.asks)

    # The trusted group --------------------------------------------------------------------------------------------

    def _released(self, what: str, release: Release) -> Published:
        """Compute, then pay, then add noise: what cannot be read has not been paid for."""
        exact = self._points().exact(release.statistic)
        privacy = Privacy(epsilon=self._account.cost(release))
        self._pay(what, privacy, None)
        private = release_vector(
            exact,
            sensitivity=self.study.changed_users * release.statistic.max_contribution,
            privacy=privacy,
            random_state=self._noise,
        )
        return Published(private.values, private.variance)

    def _own_answers(self, current: Round) -> tuple[ReportTally, ...]:
        """The answers of those trusted users whose turn it is: each answers once in the whole study."""
        group = self._points()
        # Who answers when does not depend on the points, and is the same if the server is taken up again.
        order = np.random.default_rng(list(bytes.fromhex(self.study.digest))).permutation(group.count)
        points = [list(group.points_of(order[turn])) for turn in self._turns(current.asks)]
        self._pay(current.what, self.study.privacy, self._account.part(current.number))
        rng = np.random.default_rng(self._source.take(32).tolist())
        return tuple(
            simulate_devices(ask, iter(mine), source=self._source, rng=rng)
            for ask, mine in zip(current.asks, points, strict=True)
        )

    def _turns(self, asks: Sequence[Ask]) -> list[slice]:
        """Which trusted users answer the next asks like local ones, as places in their order."""
        ends = accumulate((ask.user_fraction for ask in asks), initial=self._asked)
        places = [int(end * self._n_trusted) for end in ends]
        return [slice(first, last) for first, last in pairwise(places)]

    def _points(self) -> TrustedPoints:
        if self._group is None:
            raise ProtocolError("The trusted group's points are needed to go on: give them as trusted.")
        return self._group

    def _pay(self, what: str, privacy: Privacy, part: Part | None) -> None:
        self._account.pay(what, privacy, part)
        self.counted = self.counted and self._account.ledger is not None  # also if a ledger has what went before

    # As text ------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The state between rounds: what was published, and nothing that was not."""
        return State(
            study=self.study,
            n_local=self.n_local,
            n_trusted=self._n_trusted,
            seeded=self.seeded,
            counted=self.counted,
            rejected=self.rejected,
            heard=tuple(self._heard),
            pending=self._pending if self.round is not None else None,
            waiting_for=None if self.round is None else self.round.to_json(),
            ledger=self._ledger_identity() if self.counted else None,
        ).to_json()

    def _ledger_identity(self) -> str | None:
        """What tells the ledger from others; without trusted users there is nothing to write down, and no need."""
        ledger = self._account.ledger
        return self._known_ledger if ledger is None or not self._n_trusted else ledger.identify()

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        trusted: ArrayLike | TrustedPoints | None = None,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> "HybridKMeansServer":
        """Take up a server again from its text.

        If there was a ledger, the same one is needed until the study has ended: it is what keeps a state that is taken
        up twice from spending more than ε. Where releases are left, two servers of one state draw on the same rest of
        ε, and at most one of them comes to its end. `ProtocolError` if there is no ledger, or one that does not hold
        what the state says was spent.

        Parameters
        ----------
        text : str
            What `to_json` gave.
        trusted : array_like or TrustedPoints, optional
            The points of the trusted group, the same as before; not needed if nothing is released any more.
        ledger : Ledger, optional
            Where releases are written down; the one that the study began with.
        random_state : int or numpy.random.Generator, optional
            For simulation only.
        """
        state = State.from_json(text)
        if state.seeded != (random_state is not None):
            raise ProtocolError(
                f"The state is that of {'a simulation' if state.seeded else 'a private study'}: "
                f"it goes on {'with' if state.seeded else 'without'} a random_state."
            )
        group = _group(state.study, trusted)
        if group is not None and not state.study.size_is_private and group.count != state.n_trusted:
            raise DataError(f"The trusted group had {state.n_trusted:,} users, now {group.count:,} are given.")
        server = cls.__new__(cls)
        server._start(state, group, ledger, random_state)  # noqa: SLF001  (of its own class)
        server._replay(state)  # noqa: SLF001
        return server

    def _replay(self, state: State) -> None:
        try:
            for heard in state.heard:
                _check_fit(self._step, heard)
                self._hear(heard)
            if state.waiting_for is not None:
                if self._step is None:
                    raise ValueError("nothing is wanted any more")
                _check_fit(replace(self._step, asks=()), StepResult((), state.pending))
                self._wait(state.pending)
        except (AssertionError, IndexError, ValueError, TypeError):
            raise ProtocolError("The state is refused: what it says was heard does not fit the study.") from None
        if state.counted and state.n_trusted and self._step is not None:
            self._account.require_same(state.ledger)
            self._account.require_history(self._released_so_far(), len(self._heard) if self.joins_local else 0)
        if state.waiting_for is None:
            self.release_pending()
            return
        sent = Round.from_json(state.waiting_for, study=self.study)
        if self.round is None or not self.round.is_like(sent):
            raise ProtocolError("The state is refused: it waits for another round than this version of hybriddp asks.")
        self.round = sent  # to the last digit, in which machines may differ

    def _released_so_far(self) -> Fraction:
        """What all releases up to now cost each trusted user, that of a step which waits for local users included."""
        spent = sum((Fraction(step.trusted_epsilon) for step in self.spending), Fraction(0))
        pending = None if self._step is None or self._pending is None else self._step.release
        return spent if pending is None else spent + Fraction(self._account.cost(pending))


def _checked(ask: Ask, answers: ReportTally) -> ReportTally:
    return answers.checked(ask.question.n_variants, n_symbols(ask.channel))


def _check_fit(step: Step | None, heard: StepResult) -> None:
    """Raise an error if this is not what can come back when the step is wanted."""
    if step is None:
        raise ValueError("nothing was wanted")
    for ask, answers in zip(step.asks, heard.answers, strict=True):
        _checked(ask, answers)
    shape = None if step.release is None else (step.release.statistic.size,)
    if shape != (None if heard.published is None else heard.published.values.shape):
        raise ValueError("another release was wanted")


def _group(study: KMeansStudy, trusted: ArrayLike | TrustedPoints | None) -> TrustedPoints | None:
    """The trusted group. One without users counts as none, unless its size is private: that it is 0 would tell."""
    if trusted is None:
        return None
    if isinstance(trusted, TrustedPoints):
        group: TrustedPoints = trusted
    else:  # a copy: rows that change places between rounds would let somebody answer twice
        group = PointArray(study.box, np.array(trusted), "trusted points")
    if group.box != study.box:
        raise ParameterError("trusted", "points that were read with the bounds and the scale of this study", group.box)
    return group if group.count or study.size_is_private else None


def _public_size(study: KMeansStudy, group: TrustedPoints | None) -> int:
    """The size of the trusted group; where it is private, only whether there is a group: 1 or 0."""
    if group is None:
        return 0
    return 1 if study.size_is_private else group.count
