"""What the operator may know of a closed study's reports before it is released: at least how many are implausible.

It is computed from the local group's tally alone, and nothing of the trusted group is opened. Reports have been
randomized on devices, so this is post-processing: it costs nobody anything, and a study whose reports were made up can
be withdrawn without a release.
"""

import asyncio

from hybriddp.channels.plausible import implausible_words
from hybriddp.service.curator import Curator
from hybriddp.service.kinds import Gathered
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading

__all__ = ["doubt_of"]

_INSTEAD = " You can still withdraw the study instead of releasing it."


async def doubt_of(curator: Curator, study_id: str) -> str:
    """The warning that a study's answer would come with, and what can be done instead; empty if there is none."""
    known = await curator.known(study_id)

    def work() -> str:
        with reading(curator.engine) as connection:
            gathered = Gathered(0, 0, stored.tally(connection, known.stored.number))
        told = implausible_words(known.local_kind.implausible(gathered), gathered.n_local)
        return "".join(told) + (_INSTEAD if told else "")

    return await asyncio.to_thread(work)
