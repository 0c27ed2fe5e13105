"""The statements that touch entries and accounts, in words that SQLite and PostgreSQL share.

Parameters are called like the columns they are for; ``dataset`` is an account's number.
"""

from __future__ import annotations

from functools import lru_cache

# Entries. Answers are found by what they close, all else by its question or who asked: the indexes
# say "kind <> 'settle'", and a query must say so too.


@lru_cache
def some_entries(limits: frozenset[str], newest_first: bool) -> str:
    conditions = {
        "before": " AND seq < :before",
        "analyst": " AND analyst = :analyst",
        "kind": " AND kind = :kind",
        "no answer": " AND kind <> 'settle'",
        "holding": " AND body LIKE '%' || :holding || '%'",
    }
    where = "".join(text for name, text in conditions.items() if name in limits)
    order = "seq DESC" if newest_first else "seq"
    window = {"limit": " LIMIT :limit", "skip": " OFFSET :skip"}
    part = "".join(text for name, text in window.items() if name in limits)
    every = "SELECT * FROM entries WHERE dataset = :dataset AND seq > :after"
    return f"{every}{where} ORDER BY {order}{part}"


@lru_cache(maxsize=32)
def acts(count: int, newest: bool) -> str:
    """Acts and alarms belong to no question: without a digest the index finds them among many."""
    kinds = ", ".join(f":kind{number}" for number in range(count))
    order = "seq DESC LIMIT 1" if newest else "seq"
    every = "SELECT * FROM entries WHERE dataset = :dataset AND digest = '' AND kind <> 'settle'"
    return f"{every} AND kind IN ({kinds}) ORDER BY {order}"


@lru_cache(maxsize=32)
def closing_of(count: int) -> str:
    closed = ", ".join(f":closed{number}" for number in range(count))
    return f"SELECT * FROM entries WHERE dataset = :dataset AND closes IN ({closed})"  # noqa: S608


NOT_TOLD = """
SELECT seq, previous FROM entries
WHERE dataset = :dataset AND seq > :after AND at > :now AND at < :latest ORDER BY seq LIMIT 1
"""
ONE = "SELECT * FROM entries WHERE dataset = :dataset AND seq = :seq"
HASH = "SELECT seq FROM entries WHERE hash = :hash LIMIT 1"
APPEND = """
INSERT INTO entries (dataset, seq, kind, at, analyst, digest, closes, body, previous, hash)
VALUES (:dataset, :seq, :kind, :at, :analyst, :digest, :closes, :body, :previous, :hash)
"""
# What became of a question, under either of its names, with its answer; of what is open also who
# computes it. Asked for in their order, SQLite would walk through all entries, not the index; and
# PostgreSQL, which plans while there are few, if one search were for both names.
_NAMED = """
SELECT entry.seq, entry.kind, entry.digest, entry.analyst, entry.closes,
    answer.seq AS answered_by, answer.body AS answer, unsettled.epoch, unsettled.holder
FROM entries AS entry
LEFT JOIN entries AS answer ON answer.dataset = entry.dataset AND answer.closes = entry.seq
    AND answer.kind = 'settle'
LEFT JOIN unsettled ON unsettled.dataset = entry.dataset AND unsettled.seq = entry.seq
WHERE entry.dataset = :dataset AND entry.kind <> 'settle' AND entry.digest =
"""
NO_NAME = "none"
BY_QUESTION = f"{_NAMED} :asked UNION ALL {_NAMED} :former"
UNREVIEWED = """
SELECT failed.* FROM entries AS failed
LEFT JOIN entries AS closing ON closing.dataset = failed.dataset AND closing.closes = failed.seq
WHERE failed.dataset = :dataset AND failed.kind IN ('fail', 'halt') AND closing.seq IS NULL
ORDER BY failed.seq
"""

# Whoever opens an account sees with it which witness the ledger has at this moment.
READ = """
SELECT datasets.*, (SELECT min(ledger) FROM witness) AS appointed FROM datasets WHERE name = :name
"""
LOCK = f"{READ} FOR UPDATE OF datasets"
NAMES = "SELECT name FROM datasets ORDER BY name"
# Another process may be first.
REGISTER = """
INSERT INTO datasets (name, seq, head, budget, policy, spent)
VALUES (:name, :seq, :head, :budget, :policy, :spent) ON CONFLICT DO NOTHING
"""
MOVE = """
UPDATE datasets SET seq = :seq, head = :head, budget = :budget, policy = :policy, spent = :spent,
    failures = :failures, closure = :closure WHERE id = :dataset
"""
SHARES = "SELECT * FROM accounts WHERE dataset = :dataset"
SHARE = f"{SHARES} AND analyst = :analyst"
WRITE_SHARE = """
INSERT INTO accounts (dataset, analyst, budget, spent) VALUES (:dataset, :analyst, :budget, :spent)
ON CONFLICT (dataset, analyst) DO UPDATE SET budget = excluded.budget, spent = excluded.spent
"""

