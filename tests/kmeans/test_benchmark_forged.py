"""The benchmark of forged answers: its attack is not refused, and moves centers."""

import numpy as np
import pytest

from benchmarks import kmeans_forged
from benchmarks.kmeans_forged import Setting, forged, lowest_bits, moved, run
from hybriddp.kmeans.protocol.round import RoundReports


def test_the_lowest_code_of_a_set() -> None:
    assert lowest_bits(np.array([0b1, 0b110, 0b1000, (1 << 31) + (1 << 30)])).tolist() == [0, 1, 3, 30]


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 8])
def test_more_forged_answers_move_centers_farther(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans_forged, "USERS", 20_000)
    setting = Setting(d, 500)
    honest, few, many = (run(setting, fraction, 1) for fraction in (0.0, 0.02, 0.3))
    assert moved(honest, honest).max() == 0
    assert moved(honest, few).max() < moved(honest, many).max()
    assert moved(honest, many).max() > 0.05
    assert honest.to_dict()["n_answered"] == many.to_dict()["n_answered"]


def test_a_forged_row_of_bits_has_one_more_bit() -> None:
    from tests.kmeans.protocol.test_plausible import ROUNDS, _answers

    (ask,) = ROUNDS["grid, bits"]
    (real,) = _answers((ask,), 50, 1)
    sent: RoundReports = forged(ask, real, 20, np.random.default_rng(0))
    more = np.bitwise_count(sent.codes).sum(axis=1).astype(int) - np.bitwise_count(real.codes).sum(axis=1)
    assert set(more[:20].tolist()) <= {0, 1}
    assert not more[20:].any()
    assert (sent.codes[:20] | real.codes[:20] == sent.codes[:20]).all()
