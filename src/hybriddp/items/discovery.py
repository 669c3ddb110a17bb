r"""Local discovery: what devices are asked where too few people trust, and when that pays.

Every local user is put into one of five groups at random. A device of group $g$ reports the first $b_g$ bits of its
string's scrambled code (`hybriddp.items.coding`), $b = 16, 24, 32, 40, 48$, by local hashing with all of ε. One
report per user, and no interaction; `hybriddp.items.prefix_search` reads them.

**When.** The trusted group's list shows items down to a share of $f_T = T/n_T$; 48 bits are told from noise at
$f_L = \sqrt{2 \cdot 48 \ln 2 \cdot V/n_L}$, $V = 4e^\epsilon/(e^\epsilon - 1)^2$ being the variance of one report.
Both are public numbers. Local discovery pays if $f_L < 1.2 f_T$, and only then.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.channels.channel import channel_from_json
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.plausible import REMEDY, count_surpluses, wrong_in_codes
from hybriddp.errors import DataError, ParameterError, ProtocolError, raise_unchained
from hybriddp.items.coding import CODE_BITS, Alphabet, Codes, scramble
from hybriddp.privacy import canonical_epsilon
from hybriddp.randomness import byte_source
from hybriddp.release.threshold import ThresholdRule
from hybriddp.study.reports import Reports, receive, refuse_bad_reports

LEVELS = (16, 24, 32, 40, 48)
"""How many bits of a code the groups report."""
_ADVANTAGE = 1.2
_N_FUNCTIONS = 1024  # a fifth of the users reports on each level, and collisions cost them no more than all with 4,096
_MOST_INVALID = 0.01


@dataclass(frozen=True, slots=True)
class DiscoveryRule:
    """The smallest shares that either group can find, from public numbers only."""

    trusted_share: float
    """$f_T$; infinite without a trusted group."""
    local_share: float
    """$f_L$; infinite without a local group."""

    @classmethod
    def of(cls, rule: ThresholdRule, *, n_trusted: int, n_local: int) -> "DiscoveryRule":
        """For groups of these sizes."""
        privacy = rule.privacy
        reach = 1 + 2 / float(privacy.epsilon) * math.log(1 / (2 * float(privacy.delta)))
        factor = math.exp(float(privacy.epsilon))
        variance = 4 * factor / (factor - 1) ** 2
        local = math.sqrt(2 * CODE_BITS * math.log(2) * variance / n_local) if n_local else math.inf
        return cls(reach / n_trusted if n_trusted else math.inf, local)

    @property
    def pays(self) -> bool:
        """Whether local discovery finds more than the trusted group's list."""
        return self.local_share < _ADVANTAGE * self.trusted_share and math.isfinite(self.local_share)


