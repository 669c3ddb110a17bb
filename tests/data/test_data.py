import numpy as np

from hybriddp.data import flight_delays


def test_the_flights_are_the_published_ones() -> None:
    delays = flight_delays()
    assert delays.shape == (327_346,)
    assert delays.dtype == np.int16
    assert round(float(delays.mean()), 2) == 6.90
    assert round(float(delays.std()), 2) == 44.63
    assert (delays.min(), delays.max()) == (-86, 1272)
