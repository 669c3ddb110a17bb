"""Oracles in fractions: how likely a device is to say what, and studies that record everything that is asked."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels import RandomizedResponse, UnaryEncoding
from hybriddp.channels.response import ChoiceResponse, SymbolChannel
from hybriddp.channels.unary import BITS
from hybriddp.kmeans.algorithm.problem import PublishedVector, Step, StepResult
from hybriddp.kmeans.protocol.budget import choose_algorithm, trusted_pays
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.base import GridQuestion, Question
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.randomness import SeededBytes
from tests.release.numbers import noisy

Law = dict[int, Fraction]


# Devices --------------------------------------------------------------------------------------------------------------


def symbol_law(question: Question, point: FloatArray, variant: int) -> Law:
    """How likely each symbol is for a point of the unit box. Dice are multiples of 2^-24, so this is exact."""
    if isinstance(question, GridQuestion):
        position = question.position(point[None])[0]
        sides = []
        for x in position:
            up = _dice_below(x - math.floor(x))
            sides.append([(math.floor(x), 1 - up), (math.floor(x) + 1, up)])
        law: Law = {}
        for corner in product(*sides):
            chance = math.prod((p for _, p in corner), start=Fraction(1))
            if chance:
                symbol = int(question.index(np.array([[v for v, _ in corner]]))[0])
                law[symbol] = law.get(symbol, Fraction(0)) + chance
        return law
    if isinstance(question, LengthQuestion):
        one = Fraction(min(float(np.sum(((point - question.center) / question.radius) ** 2)), 1.0))
        return {0: 1 - one, 1: one}
    if isinstance(question, SecondMomentQuestion):
        rest = point - question.center
        length = float(np.sum((rest / question.radius) ** 2))
        return _set_law(question.pairs.products(rest[None], np.array([variant]))[0], length, question.chosen)
    assert isinstance(question, LabelSignsQuestion | DirectionQuestion)
    label = int(question.labels.nearest(point[None])[0])
    rest = (question.labels.seen(point[None])[0] - question.centers[label]) / question.radii[label]
    if isinstance(question, DirectionQuestion):
        row, hand = divmod(variant, question.directions.n_codebooks)
        products = question.directions.products(rest[None], np.array([hand]))[0]
        return _set_law(question.public_signs()[row, label] * products, math.hypot(*rest), question.chosen)
    law = {label << question.n_signs: Fraction(1)}
    for bit, coordinate in enumerate(question.coordinates[variant]):
        up = _dice_below((rest[coordinate] + 1) / 2)
        law = {s | side << bit: p * (up if side else 1 - up) for s, p in law.items() for side in (0, 1)}
    return {symbol: p for symbol, p in law.items() if p}


def _set_law(products: FloatArray, length: float, chosen: int) -> Law:
    """The set of the largest products and opposites, or of their opposites if the vector is taken as its own."""
    both = np.concatenate([products, -products])
    largest = np.argsort(both, kind="stable")[-chosen:]
    up = Fraction(1 + min(length, 1.0)) / 2
    law: Law = {}
    for indices, chance in ((largest, up), ((largest + len(products)) % len(both), 1 - up)):
        member = sum(1 << int(index) for index in indices)
        law[member] = law.get(member, Fraction(0)) + chance
    return law


def _dice_below(x: float) -> Fraction:
    """How likely a die, one of 2^24 multiples of 2^-24, is below x."""
    return Fraction(min(max(math.ceil(Fraction(float(x)) * 2**24), 0), 2**24), 2**24)


def likelihood(channel: SymbolChannel, law: Law, code: np.ndarray) -> Fraction:
    """How likely a code is, up to a factor that is the same for all laws: a mixture over symbols."""
    if isinstance(channel, RandomizedResponse):
        w = channel.window
        return Fraction(w.low) + w.extra * law.get(int(code), Fraction(0))
    if isinstance(channel, ChoiceResponse):
        w = channel.window
        return Fraction(w.low) + w.extra * sum((p for s, p in law.items() if s >> int(code.item()) & 1), Fraction(0))
    assert isinstance(channel, UnaryEncoding)
    bits = np.unpackbits(code, count=channel.n_categories, bitorder="little")
    one = Fraction(channel.one, channel.zero)
    zero = Fraction((1 << BITS) - channel.one, (1 << BITS) - channel.zero)
    return sum((p * (one if bits[s] else zero) for s, p in law.items()), Fraction(0))


# Studies --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    d: int
    k: int
    epsilon: str
    n_trusted: int
    n_local: int

    @property
    def study(self) -> KMeansStudy:
        return KMeansStudy("points", n_clusters=self.k, bounds=[(0, 1)] * self.d, epsilon=self.epsilon)

    @property
    def trusted_used(self) -> bool:
        """Whether public numbers, before anything is released, let the trusted group take part."""
        return trusted_pays(self.study, self.n_trusted, self.n_local)

    def points(self, seed: int = 0) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng(seed)
        return rng.random((self.n_trusted, self.d)), rng.random((self.n_local, self.d))


def settings() -> Iterator[Setting]:
    """Few and many dimensions, clusters and users, weak and strong promises, with and without either group."""
    sizes = [(0, 16), (16, 0), (15, 40), (400, 1000), (3, 3000), (0, 2000), (500, 0)]
    public = product((1, 2, 3, 4, 8), (1, 2, 5, 15), ("0.1", "1", "2", "7", "20"))
    for turn, (d, k, epsilon) in enumerate(public, 1):
        yield Setting(d, k, epsilon, *sizes[turn % len(sizes)])


@lru_cache(maxsize=1)
def steps_by_setting() -> dict[Setting, tuple[Step, ...]]:
    """Every step of a whole study in each setting, on uniform points."""
    return {setting: steps_of(setting) for setting in settings()}


def steps_of(setting: Setting) -> tuple[Step, ...]:
    """Every step of a study: answered by a crowd of devices and by releases, and written down."""
    study, (trusted, local) = setting.study, setting.points()
    algorithm = choose_algorithm(study, n_trusted=len(trusted), n_local=setting.n_local)
    source, rng, done, steps = SeededBytes(1), np.random.default_rng(1), Fraction(0), []
    try:
        step = next(algorithm)
        while True:
            steps.append(step)
            answers, published = [], None
            for ask in step.asks:
                users = local[int(done * len(local)) : int((done + ask.user_fraction) * len(local))]
                answers.append(simulate_devices(ask, iter([users]), source=source, rng=rng))
                done += ask.user_fraction
            if step.release is not None:
                published = _published(study, step, trusted, rng)
            step = algorithm.send(StepResult(tuple(answers), published))
    except StopIteration:
        return tuple(steps)


def _published(study: KMeansStudy, step: Step, trusted: FloatArray, rng: np.random.Generator) -> PublishedVector:
    assert step.release is not None
    cost = step.release.epsilon_fraction * study.privacy.exact_epsilon
    private = noisy(
        step.release.statistic.compute(trusted),
        sensitivity=2 * step.release.statistic.max_contribution,
        privacy=Privacy(epsilon=repr(float(cost))),
        random_state=rng,
    )
    return PublishedVector(private.values, private.variance)


def channels() -> dict[str, SymbolChannel]:
    """Every channel that any of the studies asks through, by its text."""
    found = (ask.channel for steps in steps_by_setting().values() for step in steps for ask in step.asks)
    return {channel.to_json(): channel for channel in found}
