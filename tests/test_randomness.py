import os
import threading

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hybriddp import randomness
from hybriddp.errors import ParameterError
from hybriddp.randomness import ByteSource, SeededBytes, SystemBytes, UniformDraws, byte_source
from tests.levels import LEVEL
from tests.refusals import refused


@pytest.mark.statistical
@pytest.mark.representative
def test_system_bytes_are_uniform_and_never_repeat() -> None:
    # Chi-square over byte values; ten percent of them a fifth too rare do not pass.
    taken = SystemBytes().take(1_000_000)
    counts = np.bincount(taken, minlength=256)
    assert stats.chisquare(counts).pvalue > LEVEL
    assert not np.array_equal(taken, SystemBytes().take(1_000_000))
    wrong = np.full(256, 1.0)
    wrong[:26] = 0.8
    assert stats.chisquare(counts, wrong / wrong.sum() * counts.sum()).pvalue < LEVEL


def test_large_requests_are_filled_to_the_end() -> None:
    taken = SystemBytes().take((1 << 18) + 5)
    assert len(taken) == (1 << 18) + 5
    assert np.count_nonzero(taken[-64:]) > 20  # 64 zeros in a row happen once in 2^512


def test_a_seed_repeats_and_is_marked() -> None:
    assert SeededBytes(3).seeded
    assert not SystemBytes().seeded
    assert np.array_equal(SeededBytes(3).take(100), SeededBytes(3).take(100))
    assert not np.array_equal(SeededBytes(3).take(100), SeededBytes(4).take(100))
    assert not np.array_equal(SeededBytes(3).take(100), SeededBytes(b"3").take(100))


def test_a_seeded_stream_does_not_depend_on_how_it_is_taken() -> None:
    whole, parts = SeededBytes(1).take(100), SeededBytes(1)
    assert np.array_equal(whole, np.concatenate([parts.take(37), parts.take(63)]))


def test_the_seeded_stream_is_the_same_on_every_machine() -> None:
    assert SeededBytes(0).take(8).tobytes().hex() == "7df54f89eaff811d"


def test_random_state_chooses_the_source() -> None:
    assert not byte_source(None).seeded
    assert byte_source(5).seeded
    generator = np.random.default_rng(0)
    first, second = byte_source(generator), byte_source(generator)
    assert first.seeded
    assert not np.array_equal(first.take(16), second.take(16))


def test_bad_seeds_are_named() -> None:
    for bad in (-1, 1.5, "seed", True):
        refused(ParameterError, "^random_state must be", byte_source, bad)
        refused(ParameterError, "^seed must be", SeededBytes, bad)


def test_a_forked_child_has_a_stream_of_its_own() -> None:
    SystemBytes().take(1)  # the parent's stream exists before the fork
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, SystemBytes().take(32).tobytes())
        os._exit(0)
    mine = SystemBytes().take(32).tobytes()
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 32) != mine
    os.close(reading)
    os.close(writing)


def test_a_new_process_gets_a_new_stream_even_if_python_does_not_see_the_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    SystemBytes().take(1)
    before = randomness._streams.of_thread.stream
    monkeypatch.setattr(os, "getpid", lambda: -5)
    SystemBytes().take(1)
    assert randomness._streams.of_thread.stream is not before


def test_a_stream_is_keyed_anew_after_a_while() -> None:
    SystemBytes().take(1)
    before = randomness._streams.of_thread.stream
    SystemBytes().take(100)
    assert randomness._streams.of_thread.stream is before
    randomness._streams.of_thread.left = 99
    SystemBytes().take(100)
    assert randomness._streams.of_thread.stream is not before
    SystemBytes().take((1 << 24) + 1)  # more than a key's worth at once


def test_every_key_is_fresh_and_long(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.urandom

    def urandom(count: int) -> bytes:
        asked.append(count)
        return real(count)

    monkeypatch.setattr(os, "urandom", urandom)
    randomness._streams.forget()
    SystemBytes().take(1)
    assert asked == [32, 16]


def test_threads_do_not_share_bytes() -> None:
    taken: list[bytes] = []

    def take() -> None:
        for _ in range(200):
            taken.append(SystemBytes().take(16).tobytes())  # noqa: PERF401

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 800


class _Counting(ByteSource):
    """The bytes 0, 1, 2, …"""

    seeded = False
    next = 0

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        buffer[:] = np.arange(self.next, self.next + len(buffer))
        self.next += len(buffer)


def test_uniform_draws_are_the_upper_bits_of_little_endian_words() -> None:
    draws = UniformDraws(_Counting())
    assert draws.words(2).tolist() == [0x03020100, 0x07060504]
    assert draws.random(1, np.float32).tolist() == [0x0B0A09 / 2**24]
    assert draws.random(1).tolist() == [(0x131211100F0E0D0C >> 11) / 2**53]
    assert draws.random((1, 2), np.float32).tolist() == [[0x171615 / 2**24, 0x1B1A19 / 2**24]]
    assert draws.random((0, 3)).shape == (0, 3)


def test_uniform_draws_are_below_one() -> None:
    class Ones(ByteSource):
        seeded = False

        def fill(self, buffer: NDArray[np.uint8]) -> None:
            buffer[:] = 255

    assert UniformDraws(Ones()).random(1).tolist() == [1 - 2**-53]
    assert UniformDraws(Ones()).random(1, np.float32).tolist() == [1 - 2**-24]
