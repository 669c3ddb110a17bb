"""`Client` and `AsyncClient`: take part in a study from Python."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hybriddp import _check
from hybriddp.client.contribution import Contribution
from hybriddp.client.drivers import check_url, conduct, conduct_async, http_settings, import_httpx
from hybriddp.client.exchange import RetryPolicy
from hybriddp.client.journal import FileJournal, MemoryJournal
from hybriddp.client.offer import StudyOffer
from hybriddp.client.participant import Participant
from hybriddp.client.receipt import Receipt
from hybriddp.client.rounds import answer

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncClient", "Client"]

_TIMEOUT = _check.Range("a number of seconds from 0.1 to 600", 0.1, 600.0)


class _ClientBase:
    """What the two clients share: their parameters, checked, and nothing that waits."""

    def __init__(
        self,
        url: str,
        token: str | None,
        study: str | None,
        journal: Path | str | None,
        digest: str | None,
        retries: RetryPolicy,
        timeout: float,
        allow_http: bool,
    ) -> None:
        import_httpx()
        self.url = check_url(url, allow_http=allow_http)
        self._http_settings = http_settings(self.url, _check.number("timeout", timeout, _TIMEOUT))
        kept = MemoryJournal() if journal is None else FileJournal(journal)
        self._participant = Participant(token, study=study, journal=kept, digest=digest, retries=retries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, study={self._participant.study!r})"  # tokens are not for logs


class Client(_ClientBase):
    """Take part in a study: `report` a randomized value, or `trust` the curator with the value itself.

    The first call fetches the study, checks that its text has its digest and that its channel keeps ε, draws the
    contribution **once**, puts it into the journal, and only then sends it. Every later call, with whatever value,
    sends the same contribution again: a second draw would cost ε a second time.

    Parameters
    ----------
    url : str
        The curator's address: https, unless it is on this machine.
    token : str, optional
        The participant's token, from the organization's backend. A pilot may take contributions without one.
    study : str, optional
        The study's id. A token names it (its ``aud``), so it is needed only without one.
    journal : Path or str, optional
        The file that keeps what was drawn, for its owner only: one for each person and study. It holds the code, or,
        if you trust, your value or category, without which nobody could withdraw. **Without a file**
        all of it ends with this object: after a restart the same contribution can be neither sent again nor withdrawn,
        another call draws anew, and if the first one had reached the curator the second is refused as a duplicate, by
        a curator who has then seen two draws.
    digest : str, optional
        The digest of the study that the app was made for: anything else is refused.
    retries : RetryPolicy, optional
        How often to try again when the curator cannot be reached.
    timeout : float
        Seconds for each step of a request: to connect, and until the next part of the answer comes. The whole exchange
        may take six times as long. (`Client` looks at the clock whenever a part of the body comes; `AsyncClient` stops
        at any moment.)
    allow_http : bool
        Whether an http address that is not on this machine is fine: everybody on the way can read the token then, and
        the value of somebody who trusts.
    transport : httpx.BaseTransport, optional
        In place of the network: `MockCurator.transport` in tests, or ``httpx.HTTPTransport(proxy=…)``. A proxy that
        the environment names (``HTTP_PROXY`` and the like) is not used.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> from hybriddp.client import MockCurator
    >>> curator = MockCurator(MeanStudy("session minutes", bounds=(0, 240), epsilon=1))
    >>> with Client("https://curator.example.org", curator.token("alice"), transport=curator.transport) as client:
    ...     receipt = client.report(37.5)
    >>> receipt.group, receipt.epsilon, receipt.resent
    ('local', '1', False)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        study: str | None = None,
        journal: Path | str | None = None,
        digest: str | None = None,
        retries: RetryPolicy = RetryPolicy(),  # noqa: B008  (frozen)
        timeout: float = 10.0,
        allow_http: bool = False,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        super().__init__(url, token, study, journal, digest, retries, timeout, allow_http)
        self._http: httpx.Client = import_httpx().Client(**self._http_settings, transport=transport)

    @property
    def study(self) -> StudyOffer:
        """The study as the curator offers it, checked; fetched once."""
        return conduct(self._participant.offer(), self._http)

    def promise(self) -> str:
        """Describe what is asked, promised and stored.

        Show this text before you ask for a value.
        """
        return conduct(self._participant.promise(), self._http)

    def report(self, value: float | str) -> Receipt:
        """Join the local group: the value or category is randomized here, and one code is sent."""
        return conduct(self._participant.contribute("local", value), self._http)

    def enroll(self) -> Receipt:
        """Join the local group of a study that asks in rounds (K-means): `answer` when it is your turn."""
        return conduct(self._participant.enroll(), self._http)

    def answer(self, point: Sequence[float]) -> Receipt:
        """Answer the round of a study that asks in rounds: it is checked, and one code is drawn, kept and sent.

        `RejectedError` with the reason ``early`` if a later round asks you, ``late`` if yours has ended.
        """
        return conduct(answer(self._participant, point), self._http)

    def trust(self, value: float | str | Sequence[float]) -> Receipt:
        """Join the trusted group: the value, category or point itself is sent; only answers with noise are published.

        For K-means the point is kept, encrypted, until the study ends.
        """
        return conduct(self._participant.contribute("trusted", value), self._http)

    def send(self, contribution: Contribution) -> Receipt:
        """Send what `StudyOffer.draw` made earlier, without a network."""
        return conduct(self._participant.send(contribution), self._http)

    def receipt(self) -> Receipt:
        """Ask the curator for the receipt again."""
        return conduct(self._participant.receipt(), self._http)

    def withdraw(self) -> Receipt:
        """Withdraw, until the study closes: the journal's contribution is subtracted and forgotten, there and here."""
        return conduct(self._participant.withdraw(), self._http)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_ClientBase):
    """The same as `Client`, with await, on asyncio or trio; ``await client.study`` is the offer.

    The parameters are those of `Client`.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        study: str | None = None,
        journal: Path | str | None = None,
        digest: str | None = None,
        retries: RetryPolicy = RetryPolicy(),  # noqa: B008  (frozen)
        timeout: float = 10.0,
        allow_http: bool = False,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        super().__init__(url, token, study, journal, digest, retries, timeout, allow_http)
        self._http: httpx.AsyncClient = import_httpx().AsyncClient(**self._http_settings, transport=transport)

    @property
    def study(self) -> Awaitable[StudyOffer]:
        """The study as the curator offers it, checked; fetched once."""
        return conduct_async(self._participant.offer(), self._http)

    async def promise(self) -> str:
        """Describe what is asked, promised and stored.

        Show this text before you ask for a value.
        """
        return await conduct_async(self._participant.promise(), self._http)

    async def report(self, value: float | str) -> Receipt:
        """Join the local group: the value or category is randomized here, and one code is sent."""
        return await conduct_async(self._participant.contribute("local", value), self._http)

    async def enroll(self) -> Receipt:
        """Join the local group of a study that asks in rounds (K-means): `answer` when it is your turn."""
        return await conduct_async(self._participant.enroll(), self._http)

    async def answer(self, point: Sequence[float]) -> Receipt:
        """Answer the round of a study that asks in rounds, as `Client.answer`."""
        return await conduct_async(answer(self._participant, point), self._http)

    async def trust(self, value: float | str | Sequence[float]) -> Receipt:
        """Join the trusted group: the value, category or point itself is sent; only answers with noise are published.

        For K-means the point is kept, encrypted, until the study ends.
        """
        return await conduct_async(self._participant.contribute("trusted", value), self._http)

    async def send(self, contribution: Contribution) -> Receipt:
        """Send what `StudyOffer.draw` made earlier, without a network."""
        return await conduct_async(self._participant.send(contribution), self._http)

    async def receipt(self) -> Receipt:
        """Ask the curator for the receipt again."""
        return await conduct_async(self._participant.receipt(), self._http)

    async def withdraw(self) -> Receipt:
        """Withdraw, until the study closes: the journal's contribution is subtracted and forgotten, there and here."""
        return await conduct_async(self._participant.withdraw(), self._http)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
