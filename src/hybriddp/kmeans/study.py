"""A K-means study: public, frozen, the same on devices, at the curator and in the paper trail."""

import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from hybriddp import _check
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans.box import Box
from hybriddp.privacy import Privacy
from hybriddp.study.document import Document

MOST_CLUSTERS = 1024
MOST_DIMENSIONS = 256
MOST_CHARACTERS = 1000
_THINNEST = 1e-50  # devices refuse grids with steps that floating point can hardly divide by
_FRACTION = re.compile(r"[0-9]{1,18}(/[0-9]{1,18})?")
REPLACE_ONE = "replace-one"
"""Which data sets are neighbors, as every text and every result states it: `hybriddp.privacy.NEIGHBORS`."""


@dataclass(frozen=True, init=False)
class KMeansStudy(Document):
    """What is asked of whom, under which promise.

    Parameters
    ----------
    name : str
        What the points are.
    n_clusters : int
        How many centers are wanted, from 1 to 1,024.
    bounds : sequence of (float, float)
        The public range of each dimension, chosen without looking at the data.
    epsilon : float or str
        What every user is promised in total.
    scale : "bounds", "none" or sequence of float
        What distances are measured by, the same on all devices. By default every dimension by the width of its bounds;
        with positive weights, dimension *j* counts ``scale[j]`` times as much as that; with ``"none"``, by the units of
        the data as they are.

    Examples
    --------
    >>> study = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (0, 60)], epsilon=2)
    >>> KMeansStudy.from_json(study.to_json()) == study
    True
    """

    _what: ClassVar[str] = "study"
    _kind: ClassVar[str] = "kmeans"

    name: str
    n_clusters: int
    box: Box
    privacy: Privacy

    def __init__(
        self,
        name: str,
        *,
        n_clusters: int,
        bounds: Sequence[tuple[float, float]],
        epsilon: float | str,
        scale: str | Sequence[float] = "bounds",
    ) -> None:
        _check.text("name", name, "what the points are")
        if len(name) > MOST_CHARACTERS:
            raise ParameterError("name", f"at most {MOST_CHARACTERS:,} characters", len(name), shown_as="their number")
        n_clusters = _check.integer("n_clusters", n_clusters, at_least=1, at_most=MOST_CLUSTERS)
        box = Box.of(bounds, scale)
        if box.widths.min() < _THINNEST:
            what = "bounds" if box.scale == "none" else "scale"
            raise ParameterError(what, "widths or weights that are within a factor of 1e50 of each other", box.scale)
        if box.n_dimensions > MOST_DIMENSIONS:
            expected = f"at most {MOST_DIMENSIONS} pairs"
            raise ParameterError("bounds", expected, box.n_dimensions, shown_as="their number")
        privacy = Privacy(epsilon=epsilon)
        values = {"name": name, "n_clusters": n_clusters, "box": box, "privacy": privacy}
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        fields = {**self.fields(), "bounds": list(self.box.bounds), "scale": self.box.scale}
        shown = {name: fields[name] for name in ("n_clusters", "bounds", "epsilon", "scale")}
        return f"KMeansStudy({_short(self.name, 32)}, {short_parameters(shown)})"

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n_clusters": self.n_clusters,
            "bounds": [list(pair) for pair in self.box.bounds],
            "scale": self.box.scale if isinstance(self.box.scale, str) else list(self.box.scale),
            "epsilon": self.privacy.epsilon,
            "neighbors": REPLACE_ONE,
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        values = {name: value for name, value in fields.items() if name not in ("type", "version")}
        neighbors = values.pop("neighbors")
        cls.require(neighbors == REPLACE_ONE, f"its neighbors must be {REPLACE_ONE!r}, which is all that is supported")
        return cls(values.pop("name"), **values)


def short_parameters(parameters: Mapping[str, object], longest: int = 32) -> str:
    """Parameters as a call has them, for a `repr` that fits into a log: long ones are counted, or shortened."""
    return ", ".join(f"{name}={_short(value, longest)}" for name, value in parameters.items())


def _short(value: object, longest: int) -> str:
    if isinstance(value, Sized) and not isinstance(value, str) and len(value) > 2:
        return f"[… {len(value):,} in all]"
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def read_fraction(value: object, what: str) -> Fraction:
    """A fraction of users of a text; `ProtocolError` if it is none between 0 and 1."""
    if not isinstance(value, str) or _FRACTION.fullmatch(value) is None:
        raise ProtocolError(f"The {what} is refused: a fraction of users is not a short fraction.")
    fraction = Fraction(value)
    if not 0 < fraction <= 1:
        raise ProtocolError(f"The {what} is refused: a fraction of users is not between 0 and 1.")
    return fraction
