import json
import re
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.study.document import parsed
from tests.kmeans.servers import as_text
from tests.refusals import not_refused

STUDY = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (-1.5, 60)], epsilon=0.5)
FIELDS = json.loads(STUDY.to_json())


def test_text_and_study_are_inverses() -> None:
    again = KMeansStudy.from_json(STUDY.to_json())
    assert again == STUDY
    assert again.digest == STUDY.digest
    assert hash(again) == hash(STUDY)


def test_equal_studies_have_equal_digests_and_others_do_not() -> None:
    parameters: dict[str, Any] = {"n_clusters": 3, "bounds": [(0, 24), (-1.5, 60)], "epsilon": 0.5}
    assert KMeansStudy("visits", **{**parameters, "epsilon": "0.50", "bounds": ([-0.0, 24.0], (-1.5, 60))}) == STUDY
    others = [
        KMeansStudy("calls", **parameters),
        *(
            KMeansStudy("visits", **{**parameters, **change})
            for change in (
                {"n_clusters": 4},
                {"bounds": [(0, 24)]},
                {"bounds": [(0, 24), (-1.5, 61)]},
                {"epsilon": 0.51},
                {"scale": "none"},
                {"scale": [1, 2]},
                {"scale": [2, 1]},
            )
        ),
    ]
    assert len({study.digest for study in [STUDY, *others]}) == 9


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "  "}),
        ("name", {"name": 5}),
        ("name", {"name": "\ud800"}),
        ("name", {"name": "visits\x1b[2J"}),
        ("n_clusters", {"n_clusters": 0}),
        ("n_clusters", {"n_clusters": -1}),
        ("n_clusters", {"n_clusters": 1025}),
        ("n_clusters", {"n_clusters": 2.0}),
        ("n_clusters", {"n_clusters": True}),
        ("n_clusters", {"n_clusters": "3"}),
        ("n_clusters", {"n_clusters": None}),
        ("bounds", {"bounds": None}),
        ("bounds", {"bounds": []}),
        ("bounds", {"bounds": [(1, 0)]}),
        ("bounds", {"bounds": [(0, 1)] * 257}),
        ("bounds[1]", {"bounds": [(0, float("nan"))]}),
        ("epsilon", {"epsilon": None}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": 21}),
        ("epsilon", {"epsilon": float("nan")}),
        ("epsilon", {"epsilon": True}),
        ("name", {"name": "x" * 1001}),
        ("scale", {"scale": "range"}),
        ("scale", {"scale": [1, 2]}),
        ("scale", {"scale": [1, 1e-60], "bounds": [(0, 1)] * 2}),
        ("bounds", {"scale": "none", "bounds": [(0, 1), (0, 1e-60)]}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"name": "x", "n_clusters": 3, "bounds": [(0, 1)], "epsilon": 0.5}
    with pytest.raises(ParameterError) as caught:
        KMeansStudy(**{**good, **change})
    assert caught.value.name == name


def test_the_ends_of_the_ranges_are_allowed() -> None:
    KMeansStudy("x", n_clusters=1024, bounds=[(0, 1)] * 256, epsilon=0.01)
    KMeansStudy("x", n_clusters=1, bounds=[(0, 1)], epsilon=20)


@pytest.mark.parametrize("name", FIELDS)
def test_a_text_with_one_field_broken_is_refused(name: str) -> None:
    values: list[object] = [None, [], {}, "", -1, 1.5, "x", [[0]], [0, 1], [["a", "b"]], float("inf")]
    if name == "name":
        values.remove("x")  # a good name
    cases = [(repr(value), as_text({**FIELDS, name: value})) for value in values]
    cases.append(("left out", as_text({other: value for other, value in FIELDS.items() if other != name})))
    assert not_refused(cases, KMeansStudy.from_json, ProtocolError, "The study is refused") == []


@pytest.mark.parametrize("change", [{"epsilon": "0.50"}, {"epsilon": 0.5}, {"extra": 1}, {"type": "mean"}])
def test_another_form_of_the_same_study_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="not the one that to_json writes|malformed|not of type kmeans"):
        KMeansStudy.from_json(as_text({**FIELDS, **change}))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FIELDS),
        json.dumps(FIELDS, indent=1),
        as_text(dict(reversed(FIELDS.items()))),
        as_text({**FIELDS, "version": 2.0}),
        STUDY.to_json() + "\n",
        STUDY.to_json().replace("0.0", "0"),
        STUDY.to_json().encode(),
    ],
)
def test_a_study_has_one_text(text: Any) -> None:
    """So that the SHA-256 of what was received is the digest."""
    with pytest.raises(ProtocolError, match="its text is not the one that to_json writes|not a JSON object"):
        KMeansStudy.from_json(text)


@pytest.mark.parametrize("version", [1, 3, "2", None])
def test_a_study_of_another_version_is_refused_with_a_plain_sentence(version: Any) -> None:
    sentence = (
        "The study is refused: its text is not of type kmeans, version 2; write it anew with this version of hybriddp."
    )
    with pytest.raises(ProtocolError, match=f"^{re.escape(sentence)}$"):
        KMeansStudy.from_json(as_text({**FIELDS, "version": version}))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace", None])
def test_a_study_with_other_neighbors_is_refused_with_a_plain_sentence(neighbors: object) -> None:
    sentence = "The study is refused: its neighbors must be 'replace-one', which is all that is supported."
    with pytest.raises(ProtocolError, match=f"^{re.escape(sentence)}$"):
        KMeansStudy.from_json(as_text({**FIELDS, "neighbors": neighbors}))


@pytest.mark.parametrize("text", ["", "null", "[]", "5", "{", "[" * 100_000, "1" * 5000, None, 5, b"\xff"])
def test_what_is_no_object_is_refused(text: Any) -> None:
    with pytest.raises(ProtocolError, match="The thing is refused: it is not a JSON object"):
        parsed(text, "thing")


@pytest.mark.parametrize("d", [1, 2, 3, 256])
def test_a_repr_fits_into_a_log(d: int) -> None:
    name, epsilon = "\u2028'\"" * 300, "5.3333333333333333333337"
    bounds = [(-123456.789012345, 1234567.89012345)] * d
    study = KMeansStudy(name, n_clusters=1024, bounds=bounds, epsilon=epsilon, scale=[1.23456789] * d)
    assert repr(study).startswith("KMeansStudy(")
    assert len(repr(study)) < 200
    for rng in (None, 12345678901, np.random.default_rng(0)):
        for by_name in (bounds, {f"a column {j}": pair for j, pair in enumerate(bounds)}):
            model = HybridKMeans(
                1024, epsilon=epsilon, bounds=by_name, name=name, scale=[1.23456789] * d, random_state=rng
            )
            assert repr(model).startswith("HybridKMeans(n_clusters=1024, epsilon='5.33")
            assert len(repr(model)) < 200


def test_a_small_study_shows_all_of_itself() -> None:
    study = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (0, 60)], epsilon=2)
    assert repr(study) == (
        "KMeansStudy('visits', n_clusters=3, bounds=[(0.0, 24.0), (0.0, 60.0)], epsilon='2', scale='bounds')"
    )
