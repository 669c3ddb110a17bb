"""Everything about both groups that is refused before anything is charged, over all kinds of studies."""

from typing import Any

import numpy as np
import pytest

from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.shares import FrequencyStudy
from hybriddp.study.groups import EMPTY, Pair
from hybriddp.study.reports import Reports
from hybriddp.study.summary import LocalSummary, TrustedSummary
from tests.study.kinds import ONE_OF_EACH, STUDIES, AnyStudy, changed, renamed, values_for

every_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
every_kind = pytest.mark.parametrize("study", [STUDIES[kind] for kind in ONE_OF_EACH], ids=ONE_OF_EACH)


def refused(study: AnyStudy, error: type[Exception], message: str, **groups: Any) -> None:
    """Expect an error from an estimate, and that nothing was charged."""
    ledger = Ledger(Privacy(epsilon=5))
    with pytest.raises(error, match=message):
        study.estimate(**{"trusted": None, "local": None, "ledger": ledger, **groups})
    assert ledger.events == ()


@every_study
def test_groups_that_are_empty_or_too_small_are_refused(study: AnyStudy) -> None:
    large = type(study).from_json(changed(study, min_group_size=10))
    values = values_for(study, 30)
    reports = large.randomize(values)
    for groups in ({}, {"single_group": True}, {"trusted": [None], "local": [], "single_group": True}):
        refused(large, DataError, f"^{EMPTY}$", **groups)
    nobody: Any
    for nobody in (None, [], large.summarize_trusted([])):
        refused(large, DataError, "^The trusted group is empty. Pass single_group=True", trusted=nobody, local=reports)
    for nobody in (None, [], large.summarize_local([])):
        refused(large, DataError, "^The local group is empty. Pass single_group=True", trusted=values, local=nobody)
    message = "^The trusted group has 9 users; the study asks for 10"
    refused(large, DataError, message, trusted=values[:9], local=reports)
    refused(large, DataError, message, trusted=values[:9], single_group=True)
    message = "^The local group has 1 user; the study asks for 10"
    refused(large, DataError, message, trusted=values, local=reports[:1])
    assert large.estimate(trusted=values[:10], local=reports[:10]).n_local == 10


@pytest.mark.parametrize("single_group", [False, True])
def test_misspelled_categories_or_the_wrong_column_are_hinted_at(single_group: bool) -> None:
    study = STUDIES["choice"]
    reports = None if single_group else study.randomize([0, 1, 2])
    message = "none of its items is one of the categories. Check how they are spelled"
    refused(study, DataError, message, trusted=[77, 78], local=reports, single_group=single_group)
    reports = study.randomize([0, 1, 2])
    assert study.estimate(trusted=[77, 78], local=reports, single_group=True).n_trusted == 0


@every_study
def test_what_belongs_to_another_study_is_refused(study: AnyStudy) -> None:
    values = values_for(study, 9)
    reports = study.randomize(values)
    for other in (renamed(study), study.part("country", "DE")):
        message = f"^The summary belongs to study {other.digest[:12]}…, not to {study.digest[:12]}… "
        refused(study, ProtocolError, message, trusted=other.summarize_trusted(values), local=reports)
        refused(study, ProtocolError, message, trusted=values, local=other.summarize_local([1, 0]))
        foreign = other.randomize(values)
        refused(study, ProtocolError, "^The reports belong to study", trusted=values, local=foreign)


@every_study
def test_a_summary_of_the_other_group_or_of_raw_reports_is_refused(study: AnyStudy) -> None:
    values = values_for(study, 9)
    reports = study.randomize(values)
    trusted, local = study.summarize_trusted(values), study.summarize_local(reports)
    refused(study, DataError, "^The summaries are exchanged", trusted=local, local=local)
    refused(study, DataError, "^The summaries are exchanged", trusted=trusted, local=trusted)
    refused(study, DataError, "where raw values are needed", trusted=reports, local=reports)


@every_study
def test_sums_and_counts_that_users_cannot_have_are_refused(study: AnyStudy) -> None:
    values, digest = values_for(study, 9), study.digest
    trusted, local = study.summarize_trusted(values), study.summarize_local(study.randomize(values))
    message = f"^The trusted summary has {study.n_sums + 1:,} counts, the study {study.n_sums:,}"
    refused(study, ProtocolError, message, trusted=TrustedSummary(digest, 9, (*trusted.sums, 0)), local=local)
    message = f"^The local summary has 5 counts, the study {study.n_counts:,}"
    refused(study, ProtocolError, message, trusted=trusted, local=LocalSummary.of_codes(digest, (1,) * 5))
    least, most = (0, UNITS) if isinstance(study, MeanStudy) else (1, 1)
    for total in (9 * least - 1, 9 * most + 1):
        if total >= 0:
            impossible = TrustedSummary(digest, 9, (total, *(0,) * (study.n_sums - 1)))
            refused(study, DataError, "^The trusted summary is impossible", trusted=impossible, local=local)
    more = LocalSummary(digest, local.count + 1, local.counts)
    if study is STUDIES["unary"]:  # a report may set any number of bits
        assert study.estimate(trusted=trusted, local=more).n_local == local.count + 1
    else:
        refused(study, DataError, "^The local summary is impossible", trusted=trusted, local=more)


