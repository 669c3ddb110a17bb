"""Make vectors/kmeans.json: answers to rounds that every device must give for known bytes, and what it refuses.

    python scripts/make_kmeans_vectors.py

See vectors/README.md for how a client reads the file. The answers are made by `Round.answer` itself, one device at a
time, with known bytes in the place of the system's.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from kmeans_texts import (
    SUBJECTS,
    accepted_studies,
    base_round,
    base_study,
    other_round,
    refused_rounds,
    refused_studies,
    refused_turns,
    turns,
)
from make_frequency_vectors import KnownBytes
from make_vectors import stream
from numpy.typing import NDArray

from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import MOST_CATEGORIES, UnaryEncoding, symbol_channel
from hybriddp.kmeans.protocol.answers import Message, messages_of
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import place
from hybriddp.kmeans.reports import codebook
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels, Projection, Question
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion, cyclic
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from hybriddp.kmeans.study import KMeansStudy

TARGET = Path(__file__).parent.parent / "vectors" / "kmeans.json"
COUNT = 60
MOST_BYTES = 1 << 15  # of an answer
EPSILONS = ("0.01", "0.5", "1", "2", "5", "12", "20")
CLUSTERS = (1, 2, 3, 5, 8, 13)
PARTS = (Fraction(1, 3), Fraction(1, 7), Fraction(11, 21))


def points(study: KMeansStudy, seed: str, count: int) -> NDArray[np.float64]:
    """Points of which many lie outside of the bounds; every third one on a coarse lattice, which has ties."""
    lower, upper, d = study.box.lower, study.box.upper, study.box.n_dimensions
    words = stream(f"{seed} inputs", 4 * count * d).view("<u4").reshape(count, d)
    share = words / 2**32 * 1.5 - 0.25
    share[::3] = (words[::3] >> 30) / 2
    found: NDArray[np.float64] = lower + (upper - lower) * share
    return found


def answers(asked: Round, seed: str, count: int) -> tuple[list[Message], int]:
    """What devices send, one after the other, and how many bytes they take."""
    source = KnownBytes(stream(f"{seed} bytes", count * MOST_BYTES))
    with mock.patch("hybriddp.kmeans.protocol.round.byte_source", return_value=source):
        sent = [messages_of(asked, asked.answer(x[None]))[0] for x in points(asked.study, seed, count)]
    return sent, count * MOST_BYTES - source.raw.size


def case(asked: Round, seed: str, count: int = COUNT) -> dict[str, Any]:
    """A round and the answers to it."""
    sent, used = answers(Round.from_json(asked.to_json(), study=asked.study), seed, count)
    short = [f"{one['ask']} {one['variant']} {one['code']}" for one in sent]
    return {
        "seed": seed,
        "epsilon": asked.study.privacy.epsilon,
        "study": asked.study.to_json(),
        "text": asked.to_json(),
        "digest": asked.digest,
        "count": count,
        "bytes": used,
        "first": [answer[:80] for answer in short[:3]],
        "sha256": hashlib.sha256("".join(f"{answer}\n" for answer in short).encode()).hexdigest(),
    }


# Rounds of every kind, in every dimension -----------------------------------------------------------------------------


def rounds() -> Iterator[Round]:
    """For each dimension a round with three kinds of questions, and one with the others."""
    rng = np.random.default_rng(19)
    for d in range(1, 17):
        k, epsilon = CLUSTERS[d % len(CLUSTERS)], EPSILONS[d % len(EPSILONS)]
        bounds = [(round(float(a), 2), round(float(a + b), 2)) for a, b in rng.uniform(0.1, 9, (d, 2)) * [-1, 5]]
        scale: Any = ("bounds", "none", [round(float(w), 3) for w in rng.uniform(0.1, 1, d)])[d % 3]
        study = KMeansStudy(f"vector {d}", n_clusters=k, bounds=bounds, epsilon=epsilon, scale=scale)
        centers, radii = rng.random((k, d)), rng.uniform(0.1, 1, k)
        coarse = np.round(2 * rng.random((k, d))) / 2  # ties
        axes = min(d, 1 + d % 4)
        projection = Projection(rng.random(d), rng.standard_normal((axes, d)))
        seen = Labels(projection.project(rng.random((k, d))), projection)
        signs = min(d, d % 5)
        first: tuple[Question, ...] = (
            LabelSignsQuestion(Labels(coarse if d % 2 else centers), radii, cyclic(d, signs) if signs else _none()),
            DirectionQuestion(Labels(centers if d % 2 else coarse), radii, _directions(d), _chosen(d)),
            SecondMomentQuestion(rng.random(d), float(rng.uniform(0.3, 1)), codebook.Pairs.of(d), _chosen(d + 1, d)),
        )
        sizes = tuple(int(size) for size in rng.integers(2, 7, axes))
        second: tuple[Question, ...] = (
            LengthQuestion(np.round(rng.random(d), 3), float(rng.uniform(0.3, 1))),
            GridQuestion(projection, rng.standard_normal(axes), rng.uniform(0.1, 0.5, axes), sizes),
            _seen(d, seen, radii) if d % 2 else GridQuestion(None, np.zeros(d), np.full(d, 1.0), (2,) * d),
        )
        if second[2].n_symbols > 4096:
            second = (*second[:2], _seen(d, seen, radii))
        for number, questions in enumerate((first, second), start=1):
            asks = tuple(_ask(q, epsilon, part, unary=d % 4 == 1) for q, part in zip(questions, PARTS, strict=True))
            yield Round(study, number, f"vectors of {d} dimensions", asks)


def _none() -> NDArray[np.int64]:
    return np.empty((1, 0), np.int64)


def _directions(d: int) -> codebook.Directions:
    fewest = codebook.CODEBOOKS_OF_SHIFTS if d % 5 == 0 else codebook.CODEBOOKS_OF_DIRECTIONS
    return codebook.Directions.of(d, fewest=fewest)


def _chosen(number: int, d: int | None = None) -> int:
    return 1 + number % codebook.codebook_size(d or number)


def _seen(d: int, seen: Labels, radii: NDArray[np.float64]) -> Question:
    """Labels or directions in a projection."""
    q = seen.centers.shape[1]
    if d % 4 < 2:
        return DirectionQuestion(seen, radii, codebook.Directions.of(q), _chosen(q))
    return LabelSignsQuestion(seen, radii, cyclic(q, q))


def _ask(question: Question, epsilon: str, part: Fraction, *, unary: bool) -> Ask:
    n, chosen = max(question.n_symbols, 2), question.n_chosen
    if chosen is not None:
        return Ask(question, ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=chosen), part)
    if n > MOST_CATEGORIES:
        return Ask(question, RandomizedResponse(epsilon=epsilon, n_categories=n), part)
    if unary:
        return Ask(question, UnaryEncoding(epsilon=epsilon, n_categories=n), part)
    return Ask(question, symbol_channel(epsilon, n), part)


def odd_rounds() -> Iterator[Round]:
    """Rounds at the limits of what a device answers."""
    study = base_study()
    yield base_round()
    yield other_round()
    largest = Labels(np.array([[1e100, -1e100], [-0.0, 0.0], [1e-100, -1e-100], [0.5, 0.5], [0.5, 0.5], [1, 1]]))
    radii = np.array([1e-100, 1e100, 1.0, 0.1, 0.2, 0.3])
    tiny, whole = Fraction(1, 10**18 - 1), Fraction(1)
    labels = LabelSignsQuestion(largest, radii, np.empty((2, 0), np.int64))
    yield Round(study, 64, "🙂" * 200, (_ask(labels, "1", whole, unary=False),))
    signs = codebook.Directions(np.ones((64, 2), np.int64))
    direction = DirectionQuestion(largest, radii, signs, 2)
    asks = (_ask(labels, "1", tiny, unary=True), _ask(direction, "1", Fraction(999, 1000), unary=False))
    yield Round(study, 7, "limits", asks)
    grid = GridQuestion(None, np.array([-1e100, 1e100]), np.array([1e-100, 1e100]), (4096, 16))
    small = GridQuestion(Projection(np.zeros(2), np.full((2, 2), -1e100)), np.zeros(2), np.ones(2), (2, 2))
    yield Round(study, 9, "grids", (_ask(grid, "1", whole / 2, unary=False), _ask(small, "1", whole / 2, unary=False)))
    many = KMeansStudy("many", n_clusters=100, bounds=[(0, 1)], epsilon=3)
    line = Labels(np.linspace(0, 1, 300).round(3)[:, None])
    question = LabelSignsQuestion(line, np.full(300, 0.01), np.array([[0]]))
    yield Round(many, 3, "many", (_ask(question, "3", whole, unary=True),))


# The file -------------------------------------------------------------------------------------------------------------


def turn_cases() -> list[dict[str, Any]]:
    """Where participants stand, and whose turn it is when."""
    made = turns()
    subjects = [*SUBJECTS, *(f"participant {i}" for i in range(40))]
    places = []
    for number, sub in enumerate(subjects):
        nonce = hashlib.sha256(f"nonce {number}".encode()).hexdigest()[:32]
        at = str(place(made.study_digest, sub, nonce))
        places.append({"subject": sub, "nonce": nonce, "place": at, "round": made.round_of(sub, nonce)})
    return [{"text": made.to_json(), "places": places}]


@cache
def bases() -> list[str]:
    """The texts that most refused ones differ from in a few characters."""
    found = [base_study().to_json(), turns().to_json()]
    for asked in (base_round(), other_round()):
        found.append(asked.to_json())
        found += [replace(asked, asks=(ask,)).to_json() for ask in asked.asks]
    return found


def shortened(refused: dict[str, str]) -> dict[str, Any]:
    """A refused text as what it has in the place of a part of the base that it is most like."""
    text, best = refused["text"], (0, 0, 0)
    for number, base in enumerate(bases()):
        front = _common(base, text)
        back = _common(base[front:][::-1], text[front:][::-1])
        best = max(best, (front + back, -number, front))
    kept, number, front = best[0], -best[1], best[2]
    middle = text[front : len(text) - (kept - front)]
    return {**refused, "of": number, "keep": [front, kept - front], "text": middle}


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def main() -> None:
    """Write the file."""
    all_rounds = [*rounds(), *odd_rounds()]
    vectors: dict[str, Any] = {
        "bases": bases(),
        "rounds": [case(asked, f"hybriddp kmeans {i}") for i, asked in enumerate(all_rounds)],
        "turns": turn_cases(),
        "accepted_studies": list(accepted_studies()),
        "refused_studies": [shortened(refused) for refused in refused_studies()],
        "refused_rounds": [shortened(refused) for refused in refused_rounds()],
        "refused_turns": [shortened(refused) for refused in refused_turns()],
    }
    for asked in vectors["rounds"]:  # whose text holds that of the study
        asked["text"] = asked["text"].replace(asked["study"], "<study>")
    lists = (f"{json.dumps(name)}:[\n{_lines(found)}\n]" for name, found in vectors.items())
    TARGET.write_text("{\n" + ",\n".join(lists) + "\n}\n", encoding="utf-8")
    print(", ".join(f"{len(found)} {name}" for name, found in vectors.items()), f"{TARGET.stat().st_size:,} bytes")


def _lines(found: list[Any]) -> str:
    return ",\n".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in found)


if __name__ == "__main__":
    main()
