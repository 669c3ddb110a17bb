import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.shares.designs import SHAPES, code_sets, common_codes, membership, n_sets


@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_any_two_sets_have_the_same_number_of_codes_in_common(n: int, k: int) -> None:
    sets = [{code for code in range(n) if bits >> code & 1} for bits in code_sets(n, k).tolist()]
    assert len(sets) == n_sets(n, k)
    assert {len(one) for one in sets} == {k}
    pairs = {len(one & other) for i, one in enumerate(sets) for other in sets[:i]}
    assert pairs == {common_codes(n, k)}


@pytest.mark.parametrize(("n", "k"), SHAPES)
def test_membership_is_the_bits_of_the_sets(n: int, k: int) -> None:
    table = membership(n, k)
    assert np.array_equal((table << np.arange(n)).sum(axis=1), code_sets(n, k))
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1


def test_there_are_no_other_designs() -> None:
    assert n_sets(16, 5) == n_sets(64, 32) == 0
    with pytest.raises(ParameterError, match="n_codes and n_chosen"):
        code_sets(16, 5)
