"""How large a round may be, by the study that it belongs to: a device refuses what no server would ask.

A message that is too long could fill the memory of a device, or keep it busy. None of these limits protects a point:
that is done by the channel, and by work that is the same for every point (`steady`).
"""

from functools import lru_cache

from hybriddp.errors import ProtocolError
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.study import MOST_CLUSTERS, MOST_DIMENSIONS, MOST_LETTERS, KMeansStudy

MOST_ASKS = 3
"""Questions in one round."""

MOST_ROUNDS = 64
"""The largest number of a round."""

MOST_SIGNS = 8
"""Signs in one symbol."""

MOST_VERTICES = 4096
"""Vertices of a grid in one direction."""

CENTERS_PER_CLUSTER = 3
"""Centers that a question is about, for each cluster that is wanted: there are too many at first."""

WHAT_LETTERS = 200
"""Letters of the words that say what a round is for."""

_NUMBER, _FRAME = 26, 4096  # letters of a number with its comma; of all that is neither a number nor a name


@lru_cache(maxsize=64)
def most_directions(d: int) -> int:
    """How many rows of signs a question about directions has."""
    return len(Directions.of(d).sign_flips)


@lru_cache(maxsize=64)
def most_pairs(d: int) -> int:
    """How many rows of signs each side of a question about pairs has."""
    return len(Pairs.of(d).left.sign_flips)


def most_letters(n_clusters: int = MOST_CLUSTERS, d: int = MOST_DIMENSIONS) -> int:
    """How long the text of a round may be: every question with as many numbers as it may have, each in full."""
    centers = CENTERS_PER_CLUSTER * n_clusters * (2 * d + 1)  # with those of labels, and radii
    question = centers + d * (d + 1) + d * MOST_SIGNS + 2 * d * most_pairs(d) + 3 * d
    return _FRAME + 12 * MOST_LETTERS + _NUMBER * (2 * d + MOST_ASKS * question)


def require_short(text: str, study: KMeansStudy | None) -> None:
    """Raise `ProtocolError` if a text is longer than a round of the study, or of any study, can be."""
    most = most_letters() if study is None else most_letters(study.n_clusters, study.box.n_dimensions)
    if isinstance(text, (str, bytes, bytearray)) and len(text) > most:
        raise ProtocolError(f"The round is refused: it has {len(text):,} letters, more than the {most:,} it can need.")
