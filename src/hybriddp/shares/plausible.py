"""Whether reports can have come out of a channel for categories (`hybriddp.channels.plausible`).

Whatever a user's category is, their report has each code, or sets each bit, with a probability between two that are
public. Raw categories, a constant, or codes of a larger ε are too many on some codes and too few on others; rows of
bits with too many or too few ones are noticed by their total.
"""

import numpy as np

from hybriddp.channels.plausible import count_surpluses, wrong_in_codes, wrong_in_supports
from hybriddp.channels.response import SymbolChannel
from hybriddp.shares.oracle import FrequencyOracle
from hybriddp.study.groups import Forged
from hybriddp.study.summary import LocalSummary

_FALSE_ALARM = 1e-6  # of all tests of a study together
_CONSTANT = 0.9  # a fraction of all reports that have one code


def forged_counts(oracle: FrequencyOracle, local: LocalSummary) -> Forged:
    """Test reports, of which there are some, against the channel of an oracle."""
    counts, channel = local.array(), oracle.channel
    if isinstance(channel, SymbolChannel):
        users = np.array([local.count])
        wrong = wrong_in_supports(channel, counts[np.newaxis], users, false_alarm=_FALSE_ALARM)
    else:
        least, most = channel.code_bounds
        wrong = wrong_in_codes(count_surpluses(counts, local.count, least, most, false_alarm=_FALSE_ALARM))
    constant = counts.max() > _CONSTANT * local.count and oracle.hit < 0.8
    looks = "a constant" if constant else "raw categories, or like codes of a larger ε"
    words = "The local reports cannot come from this study's channel: they are too concentrated, so they look like"
    return Forged(wrong, f"{words} {looks}.")
