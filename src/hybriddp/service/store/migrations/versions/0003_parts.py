"""Parts of the users, for studies of a mean per part."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the parts of a study, and the part that a participant is in."""
    op.add_column("studies", sa.Column("parts", sa.Text))
    op.add_column("participants", sa.Column("part", sa.SmallInteger))