@dataclass(frozen=True, init=False, repr=False)
class DiscoveryQuestion:
    """What devices are asked in local discovery: public, frozen, with a text and a digest.

    Parameters
    ----------
    name : str
        What the items are.
    epsilon : float or str
        What a report promises.
    alphabet : str
        The characters of items, or the name of an `Alphabet`.
    channel : LocalHashing, optional
        Which public hash functions; by default those for this ε.

    Examples
    --------
    >>> question = DiscoveryQuestion("tail numbers", epsilon=2, alphabet="capitals and digits")
    >>> reports = question.randomize(["N14228", "N24211"])
    >>> question.summarize(reports).count
    2
    """

    name: str
    epsilon: str
    alphabet: Alphabet
    channel: LocalHashing

    def __init__(
        self, name: str, *, epsilon: float | str, alphabet: str = "bytes", channel: LocalHashing | None = None
    ) -> None:
        _check.text("name", name, "what the items are")
        epsilon = canonical_epsilon(epsilon)
        if channel is None:
            channel = LocalHashing(epsilon=epsilon, n_functions=_N_FUNCTIONS)
        if not isinstance(channel, LocalHashing) or channel.epsilon != epsilon:
            raise ParameterError("channel", f"local hashing for epsilon {epsilon}", channel)
        for field, value in {
            "name": name,
            "epsilon": epsilon,
            "alphabet": Alphabet.of(alphabet),
            "channel": channel,
        }.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        return f"DiscoveryQuestion({self.name!r}, epsilon={self.epsilon!r}, alphabet={self.alphabet.name!r})"

    @property
    def n_codes(self) -> int:
        """Reports are integers from 0 to below this: group times the channel's codes, plus a code."""
        return len(LEVELS) * self.channel.n_codes

    def to_json(self) -> str:
        """The question as text, the channel included."""
        content = {
            "type": "discovery",
            "version": 1,
            "name": self.name,
            "epsilon": self.epsilon,
            "alphabet": self.alphabet.characters,
            "levels": list(LEVELS),
            "channel": json.loads(self.channel.to_json()),
        }
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "DiscoveryQuestion":
        """The question that a text describes, its channel verified; refused unless it is in its own form."""
        try:
            f = _check.json_fields(text)
            channel: Any = channel_from_json(json.dumps(f["channel"], separators=(",", ":")), epsilon=f["epsilon"])
            question = cls(f["name"], epsilon=f["epsilon"], alphabet=f["alphabet"] or "bytes", channel=channel)
        except (KeyError, TypeError, ValueError) as reason:
            raise ProtocolError("The text does not describe a question of local discovery.") from reason
        if question.to_json() != text:
            raise ProtocolError(
                "The text is not in the form that questions are written in. Write it anew with to_json."
            )
        return question

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def codes(self, items: list[str]) -> Codes:
        """The scrambled code of each item; those without a code of their own have the same one."""
        distinct = sorted(set(items))
        known = dict(zip(distinct, scramble(self.alphabet.encode(distinct)).tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, items), np.uint64, len(items))

    def randomize(self, items: list[str], *, random_state: int | np.random.Generator | None = None) -> Reports:
        """One report per item, each from a group drawn at random: what devices send."""
        codes, source = self.codes(items), byte_source(random_state)
        groups = source.take(4 * len(codes)).view("<u4").astype(np.int64) % len(LEVELS)
        prefixes = codes >> (CODE_BITS - np.array(LEVELS, np.uint64))[groups]
        reports = self.channel.draw(len(codes), lambda part: prefixes[part], source)
        packed = (groups * self.channel.n_codes + reports).astype(np.uint32)
        return Reports(packed, self.digest, random_state is not None)

    def refuse_bad_reports(self, rejected: int, count: int) -> None:
        """Raise `DataError` if more than one in a hundred reports is invalid."""
        refuse_bad_reports(rejected, count, between=(0, self.n_codes - 1))

    def summarize(self, reports: Reports | ArrayLike) -> "DiscoveryCounts":
        """Tallies of the reports, which add up; what is no code is left out and counted."""
        got = receive(reports, between=(0, self.n_codes - 1), check_digest=self._check_digest)
        tally = np.bincount(got.codes.astype(np.int64), minlength=self.n_codes).astype(np.int64)
        return DiscoveryCounts(self.digest, tally, got.rejected, got.tied, got.seeded)

    def _check_digest(self, digest: str) -> None:
        if digest != self.digest:
            mine = f"{self.digest[:12]}… ({self.name!r})"
            raise ProtocolError(f"The reports belong to study {digest[:12]}…, not to {mine}.")

    def implausible(self, reports: "DiscoveryCounts") -> int:
        """At least so many reports did not come out of the channel (`hybriddp.channels.plausible`).

        `DataError` if there are any and nothing ties the reports to the question: they are something else altogether.
        """
        least, most = (bound / len(LEVELS) for bound in self.channel.code_bounds)
        wrong = wrong_in_codes(count_surpluses(reports.tally, reports.count, least, most))
        if wrong and not reports.tied:
            raise DataError(f"The local reports cannot come from this study's channel. {REMEDY}")
        return wrong


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiscoveryCounts:
    """The local group as one count per group and code: private already, since every report is."""

    study: str
    """The digest of the question."""
    tally: IntArray
    """How many reports have each code."""
    rejected: int = 0
    """How many reports were no code of the question and are not in it."""
    tied: bool = False
    """Whether every report in it came with the question's digest."""
    seeded: bool = False
    """Whether any of them was drawn with a seed: such reports are a simulation, and not private."""

    @property
    def count(self) -> int:
        """How many reports there are."""
        return int(self.tally.sum())

    def levels(self, channel: LocalHashing) -> list[IntArray]:
        """The channel's tally of each group; `ProtocolError` if it is another channel's."""
        if self.tally.shape != (len(LEVELS) * channel.n_codes,):
            raise ProtocolError(f"The summary has {self.tally.size:,} counts, which are not those of {channel!r}.")
        return list(self.tally.reshape(len(LEVELS), channel.n_functions, channel.n_values))

    def __add__(self, other: object) -> "DiscoveryCounts":
        if not isinstance(other, DiscoveryCounts):
            return NotImplemented
        if self.study != other.study or self.tally.shape != other.tally.shape:
            one, two = self.study[:12], other.study[:12]
            raise ProtocolError(f"Summaries of different studies cannot be added: {one}… and {two}….")
        both = [summary for summary in (self, other) if summary.count or not (self.count or other.count)]
        rejected, seeded = self.rejected + other.rejected, self.seeded or other.seeded
        return DiscoveryCounts(
            self.study, self.tally + other.tally, rejected, all(summary.tied for summary in both), seeded
        )

    def __radd__(self, other: object) -> "DiscoveryCounts":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def to_json(self) -> str:
        """The summary as text."""
        fields = {"study": self.study, "tally": self.tally.tolist(), "rejected": self.rejected}
        return json.dumps({**fields, "tied": self.tied, "seeded": self.seeded}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "DiscoveryCounts":
        """The summary that a text describes, checked."""
        try:
            f = _check.json_fields(text)
            whole = all(type(count) is int and 0 <= count < 1 << 62 for count in (*f["tally"], f["rejected"]))
            flags = isinstance(f["tied"], bool) and isinstance(f["seeded"], bool)
            if not (whole and flags and isinstance(f["study"], str) and len(f) == 5):
                raise ValueError
            return cls(f["study"], np.array(f["tally"], np.int64), f["rejected"], f["tied"], f["seeded"])
        except (KeyError, TypeError, ValueError):
            raise_unchained(DataError("The text is not a DiscoveryCounts."))

    def __repr__(self) -> str:
        return f"DiscoveryCounts({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"
