r"""Local discovery: what devices are asked where too few people trust, and when that pays.

Every local user is put into one of five groups at random. A device of group $g$ reports the first $b_g$ bits of its
string's scrambled code (`hybriddp.items.coding`), $b = 16, 24, 32, 40, 48$, by local hashing with all of ε. One
report per user, and no interaction; `hybriddp.items.prefix_search` reads them.

**When.** The trusted group's list shows items down to a share of $f_T = T/n_T$; 48 bits are told from noise at
$f_L = \sqrt{2 \cdot 48 \ln 2 \cdot V/n_L}$, $V = 4e^\epsilon/(e^\epsilon - 1)^2$ being the variance of one report.
Both are public numbers. Local discovery pays if $f_L < 1.2 f_T$, and only then.
"""

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.channels.channel import channel_from_json
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.plausible import count_surpluses, wrong_in_codes
from hybriddp.errors import ParameterError
from hybriddp.items.coding import CODE_BITS, Alphabet, Codes, scramble
from hybriddp.privacy import Privacy
from hybriddp.randomness import byte_source
from hybriddp.release.release import Seed
from hybriddp.release.threshold import ThresholdRule
from hybriddp.study.groups import Forged
from hybriddp.study.question import DeviceQuestion
from hybriddp.study.summary import LocalSummary

DICTIONARY, LIST, DISCOVERY = "dictionary", "list", "discovery"
"""The three ways to frequent items."""
LEVELS = (16, 24, 32, 40, 48)
"""How many bits of a code the groups report."""
_ADVANTAGE = 1.2
_N_FUNCTIONS = 1024  # a fifth of the users reports on each level, and collisions cost them no more than all with 4,096


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
class DiscoveryQuestion(DeviceQuestion):
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
    >>> question.summarize_local(reports).count
    2
    """

    _what: ClassVar[str] = "question of local discovery"
    _kind: ClassVar[str] = "discovery"
    _version: ClassVar[int] = 1

    name: str
    privacy: Privacy
    alphabet: Alphabet
    channel: LocalHashing

    def __init__(
        self, name: str, *, epsilon: float | str, alphabet: str = "bytes", channel: LocalHashing | None = None
    ) -> None:
        privacy = Privacy(epsilon=epsilon)
        if channel is None:
            channel = LocalHashing(epsilon=privacy.epsilon, n_functions=_N_FUNCTIONS)
        if not isinstance(channel, LocalHashing) or channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"local hashing for epsilon {privacy.epsilon}", channel)
        self._fill(name=name, privacy=privacy, alphabet=Alphabet.of(alphabet), channel=channel)

    def __repr__(self) -> str:
        return f"DiscoveryQuestion({self.name!r}, epsilon={self.privacy.epsilon!r}, alphabet={self.alphabet.name!r})"

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "epsilon": self.privacy.epsilon,
            "alphabet": self.alphabet.characters,
            "levels": list(LEVELS),
            "channel": json.loads(self.channel.to_json()),
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> "DiscoveryQuestion":
        channel: Any = channel_from_json(_check.compact(fields["channel"]), epsilon=fields["epsilon"])
        alphabet = fields["alphabet"] or "bytes"
        return cls(fields["name"], epsilon=fields["epsilon"], alphabet=alphabet, channel=channel)

    @property
    def n_codes(self) -> int:
        """Number of different reports: a group times the channel's codes, plus a code."""
        return len(LEVELS) * self.channel.n_codes

    def codes(self, items: list[str]) -> Codes:
        """Encode and scramble items; those without a code of their own have the same one."""
        distinct = sorted(set(items))
        known = dict(zip(distinct, scramble(self.alphabet.encode(distinct)).tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, items), np.uint64, len(items))

    def draw_codes(self, values: list[str], random_state: Seed) -> NDArray[Any]:
        """Draw one report per item, each from a group drawn at random."""
        codes, source = self.codes(values), byte_source(random_state)
        groups = source.take(4 * len(codes)).view("<u4").astype(np.int64) % len(LEVELS)
        prefixes = codes >> (CODE_BITS - np.array(LEVELS, np.uint64))[groups]
        reports = self.channel.draw(len(codes), lambda part: prefixes[part], source)
        packed: NDArray[np.uint32] = (groups * self.channel.n_codes + reports).astype(np.uint32)
        return packed

    def forged(self, local: LocalSummary) -> Forged:
        """Test whether reports can have come out of the channel, whatever their users' items are."""
        least, most = (bound / len(LEVELS) for bound in self.channel.code_bounds)
        wrong = wrong_in_codes(count_surpluses(local.array(), local.count, least, most))
        return Forged(wrong, "The local reports cannot come from this study's channel.")

    def levels(self, local: LocalSummary) -> list[IntArray]:
        """Split a summary into the channel's tally of each group."""
        shape = len(LEVELS), self.channel.n_functions, self.channel.n_values
        return list(local.array().reshape(shape))
