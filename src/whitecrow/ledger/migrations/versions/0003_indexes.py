"""What keeps decisions short: open reservations, terms of promises, the spatial index."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def _dataset() -> "sa.Column[int]":
    return sa.Column("dataset", sa.Integer, sa.ForeignKey("datasets.id"), nullable=False)


def upgrade() -> None:
    op.create_index("entries_by_analyst", "entries", ["dataset", "analyst", "seq"])
    failed = sa.text("kind IN ('fail', 'halt')")
    op.create_index(
        "entries_failed",
        "entries",
        ["dataset", "seq"],
        sqlite_where=failed,
        postgresql_where=failed,
    )
    op.create_table(
        "unsettled",
        _dataset(),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "seq"),
    )
    op.create_table(
        "terms",
        _dataset(),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("term", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "analyst", "digest"),
    )
    op.create_table(
        "sheets",
        _dataset(),
        sa.Column("sheet", sa.String(64), nullable=False),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("bands", sa.Text, nullable=False),
        sa.Column("differential", sa.Text, nullable=False),
        sa.Column("sensitive", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "sheet", "analyst"),
    )
    op.create_table(
        "balls",
        _dataset(),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("sheet", sa.String(64), nullable=False),
        sa.Column("band", sa.Integer, nullable=False),
        sa.Column("u", sa.Float(53), nullable=False),
        sa.Column("v", sa.Float(53), nullable=False),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("everyone", sa.Boolean, nullable=False),
        sa.Column("epsilon", sa.Text, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("depths", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "seq"),
    )
    op.create_index("balls_by_place", "balls", ["dataset", "sheet", "band", "u", "v"])
    op.create_index("balls_by_depth", "balls", ["dataset", "sheet", "analyst", "depths"])


def downgrade() -> None:
    for table in ("balls", "sheets", "terms", "unsettled"):
        op.drop_table(table)
    op.drop_index("entries_failed", "entries")
    op.drop_index("entries_by_analyst", "entries")