# What is open, and on which terms

ALL_OPEN = "SELECT seq FROM unsettled WHERE dataset = :dataset"
UNSETTLED = f"""
SELECT * FROM entries WHERE dataset = :dataset AND seq IN ({ALL_OPEN}) ORDER BY seq
"""  # noqa: S608
OPENED = "INSERT INTO unsettled (dataset, seq, epoch, holder) VALUES (:dataset, :seq, 1, :holder)"
SETTLED = "DELETE FROM unsettled WHERE dataset = :dataset AND seq = :seq"
CLAIMED = "SELECT epoch, holder FROM unsettled WHERE dataset = :dataset AND seq = :seq"
CLAIM = """
UPDATE unsettled SET epoch = :epoch, holder = :holder WHERE dataset = :dataset AND seq = :seq
"""
GIVE_UP = """
UPDATE unsettled SET holder = '' WHERE dataset = :dataset AND seq = :seq AND holder = :holder
"""
ADD_TERM = """
INSERT INTO terms (dataset, analyst, digest, term, number)
VALUES (:dataset, :analyst, :digest, :term, 1)
ON CONFLICT (dataset, analyst, digest) DO UPDATE SET number = terms.number + 1
"""
LESS_TERM = """
UPDATE terms SET number = number - 1
WHERE dataset = :dataset AND analyst = :analyst AND digest = :digest
"""
NO_TERM = "DELETE FROM terms WHERE dataset = :dataset AND analyst = :analyst AND number <= 0"
TERMS = "SELECT DISTINCT term FROM terms WHERE dataset = :dataset"
OWN_TERMS = "SELECT term FROM terms WHERE dataset = :dataset AND analyst = :analyst"
ALL_TERMS = "SELECT * FROM terms WHERE dataset = :dataset"

# Balls and sheets of the spatial index

_NEAR = """
WHERE dataset = :dataset AND sheet = :sheet AND band = :band
    AND u BETWEEN :u_low AND :u_high AND v BETWEEN :v_low AND :v_high LIMIT :most
"""
_BALL = "SELECT seq, analyst, everyone, epsilon, location FROM balls"
NEAR = f"{_BALL} {_NEAR}"
ONE_BALL = "SELECT * FROM balls WHERE dataset = :dataset AND seq = :seq"
BALLS = "SELECT * FROM balls WHERE dataset = :dataset AND seq > :after ORDER BY seq LIMIT :most"
NEWER = f"{_BALL} WHERE dataset = :dataset AND seq >= :since AND sheet = :sheet"
ADD = """
INSERT INTO balls
    (dataset, seq, sheet, band, u, v, analyst, everyone, epsilon, location, depths)
VALUES (:dataset, :seq, :sheet, :band, :u, :v, :analyst, :everyone, :epsilon, :location, :depths)
"""
REMOVE = "DELETE FROM balls WHERE dataset = :dataset AND seq = :seq"
DEEPEN = "UPDATE balls SET depths = :depths WHERE dataset = :dataset AND seq = :seq"
DEPTHS = """
SELECT analyst, depths, count(*) AS number FROM balls
WHERE dataset = :dataset AND sheet = :sheet GROUP BY analyst, depths
"""
SHEETS = "SELECT * FROM sheets WHERE dataset = :dataset"
SHEET = f"{SHEETS} AND sheet = :sheet AND analyst IN (:analyst, '')"
WRITE_SHEET = """
INSERT INTO sheets (dataset, sheet, analyst, bands, differential, sensitive)
VALUES (:dataset, :sheet, :analyst, :bands, :differential, :sensitive)
ON CONFLICT (dataset, sheet, analyst) DO UPDATE SET bands = excluded.bands,
    differential = excluded.differential, sensitive = excluded.sensitive
"""

# States of publications, and of the account itself

STATE = """
SELECT version, state, fingerprints FROM publishers WHERE dataset = :dataset AND name = :name
"""
WRITE_STATE = """
INSERT INTO publishers (dataset, name, version, state, fingerprints)
VALUES (:dataset, :name, :version, :state, :fingerprints)
ON CONFLICT (dataset, name) DO UPDATE SET version = excluded.version, state = excluded.state,
    fingerprints = excluded.fingerprints
"""

FOR_SQLITE = {
    # Else it looks every ball up that has a fitting u; the index alone says which are near.
    NEAR: f"{_BALL} WHERE dataset = :dataset AND seq IN (SELECT seq FROM balls {_NEAR})"  # noqa: S608
}
"""Statements that SQLite is asked in other words."""
