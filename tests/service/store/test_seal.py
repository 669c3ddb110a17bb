"""Sealed totals: opened with the right key and row only, and without a trace of what is in them."""

from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import DataError
from hybriddp.service.store.seal import TotalSeal

SEAL = TotalSeal(lambda digest, replica: sha256(f"{digest} {replica}".encode()).digest())


@given(total=st.integers(-(2**127), 2**127 - 1), count=st.integers(-(2**63), 2**63 - 1))
def test_a_total_comes_back(total: int, count: int) -> None:
    assert SEAL.open(SEAL.close(total, "d", "r", count), "d", "r", count) == total


@pytest.mark.parametrize("row", [("e", "r", 1), ("d", "s", 1), ("d", "r", 2)], ids=["study", "replica", "count"])
def test_a_total_belongs_to_its_row(row: tuple[str, str, int]) -> None:
    with pytest.raises(DataError, match="cannot be decrypted"):
        SEAL.open(SEAL.close(5, "d", "r", 1), *row)


def test_every_changed_byte_is_noticed() -> None:
    sealed = SEAL.close(5, "d", "r", 1)
    for i in range(len(sealed)):
        changed = sealed[:i] + bytes([sealed[i] ^ 1]) + sealed[i + 1 :]
        with pytest.raises(DataError, match="Nothing was released"):
            SEAL.open(changed, "d", "r", 1)


@pytest.mark.parametrize("left", [0, 5, 12, 27, 43])
def test_a_total_cut_short_is_noticed(left: int) -> None:
    with pytest.raises(DataError, match="cannot be decrypted"):
        SEAL.open(SEAL.close(5, "d", "r", 1)[:left], "d", "r", 1)


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(DataError, match="key file is another one"):
        TotalSeal(lambda *_: bytes(32)).open(SEAL.close(5, "d", "r", 1), "d", "r", 1)


def test_the_same_total_is_never_sealed_in_the_same_way() -> None:
    sealed = [SEAL.close(7, "d", "r", 1) for _ in range(100)]
    for part in (slice(12), slice(12, 28), slice(28, None)):  # nonce, total and tag
        assert len({one[part] for one in sealed}) == 100
    assert {len(one) for one in sealed} == {44}


def test_the_length_says_nothing() -> None:
    assert {len(SEAL.close(total, "d", "r", 1)) for total in (0, -1, 2**24, 2**100)} == {44}


def test_a_total_as_it_has_always_been_written() -> None:
    """A database of the first version: 12 bytes of nonce, 16 of the total, 16 of the tag."""
    nonce, plain = bytes(range(12)), (-12345).to_bytes(16, "big", signed=True)
    sealed = nonce + AESGCM(sha256(b"d r").digest()).encrypt(nonce, plain, b"d\nr\n7")
    assert SEAL.open(sealed, "d", "r", 7) == -12345
    assert SEAL.total_bytes(sealed) == 16


@pytest.mark.parametrize("size", [1, 16, 20_481])
def test_a_total_of_any_length(size: int) -> None:
    largest = (1 << 8 * size - 1) - 1
    for total in (0, largest, -largest):
        sealed = SEAL.close(total, "d", "r", 1, total_bytes=size)
        assert (SEAL.open(sealed, "d", "r", 1), SEAL.total_bytes(sealed)) == (total, size)


def test_a_seal_shows_no_key() -> None:
    key = sha256(b"d r").digest()
    assert not any(shown in repr(vars(SEAL)) for shown in (key.hex(), repr(key)))
