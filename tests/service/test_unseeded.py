"""Nothing that a server releases is seeded, and what it releases of the same data differs."""

from itertools import count

import pytest

from tests.release.drawing import Draws, drawn_by, require_differing
from tests.service.releases import GROUPS, gathered
from tests.service.running import Running

SIMPLE = "mean"
EVERY_KIND = [
    pytest.param(kind, marks=[pytest.mark.slow, *([pytest.mark.representative] if kind == SIMPLE else [])])
    for kind in GROUPS
]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_releases_of_the_same_data_differ_and_nothing_is_seeded(
    kept_server: Running, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    studies = count()

    def release() -> Draws:
        life = gathered(kind, 0, kept_server, f"unseeded-{kind}-{next(studies)}")

        def to_the_end() -> None:
            life.go_on()
            assert life.move("release").status_code == 200

        return drawn_by(to_the_end, monkeypatch)

    require_differing(release)
