"""What somebody learns who sees only what is published: the second tier of protection.

**For a study**: `amplify` gives an `Amplified`: ε′ for trusted and for local users with the assumptions it rests on, or
an error that says why there is none. **For the formulas**: `amplification.gaussian` and `amplification.laplace`.
"""

from hybriddp.amplification import gaussian, laplace
from hybriddp.amplification.amplify import amplify
from hybriddp.amplification.guarantee import Amplified, Assumptions, Guarantee

__all__ = ["Amplified", "Assumptions", "Guarantee", "amplify", "gaussian", "laplace"]
