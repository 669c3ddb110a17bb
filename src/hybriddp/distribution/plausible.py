r"""Whether reports can have come out of a masked channel (`hybriddp.channels.plausible`), by two tests.

A report has a given pattern and code with a probability between $\pi a$ and $\pi(a + b)$, for every user, where $\pi$
is that of the pattern: too many of one kind are those of people who have agreed on it. And of the $n_k$ reports of
pattern $k$ each has a given code with probability $a + b$ at most: raw labels have more, and so have reports of a
larger ε about values that hardly vary. For this one, it must be settled who sends wrong reports before anybody draws a
pattern. Together no real reports are called wrong with a probability above $10^{-6}$. No test can tell reports of
another ε about values that vary: for that, `Reports` carry the digest of their study.
"""

import numpy as np

from hybriddp.channels.masked import MaskedResponse
from hybriddp.channels.plausible import count_surpluses, wrong_in_codes
from hybriddp.study.groups import Forged
from hybriddp.study.summary import LocalSummary


def forged_patterns(channel: MaskedResponse, local: LocalSummary) -> Forged:
    """Test reports against the channel."""
    counts = local.array().reshape(channel.n_patterns, channel.n_labels)
    asked, users = channel.pattern_probabilities[:, np.newaxis], counts.sum(axis=1, keepdims=True)
    least, most = channel.response.miss_probability, channel.response.hit_probability
    kinds = count_surpluses(counts, local.count, least * asked, most * asked)
    codes = count_surpluses(counts, np.broadcast_to(users, counts.shape), 0.0, most)
    return Forged(
        max(wrong_in_codes(kinds), wrong_in_codes(codes)),
        "The local reports cannot come from this study's channel: some codes are too frequent, so they look like "
        "labels that were not randomized, or like reports of a larger ε.",
    )
