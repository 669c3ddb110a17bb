"""Protection against somebody who sees only what is published: the second tier.

**For a study**: `amplify` gives an `Amplified`: ε′ for trusted and for local users with the assumptions it rests on, or
an error that says why there is none. **For reports that go through a shuffler**: `shuffled` and, for the way back,
`largest_local_epsilon`. The paper's formulas, for Gaussian and Laplace reports, are in `hybriddp.paper.amplification`.
"""

from hybriddp.amplification.amplify import amplify
from hybriddp.amplification.guarantee import Amplified, Assumptions, Guarantee
from hybriddp.amplification.shuffle import ShuffledPrivacy, largest_local_epsilon, shuffled

__all__ = [
    "Amplified",
    "Assumptions",
    "Guarantee",
    "ShuffledPrivacy",
    "amplify",
    "largest_local_epsilon",
    "shuffled",
]
