"""What the operator may know of a closed study's reports before it is released: at least how many are implausible.

It is computed from the local group's tally alone, and nothing of the trusted group is opened. Reports have been
randomized on devices, so this is post-processing: it costs nobody anything, and a study whose reports were made up can
be withdrawn without a release.
"""

import asyncio

from hybriddp.channels.plausible import implausible_words
from hybriddp.service.curator import Curator
from hybriddp.service.kinds import Gathered, KMeansKind
from hybriddp.service.rounds import record_of
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading

__all__ = ["doubt_of"]

_INSTEAD = " You can still withdraw the study instead of releasing it."


async def doubt_of(curator: Curator, study_id: str) -> str:
    """Return the warning that a study's answer would come with, or an empty text.

    The warning also states what can be done instead.
    """
    known = await curator.known(study_id)

    def work() -> str:
        with reading(curator.engine) as connection:
            if isinstance(known.kind, KMeansKind):  # counted when each round ended
                record = record_of(connection, known.stored.number)
                return "" if record is None else _told(record.implausible, record.answered)
            gathered = Gathered(0, 0, stored.tally(connection, known.stored.number))
        return _told(known.local_kind.implausible(gathered), gathered.n_local)

    return await asyncio.to_thread(work)


def _told(at_least: int, n_reports: int) -> str:
    told = implausible_words(at_least, n_reports)
    return "".join(told) + (_INSTEAD if told else "")
