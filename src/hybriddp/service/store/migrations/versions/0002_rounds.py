"""Rounds of studies that ask more than once."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the number of the round that a study is in."""
    op.add_column("studies", sa.Column("round_number", sa.Integer, nullable=False, server_default="0"))
