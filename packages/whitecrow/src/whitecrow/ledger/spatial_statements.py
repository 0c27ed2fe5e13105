"""The statements of the spatial index, built once and compiled once."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from whitecrow.ledger.schema import balls, sheets

_COLUMNS = (balls.c.seq, balls.c.analyst, balls.c.everyone, balls.c.epsilon, balls.c.location)
NEAR = (
    select(*_COLUMNS)
    .where(
        balls.c.dataset == bindparam("account"),
        balls.c.sheet == bindparam("sheet_name"),
        balls.c.band == bindparam("in_band"),
        balls.c.u.between(bindparam("u_low"), bindparam("u_high")),
        balls.c.v.between(bindparam("v_low"), bindparam("v_high")),
    )
    .limit(bindparam("most"))
)
ONE_BALL = select(*_COLUMNS, balls.c.sheet, balls.c.depths).where(
    balls.c.dataset == bindparam("account"), balls.c.seq == bindparam("at_seq")
)
ALL = (
    select(*_COLUMNS, balls.c.sheet, balls.c.band, balls.c.u, balls.c.v, balls.c.depths)
    .where(balls.c.dataset == bindparam("account"), balls.c.seq > bindparam("after"))
    .order_by(balls.c.seq)
    .limit(bindparam("most"))
)
PRICES = select(sheets).where(sheets.c.dataset == bindparam("account"))
ADD = insert(balls).values(
    {
        column.name: bindparam("account" if column.name == "dataset" else column.name)
        for column in balls.columns
    }
)
REMOVE = delete(balls).where(
    balls.c.dataset == bindparam("account"), balls.c.seq == bindparam("at_seq")
)
DEEPEN = (
    update(balls)
    .where(balls.c.dataset == bindparam("account"), balls.c.seq == bindparam("at_seq"))
    .values(depths=bindparam("new_depths"))
)
DISTINCT = (
    select(balls.c.analyst, balls.c.depths)
    .where(balls.c.dataset == bindparam("account"), balls.c.sheet == bindparam("sheet_name"))
    .distinct()
)
SHEET = select(sheets).where(
    sheets.c.dataset == bindparam("account"),
    sheets.c.sheet == bindparam("sheet_name"),
    sheets.c.analyst.in_([bindparam("whose"), bindparam("everybody")]),
)
_SET: dict[str, Any] = {
    n: bindparam(f"new_{n}") for n in ("version", "bands", "differential", "sensitive")
}
INSERT_SHEET = insert(sheets).values(
    dataset=bindparam("account"), sheet=bindparam("sheet_name"), analyst=bindparam("whose"), **_SET
)
UPDATE_SHEET = (
    update(sheets)
    .where(
        sheets.c.dataset == bindparam("account"),
        sheets.c.sheet == bindparam("sheet_name"),
        sheets.c.analyst == bindparam("whose"),
    )
    .values(**_SET)
)
