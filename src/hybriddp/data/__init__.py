"""Real data that comes with the package, for demonstrations and tests. Licenses and sources: README.md beside this."""

from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

__all__ = ["flight_delays"]


def flight_delays() -> NDArray[np.int16]:
    """Minutes by which each of 327,346 flights from New York City in 2013 arrived late.

    Examples
    --------
    >>> delays = flight_delays()
    >>> len(delays), float(delays.mean())
    (327346, 6.8954)
    """
    with (files("hybriddp.data") / "flights_arrival_delay.npz").open("rb") as file, np.load(file) as archive:
        minutes: NDArray[np.int16] = archive["minutes"]
        return minutes