# Reports that no device can have sent


@every_study
def test_a_constant_that_nothing_ties_to_the_study_is_refused(study: AnyStudy) -> None:
    values, codes = values_for(study, 30), np.full(5000, 1)
    message = "^The local reports cannot come from this study's channel: .*Nothing was released"
    refused(study, DataError, message, trusted=values, local=codes)
    tied = study.summarize_local(Reports(codes, study.digest))
    refused(study, DataError, message, trusted=values, local=tied + study.summarize_local([1]))  # one is enough
    part = study.part("country", "DE")
    pair = part.summarize_trusted(values), part.summarize_local(codes)
    ledger = Ledger(Privacy(epsilon=5))
    with pytest.raises(DataError, match="DE: The local reports cannot come from this study's channel"):
        study.estimate_parts("country", {"DE": pair}, ledger=ledger)
    assert ledger.events == ()


@every_study
def test_a_constant_that_is_tied_is_counted_by_every_way_to_an_answer(study: AnyStudy) -> None:
    values, sent = values_for(study, 30), Reports(np.full(5000, 1), study.digest)
    found = study.estimate(trusted=values, local=sent).implausible_reports
    assert 500 < found <= 5000
    assert study.estimate(trusted=None, local=sent, single_group=True).implausible_reports == found
    part = study.part("country", "DE")
    pair = part.summarize_trusted(values), part.summarize_local(sent)
    assert study.estimate_parts("country", {"DE": pair})["DE"].implausible_reports == found
    assert study.implausible(study.summarize_local([])) == 0


@every_study
@pytest.mark.parametrize("n", [2, 40, 20_000])
def test_real_reports_are_taken_whatever_the_values(study: AnyStudy, n: int) -> None:
    """Also if all users have the same one. The chance of a refusal is below 1e-6 each, so they are seeded."""
    reports = study.randomize(values_for(study, 1) * n, random_state=n)
    found = study.estimate(trusted=None, local=reports.codes, single_group=True)
    assert (found.n_local, found.implausible_reports, found.tied) == (n, 0, False)


# Parts


def parts_of(study: AnyStudy, **sizes: int) -> dict[str | int, Pair]:
    """Summarize three parts, each of users who have all the same value."""
    parts: dict[str | int, Pair] = {}
    keys: tuple[str | int, ...] = ("DE", "FR", 7)
    for key, value in zip(keys, values_for(study, 3, seed=5), strict=True):
        part = study.part("country", key)
        reports = part.randomize([value] * 3000, random_state=1)
        trusted = part.summarize_trusted([value] * sizes.get(str(key), 200))
        parts[key] = trusted, part.summarize_local(reports)
    return parts


@every_kind
def test_if_one_part_cannot_be_estimated_none_is(study: AnyStudy) -> None:
    ledger, parts = Ledger(Privacy(epsilon=1)), parts_of(study)
    cases: list[tuple[object, str, type[Exception]]] = [
        (parts_of(study, FR=1), "1 of 3 parts cannot be estimated. FR: The trusted group has 1 user;", DataError),
        (parts_of(study, FR=0), "FR: The trusted group is empty. Pass single_group=True", DataError),
        ({**parts, "FR": (None, None)}, f"FR: {EMPTY} Leave keys that nobody has out", DataError),
        ({**parts, "FR": (parts["DE"][0], parts["FR"][1])}, "^The summary belongs to study", ProtocolError),
        ({}, "^summaries must be those of at least one part", ParameterError),
    ]
    pairs = ([1.0, 2.0], (1, 2), parts[7][0], (parts[7][1], parts[7][0]), (*parts[7], None))
    cases += [({**parts, 7: wrong}, "^7: summaries must hold a pair", DataError) for wrong in pairs]
    given: Any
    for given, message, error in cases:
        with pytest.raises(error, match=message):
            study.estimate_parts("country", given, ledger=ledger)
    assert ledger.events == ()
    with pytest.raises(DataError, match="alone will do.$"):  # nobody is missing altogether
        study.estimate_parts("country", {"DE": (parts["DE"][0], None)})


def test_studies_differ_in_whatever_devices_must_know() -> None:
    study = DistributionStudy("x", bounds=(0, 1), epsilon=1)
    others: list[AnyStudy] = [
        DistributionStudy("x", bounds=(0, 1), epsilon=2),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, scale="log"),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, scale=(np.arange(255) / 254) ** 3),
        DistributionStudy("x", bounds=(0, 2), epsilon=1),
        MeanStudy("x", bounds=(0, 1), epsilon=1),
        FrequencyStudy("x", categories=range(2), epsilon=1),
    ]
    for other in others:
        with pytest.raises(ProtocolError, match="The reports belong to study"):
            study.summarize_local(other.randomize([1, 0]))
        with pytest.raises(ProtocolError, match="The summary belongs to study"):
            study.estimate(trusted=other.summarize_trusted([0, 1]), local=[1, 2])
