"""How many failures of a dataset wait for their review."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("datasets", sa.Column("failures", sa.Integer, nullable=False, server_default="0"))
    op.execute(
        "UPDATE datasets SET failures = (SELECT count(*) FROM entries e WHERE "
        "e.dataset = datasets.id AND e.kind = 'fail' AND NOT EXISTS (SELECT 1 FROM entries c "
        "WHERE c.dataset = e.dataset AND c.closes = e.seq))"
    )


def downgrade() -> None:
    op.drop_column("datasets", "failures")
