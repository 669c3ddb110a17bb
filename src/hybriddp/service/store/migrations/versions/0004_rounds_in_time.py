"""Rounds that follow each other in time."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add how long a round lasts, and whether the study is released after the last one."""
    op.add_column("studies", sa.Column("round_seconds", sa.BigInteger))
    op.add_column("studies", sa.Column("release_at_end", sa.Boolean, nullable=False, server_default=sa.false()))
