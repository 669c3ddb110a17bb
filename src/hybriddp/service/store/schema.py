"""The tables of a curator: studies, who has taken part, and running sums; the ledger's are in `ledger`.

What is *not* there says more: no table has a column in which a raw value or a single report would fit. A participant is
a keyed hash, a contribution is a commitment, and what was contributed is in the sums only. (K-means needs the points of
trusted people several times: they lie in the sealed sum, all together, until the study ends.)
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    false,
)

from hybriddp.service.store.ledger import metadata

__all__ = [
    "credentials",
    "ended_sessions",
    "facts",
    "metadata",
    "participants",
    "steps",
    "studies",
    "tallies",
    "totals",
]

facts = Table(
    "facts",
    metadata,
    Column("name", Text, primary_key=True),  # "check " and a key's name, or "time"
    Column("content", Text, nullable=False),
)

credentials = Table(
    "credentials",
    metadata,
    Column("name", Text, primary_key=True),  # "admin", or the name of a relay behind "relay "
    Column("key_hash", Text, nullable=False, unique=True),
)

ended_sessions = Table(
    "ended_sessions",
    metadata,
    Column("name", Text, primary_key=True),  # hash of the cookie of an operator who has logged out
    Column("ends_at", BigInteger, nullable=False),  # when the cookie would have ended, seconds since 1970
)

studies = Table(
    "studies",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False, unique=True),  # two studies with one text would share their reports
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("consent", Text, nullable=False),
    Column("origins", Text, nullable=False),
    Column("tokens", Boolean, nullable=False),
    Column("single_group", Boolean, nullable=False),
    Column("min_trusted", BigInteger, nullable=False),
    Column("min_local", BigInteger, nullable=False),
    Column("budget", Text),  # the name of a ledger that several studies share
    Column("closes_at", BigInteger, nullable=False),  # seconds since 1970, UTC; in a round, when that ends
    Column("state", Text, nullable=False),
    Column("round_number", Integer, nullable=False, default=0, server_default="0"),  # 0 before the first one
    Column("parts", Text),  # of the users, as JSON; NULL where there is one answer for everybody
    Column("round_seconds", BigInteger),  # how long a round lasts, if rounds follow each other by themselves
    Column("release_at_end", Boolean, nullable=False, default=False, server_default=false()),
)

steps = Table(
    "steps",
    metadata,
    Column("study", Integer, ForeignKey("studies.number"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("result", LargeBinary),  # the bytes that everybody gets, for ever
    Column("page", LargeBinary),
    Column("curator_page", LargeBinary),  # for the curator: more than is published
    PrimaryKeyConstraint("study", "number"),
)

participants = Table(
    "participants",
    metadata,
    Column("study", Integer, nullable=False),
    Column("who", LargeBinary(16), nullable=False),  # keyed hash of the study and the participant's name
    Column("trusted", Boolean),  # the group; forgotten after a withdrawal
    Column("asserted", SmallInteger, nullable=False),
    Column(
        "day", Integer, nullable=False
    ),  # days since 1970, UTC: no finer, since times could be linked with other logs
    Column("commitment", LargeBinary(32)),  # forgotten after a withdrawal
    Column("part", SmallInteger),  # its number among the study's, if that has parts; forgotten after a withdrawal
    PrimaryKeyConstraint("study", "who"),
    sqlite_with_rowid=False,
)

tallies = Table(
    "tallies",
    metadata,
    Column("study", Integer, nullable=False),
    Column("replica", Text, nullable=False),
    Column("code", Integer, nullable=False),  # below 0: what is counted beside codes, see `sums`
    Column("count", BigInteger, nullable=False),  # may be negative for one replica: another one took the report
    PrimaryKeyConstraint("study", "replica", "code"),
)

totals = Table(
    "totals",
    metadata,
    Column("study", Integer, nullable=False),
    Column("replica", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # the sum of what is trusted, encrypted
    PrimaryKeyConstraint("study", "replica"),
)
