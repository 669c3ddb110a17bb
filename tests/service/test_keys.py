import hashlib
import hmac
import stat
from pathlib import Path

import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.service.keys import (
    ADMIN,
    RELAY,
    MasterKey,
    is_inside,
    is_master_key,
    key_hash,
    new_key,
    same_key,
    write_secret,
)

DIGEST = "ab" * 32


def hkdf(secret: bytes, info: bytes) -> bytes:
    """RFC 5869 for one block, without the library."""
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def test_subkeys_are_hkdf_of_the_master_key() -> None:
    key = MasterKey(bytes(range(32)))
    assert key.participants == hkdf(bytes(range(32)), b"hybriddp service 1\nparticipants")
    assert key.token_secret == hkdf(bytes(range(32)), b"hybriddp service 1\ntoken secret").hex().encode()
    assert key.total_key(DIGEST, "r1") == hkdf(bytes(range(32)), f"hybriddp service 1\ntotal\n{DIGEST}\nr1".encode())
    assert key.signing_key().private_bytes_raw() == hkdf(bytes(range(32)), b"hybriddp service 1\nreceipts")


def test_no_two_subkeys_are_the_same() -> None:
    keys = [
        subkey
        for key in (MasterKey(bytes(32)), MasterKey(b"\x01" * 32))
        for subkey in (
            key.participants,
            key.token_secret,
            key.sessions,
            key.signing_key().private_bytes_raw(),
            *(key.total_key(digest, replica) for digest in (DIGEST, "cd" * 32) for replica in ("a", "b", "")),
        )
    ]
    assert len(set(keys)) == len(keys)


def test_a_created_key_is_the_one_that_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "hybriddp.key"
    made = MasterKey.create(path, data=tmp_path / "data")
    assert MasterKey.load(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert MasterKey.create(tmp_path / "other.key") != made
    assert repr(made) == "MasterKey()"


def test_an_existing_key_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "hybriddp.key"
    MasterKey.create(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="exists already"):
        MasterKey.create(path)
    assert path.read_bytes() == before


def test_no_key_inside_of_the_data_folder(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    for place in ("data/k", "data/deep/k", "other/../data/k", "link/k"):
        assert is_inside(tmp_path / place, tmp_path / "data")
        with pytest.raises(DataError, match="must not be inside of the data folder"):
            MasterKey.create(tmp_path / place, data=tmp_path / "data")
    assert not is_inside(tmp_path / "data-key", tmp_path / "data")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x",
        b"hybriddp-master-key-1 ",
        b"hybriddp-master-key-1 AAAA\n",
        b"\xff\xfe",
        b"A" * 44,
        b"hybriddp-master-key-1 !" * 9,
    ],
)
def test_other_files_are_no_keys(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "k"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a key file of hybriddp") as caught:
        MasterKey.load(path)
    assert caught.value.__context__ is None


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        MasterKey.load(tmp_path / "missing")
    with pytest.raises(DataError, match="cannot be written"):
        write_secret(tmp_path / "missing" / "k", "x")


def test_half_a_key_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left"):
        MasterKey.create(tmp_path / "k")
    assert list(tmp_path.iterdir()) == []


def test_a_database_can_name_its_key() -> None:
    assert len({MasterKey(bytes([i]) * 32).fingerprint for i in range(3)}) == 3
    assert MasterKey(bytes(32)).fingerprint == MasterKey(bytes(32)).fingerprint


def test_keys_of_operators_and_relays() -> None:
    for prefix in (ADMIN, RELAY):
        key, other = new_key(prefix), new_key(prefix)
        assert key.startswith(prefix)
        assert key != other
        assert key_hash(key) == hashlib.sha256(key.encode()).hexdigest()
        assert same_key(key, key_hash(key))
        assert not same_key(other, key_hash(key))
    with pytest.raises(ParameterError, match="prefix must be"):
        new_key("x_")


def test_strange_keys_are_just_wrong() -> None:
    stored = key_hash(new_key(ADMIN))
    for key in ("", "\ud800", "é", "\x00", "x" * 10_000, stored):
        assert not same_key(key, stored)
    assert not same_key("x", "")
    assert not same_key("x", "\ud800é")


def test_a_study_is_named_by_its_digest() -> None:
    for digest in ("", "AB" * 32, "ab" * 31, f"{DIGEST}\n", f"{DIGEST}\nr"):
        with pytest.raises(ParameterError, match="digest must be"):
            MasterKey(bytes(32)).total_key(digest, "r")


def test_a_master_key_is_known_by_its_text(tmp_path: Path) -> None:
    MasterKey.create(tmp_path / "hybriddp.key")
    text = (tmp_path / "hybriddp.key").read_text()
    assert all(map(is_master_key, (text, text.strip(), f"\ufeff{text}", f"\n{text}")))
    key = MasterKey.load(tmp_path / "hybriddp.key")
    assert not any(map(is_master_key, ("", key.token_secret.decode(), new_key(ADMIN))))
