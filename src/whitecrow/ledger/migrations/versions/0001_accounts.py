"""The first schema: datasets, accounts, entries, publishers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("budget", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("spent", sa.Text, nullable=False),
    )
    op.create_table(
        "accounts",
        sa.Column("dataset", sa.Integer, sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("budget", sa.Text, nullable=True),
        sa.Column("spent", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "analyst"),
    )
    op.create_table(
        "entries",
        sa.Column("dataset", sa.Integer, sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("closes", sa.Integer, nullable=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "seq"),
        sa.UniqueConstraint("dataset", "closes", name="closed_once"),
    )
    op.create_index("entries_by_question", "entries", ["dataset", "digest", "seq"])
    op.create_table(
        "publishers",
        sa.Column("dataset", sa.Integer, sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "name"),
    )


def downgrade() -> None:
    for table in ("publishers", "entries", "accounts", "datasets"):
        op.drop_table(table)
