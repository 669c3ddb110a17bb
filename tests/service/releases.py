"""Studies of every kind whose trusted group is one of two, while what the local group sends stays the same."""

from functools import cached_property
from typing import Any, ClassVar

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.study.reports import Reports
from tests.service.kmeans_people import Asked, People
from tests.service.lives import CategoryLife, CodeLife, DistributionLife, Life, MeanLife, PartsLife
from tests.service.lives_in_steps import HeavyLife, KMeansLife
from tests.service.running import Running

WORDS = [*["weather"] * 60, *(f"{a}{b}" for a in "abcde" for b in "klmno")]


class OtherMean(MeanLife):
    values = (-9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)


class OtherParts(PartsLife):
    values = OtherMean.values


class OtherCategories(CategoryLife):
    values = ("<i>7</i>",) * 12


class OtherCodes(CodeLife):
    values = (7,) * 12


class OtherBins(DistributionLife):
    values = (5.0,) * 12


class ManyWords(HeavyLife):
    """Trusted people with many words, so that the noise of two lists is never the same; one set of reports."""

    values = tuple(WORDS)
    drawn: ClassVar[dict[str, Reports]] = {}

    def named(self, name: str) -> HeavyHitterStudy:
        return HeavyHitterStudy(name, epsilon=1, delta="0.000001")

    def answers(self, question: FrequencyStudy) -> Reports:
        return self.drawn.setdefault(question.digest, super().answers(question))


class OtherWords(ManyWords):
    values = ("news",) * len(WORDS)


class Points(KMeansLife):
    """One answer of each device to a round, whoever the server is."""

    n_trusted, n_local = 40, 60
    drawn: ClassVar[dict[str, dict[str, Any]]] = {}

    def answers(self, asked: Asked) -> dict[str, dict[str, Any]]:
        return self.drawn.setdefault(asked.round.digest, super().answers(asked))


class OtherPoints(Points):
    @cached_property
    def people(self) -> People:
        people = super().people
        return People(people.study, people.id, {name: [9.5, 0.25] for name in people.trusted}, people.local)


GROUPS: dict[str, tuple[type[Life], type[Life]]] = {
    "mean": (MeanLife, OtherMean),
    "parts": (PartsLife, OtherParts),
    "bits": (CategoryLife, OtherCategories),
    "codes": (CodeLife, OtherCodes),
    "distribution": (DistributionLife, OtherBins),
    "heavy": (ManyWords, OtherWords),
    "kmeans": (Points, OtherPoints),
}
"""For each kind, a study with one trusted group and with another one."""


def gathered(kind: str, group: int, server: Running, study_id: str) -> Life:
    """A study to which everybody has contributed."""
    life = GROUPS[kind][group](server, study_id)
    made = life.create()
    assert made.status_code == 201, made.text
    life.gather()
    return life
