"""What somebody learns who sees only what is published: the second tier of protection.

**For a study**: `amplify` gives an `Amplified`: ε′ for trusted and for local users with the assumptions it rests on, or
an error that says why there is none. **For reports that go through a shuffler**: `shuffled` and, for the way back,
`largest_local_epsilon`. **For the formulas**: `amplification.gaussian` and `amplification.laplace`.
"""

from hybriddp.amplification import gaussian, laplace
from hybriddp.amplification.amplify import amplify
from hybriddp.amplification.guarantee import Amplified, Assumptions, Guarantee
from hybriddp.amplification.shuffle import ShuffledPrivacy, largest_local_epsilon, shuffled

__all__ = [
    "Amplified",
    "Assumptions",
    "Guarantee",
    "ShuffledPrivacy",
    "amplify",
    "gaussian",
    "laplace",
    "largest_local_epsilon",
    "shuffled",
]
