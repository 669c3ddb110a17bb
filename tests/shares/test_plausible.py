import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.items import HeavyHitterStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.study.reports import Reports

STUDIES = {
    "response": FrequencyStudy("x", categories=range(5), other=False, epsilon=1),
    "choice": FrequencyStudy("x", categories=range(12), other=False, epsilon="0.5"),
    "unary": FrequencyStudy("x", categories=range(20), other=False, epsilon=1),
    "hashing": FrequencyStudy("x", categories=range(100), other=False, epsilon=1),
}
STUDY = STUDIES["response"]
RNG = np.random.default_rng(3)
every_study = pytest.mark.parametrize("kind", STUDIES)


@every_study
def test_raw_categories_are_no_reports(kind: str) -> None:
    study = STUDIES[kind]
    assert study.channel.kind == kind
    raw = RNG.choice(len(study.names), 5000, p=np.eye(len(study.names))[0] * 0.9 + 0.1 / len(study.names))
    with pytest.raises(DataError, match="cannot come from this study's channel.*Nothing was released"):
        study.estimate(trusted=[0, 1, 2], local=raw)


def test_codes_of_a_larger_epsilon_are_refused() -> None:
    generous = FrequencyStudy("x", categories=range(5), other=False, epsilon=4)
    codes = generous.randomize(np.repeat([0, 1], [1500, 500])).codes
    with pytest.raises(DataError, match="codes of a larger ε"):
        STUDY.estimate(trusted=[0, 1, 2], local=codes)


# Reports that are tied to their study are not refused, but told


@pytest.mark.parametrize(("row", "least"), [(2**20 - 1, 0.5), (0, 0.1)])
def test_rows_of_ones_and_of_none_are_counted_from_below(row: int, least: float) -> None:
    study, n = STUDIES["unary"], 20_000
    real = study.randomize(RNG.integers(0, 20, n), random_state=8).codes
    for planted in (0, 1, 2000, 10_000):
        sent = Reports(np.concatenate([real[planted:], np.full(planted, row)]), study.digest)
        found = study.implausible(study.summarize_local(sent))
        assert (planted > 1) * least * planted <= found <= planted
    with pytest.raises(DataError, match="cannot come from this study's channel"):
        study.estimate(trusted=[0, 1, 2], local=sent.codes)


@every_study
def test_estimates_and_those_of_parts_tell(kind: str) -> None:
    study = STUDIES[kind]
    sent = Reports(np.full(1000, 1), study.digest)
    found = study.estimate(trusted=[0, 1, 2] * 20, local=sent)
    assert found.implausible_reports > 100
    part = study.part("country", "DE")
    pair = (part.summarize_trusted([0, 1, 2]), part.summarize_local(sent))
    assert study.estimate_parts("country", {"DE": pair})["DE"].implausible_reports == found.implausible_reports


def test_frequent_items_tell_whichever_way_they_were_found() -> None:
    texts = ["fig"] * 300 + ["pear"] * 300
    study = HeavyHitterStudy("fruit", epsilon=4, delta="0.000001")
    released = study.release(texts)
    question = study.question(released)
    by_list = study.estimate(trusted=released, local=Reports(np.zeros(2000, np.int64), question.digest))
    known = HeavyHitterStudy("fruit", epsilon=4, delta="0.000001", domain=["fig", "pear", "plum"])
    sent = Reports(np.zeros(2000, np.int64), known.dictionary.digest)
    by_dictionary = known.estimate(trusted=texts, local=sent)
    sent = Reports(np.full(2000, 5), study.discovery.digest)
    by_discovery = study.estimate(trusted=study.summarize_trusted(texts), local=sent)
    assert [found.method for found in (by_list, by_dictionary, by_discovery)] == ["list", "dictionary", "discovery"]
    for found in (by_list, by_dictionary, by_discovery):
        words = f"WARNING: at least {found.implausible_reports:,} of the 2,000 local reports cannot come"
        assert 0 < found.implausible_reports <= 2000
        assert str(found).startswith(words)
        assert words in found.explain()
        assert found.to_dict()["warnings"][0].startswith(words)
        assert "implausible report" in repr(found)
    with pytest.raises(DataError, match="cannot come from this study's channel"):
        study.estimate(trusted=study.summarize_trusted(texts), local=study.discovery.summarize_local(np.full(2000, 5)))


def test_real_reports_of_local_discovery_are_taken() -> None:
    study = HeavyHitterStudy("fruit", epsilon=2, delta="0.000001")
    for seed in range(3):
        reports = study.discovery.randomize(["fig"] * 3000, random_state=seed)
        assert study.discovery.implausible(study.discovery.summarize_local(reports.codes)) == 0
