"""Which kind of study a text describes."""

import json
from collections.abc import Callable

from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import ProtocolError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.mean.study import MeanStudy
from hybriddp.service.kinds.distribution import DistributionKind
from hybriddp.service.kinds.frequency import FrequencyKind
from hybriddp.service.kinds.heavy import HeavyHitterKind
from hybriddp.service.kinds.kind import StudyKind
from hybriddp.service.kinds.kmeans import KMeansKind
from hybriddp.service.kinds.mean import MeanKind
from hybriddp.service.store.studies import StoredStudy
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.users import StudyParts

_KINDS: dict[str, Callable[[str], StudyKind]] = {
    MeanKind.name: lambda text: MeanKind(MeanStudy.from_json(text)),
    HeavyHitterKind.name: lambda text: HeavyHitterKind(HeavyHitterStudy.from_json(text)),
    DistributionKind.name: lambda text: DistributionKind(DistributionStudy.from_json(text)),
    KMeansKind.name: lambda text: KMeansKind(KMeansStudy.from_json(text)),
    FrequencyKind.name: lambda text: FrequencyKind(FrequencyStudy.from_json(text)),
}


def study_kind(text: str, parts: StudyParts | None = None) -> StudyKind:
    """Parse and verify the study in a text.

    Raise `ProtocolError` if its kind is unknown or cannot have parts.
    """
    try:
        read = _KINDS.get(json.loads(text)["type"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ProtocolError("The text does not describe a study.") from None
    if read is None:
        raise ProtocolError(
            f"type must be one of {', '.join(sorted(_KINDS))}: the server knows no other kind of study."
        )
    kind = read(text)
    if parts is None:
        return kind
    if not isinstance(kind, MeanKind):
        raise ProtocolError("Only a study of a mean can have parts: other kinds have one answer for everybody.")
    return MeanKind(kind.study, parts)


def kind_of(study: StoredStudy) -> StudyKind:
    """Return the kind of a stored study, with its parts."""
    return study_kind(study.text, None if study.parts is None else StudyParts.from_json(study.parts))


def known_kinds() -> frozenset[str]:
    """List the types of study that the server knows."""
    return frozenset(_KINDS)
