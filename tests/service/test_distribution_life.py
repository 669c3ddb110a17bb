"""Distribution studies on a server: what is refused, and what nobody can read."""

import struct
from pathlib import Path

from sqlalchemy import select

from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import totals
from tests.service.attacking import NONCE, refused
from tests.service.lives import Contribution, DistributionLife
from tests.service.running import Running, running


def test_what_is_refused_is_not_counted(kept_server: Running) -> None:
    life = DistributionLife(kept_server, "refused")
    life.create()
    assert life.study.channel.n_codes == 1996
    headers = kept_server.token("a", "refused") | {"content-type": "application/json"}
    for to, field, number, reason in (
        ("reports", "code", "1996", "out-of-range"),
        ("reports", "code", "-1", "out-of-range"),
        ("reports", "code", "7.5", "malformed"),
        ("reports", "code", '"7"', "malformed"),
        ("values", "value", '"480"', "malformed"),
        ("values", "value", "NaN", "malformed"),
        ("values", "value", "1e999", "malformed"),
        ("values", "value", "null", "malformed"),
    ):
        body = f'{{"digest":"{life.study.digest}","{field}":{number},"nonce":"{NONCE}"}}'
        answer = kept_server.http.post(f"/studies/refused/{to}", headers=headers, content=body)
        assert refused(answer) == reason, (to, number)
    assert life.sums() == life.sums_of(0)


def test_nothing_of_a_value_can_be_read_without_the_key(tmp_path: Path) -> None:
    """Neither the value nor, by the length of what is encrypted, how many people are in which bins."""
    value, lengths = 4242.4242, set()
    with running(tmp_path) as server:
        for name, times in (("one", 1), ("many", 30)):
            life = DistributionLife(server, name)
            life.create()
            for i in range(times):
                sent = Contribution(f"t{i}", "values", {"value": value + 9 * i})
                assert life.send(sent).status_code == 201
        with reading(server.prepared.app.state.curator.engine) as connection:
            lengths |= {len(sealed) for sealed in connection.scalars(select(totals.c.sealed))}
    assert lengths == {1309}
    files = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert any(b'"distribution"' in content for content in files)  # the study's text can be read
    planted = (b"4242.4242", struct.pack("<d", value), struct.pack(">d", value))
    assert not any(form in content for content in files for form in planted)


def test_studies_that_cannot_be_created(kept_server: Running) -> None:
    answer = kept_server.create(DistributionLife(kept_server, "no").study.part("country", "DE"), "no")
    assert refused(answer) == "malformed"
    assert "of everybody" in answer.json()["detail"]
