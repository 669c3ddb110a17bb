r"""Plausibility of the answers to a round: how many of them, at least, no device has drawn.

Two tests per round. A device draws its ask and its variant before it looks at its point, so that their law is known
exactly: people who agree on one are too many there. And within each variant, the reports must be those of the ask's
channel, whatever the points are (`hybriddp.channels.plausible.wrong_in_supports`); each report is in one ask, so that
these bounds add up. For this one, it must be settled who sends forged answers before anybody draws a variant.

Real answers to all rounds of a study together raise an alarm with a probability of $10^{-6}$ at most: round $r$ may use
the part $1/(r(r + 1))$ of it, which add up to 1 over all rounds.

Forged answers that have the law of an honest device with any point are not seen.
"""

from collections.abc import Sequence

import numpy as np

from hybriddp.channels.plausible import count_surpluses, wrong_in_codes, wrong_in_supports
from hybriddp.kmeans.reports.base import Ask, ReportTally

_FALSE_ALARM = 1e-6  # of all tests of a study together
_WORDS = 2.0**-31  # a word of 32 bits chooses an ask, another one a variant: so far are they from their fractions


def implausible_answers(asks: Sequence[Ask], answers: Sequence[ReportTally], number: int) -> int:
    """Bound from below the number of forged answers to a round, the ``number``-th of its study."""
    level = _FALSE_ALARM / (number * (number + 1)) / 2
    total = float(sum(ask.user_fraction for ask in asks))
    chosen = np.concatenate(
        [np.full(ask.question.n_variants, float(ask.user_fraction) / total / ask.question.n_variants) for ask in asks]
    )
    users = np.concatenate([tally.users for tally in answers])
    least, most = np.maximum(chosen - _WORDS, 0.0), np.minimum(chosen + _WORDS, 1.0)
    drawn = wrong_in_codes(count_surpluses(users, users.sum(), least, most, false_alarm=level))
    sent = sum(
        wrong_in_supports(ask.channel, tally.supports, tally.users, false_alarm=level / len(asks))
        for ask, tally in zip(asks, answers, strict=True)
    )
    return max(drawn, sent)
