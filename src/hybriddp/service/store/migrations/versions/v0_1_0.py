"""Tables of version 0.1.0."""

import sqlalchemy as sa
from alembic import op

revision = "0.1.0"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "ledgers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("header", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "ledger_events",
        sa.Column("ledger", sa.Integer, sa.ForeignKey("ledgers.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("line", sa.Text, nullable=False),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "credentials",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("key_hash", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "ended_sessions",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "studies",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("consent", sa.Text, nullable=False),
        sa.Column("origins", sa.Text, nullable=False),
        sa.Column("tokens", sa.Boolean, nullable=False),
        sa.Column("single_group", sa.Boolean, nullable=False),
        sa.Column("min_trusted", sa.BigInteger, nullable=False),
        sa.Column("min_local", sa.BigInteger, nullable=False),
        sa.Column("budget", sa.Text),
        sa.Column("closes_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("round_number", sa.Integer, nullable=False, server_default="0"),
        sa.Column("parts", sa.Text),
        sa.Column("round_seconds", sa.BigInteger),
        sa.Column("release_at_end", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_table(
        "steps",
        sa.Column("study", sa.Integer, sa.ForeignKey("studies.number"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("result", sa.LargeBinary),
        sa.Column("page", sa.LargeBinary),
        sa.Column("curator_page", sa.LargeBinary),
        sa.PrimaryKeyConstraint("study", "number"),
    )
    op.create_table(
        "participants",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("who", sa.LargeBinary(16), nullable=False),
        sa.Column("trusted", sa.Boolean),
        sa.Column("asserted", sa.SmallInteger, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("commitment", sa.LargeBinary(32)),
        sa.Column("part", sa.SmallInteger),
        sa.PrimaryKeyConstraint("study", "who"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tallies",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("replica", sa.Text, nullable=False),
        sa.Column("code", sa.Integer, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("study", "replica", "code"),
    )
    op.create_table(
        "totals",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("replica", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("study", "replica"),
    )
