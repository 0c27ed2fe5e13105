"""An account is bound to its records: others are refused, changed ones are a new revision."""

import hashlib
import os
from fractions import Fraction

import pyarrow as pa
import pytest
from pyarrow import parquet

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, verification
from whitecrow.ledger.revisions import revisions

MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)
TABLE = pa.table({"age": [30.0, 31.0, 32.0, 90.0], "ward": ["a", "b", None, "a"]})
OTHER = pa.table({"age": [50.0, 51.0, 52.0, 10.0], "ward": ["a", "b", "c", "a"]})
PEOPLE = wc.Card(
    "people",
    (wc.Column("age", lower=0, upper=120), wc.Column("sex", "category", categories=("f", "m"))),
)
HERE, THERE = {"age": 30.0}, {"age": 90.0}


def opened(source, ledger, **how):
    return wc.Curator.open(source, ledger=ledger, budget="10", **how)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "accounts.db"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "patients.parquet"
    parquet.write_table(TABLE, path)
    return path


def screen(curator, place, epsilon="1"):
    return curator.screen(place, model=MODEL, epsilon=epsilon)


def spent(curator):
    return curator.ledger.snapshot(curator.name).spent.spent("differential", Fraction(0))


def test_a_table_never_receives_the_stored_answer_of_another(ledger):
    with opened(TABLE, ledger, name="ages") as first:
        assert screen(first, HERE).charged
    with pytest.raises(wc.DataChanged, match="bound to other records") as refused:
        opened(OTHER, ledger, name="ages")
    assert "advance" in str(refused.value)
    assert "name=" in str(refused.value)
    with opened(OTHER, ledger, name="others") as second:
        assert screen(second, HERE).charged


@pytest.mark.parametrize("source", [TABLE, "sqlite:///{folder}/db.sqlite::SELECT 1 AS age"])
def test_data_without_a_file_need_a_name_in_a_ledger_of_others(source, ledger, tmp_path):
    source = source.format(folder=tmp_path) if isinstance(source, str) else source
    with pytest.raises(wc.InvalidInput, match="name="):
        wc.Curator.open(source, ledger=ledger)
    with pytest.raises(wc.InvalidInput, match="name="):
        wc.Curator.open(source, ledger=Ledger("sqlite://"))
    assert not ledger.exists()


def test_a_curator_with_a_ledger_of_its_own_needs_no_name():
    for where in (None, "sqlite://"):
        assert screen(wc.Curator.open(TABLE, ledger=where), HERE).charged


def test_rows_in_another_order_or_another_frame_are_the_same_records(ledger):
    polars = pytest.importorskip("polars")
    card = wc.Card("ages", (wc.Column("age", lower=0, upper=120),))
    with opened(TABLE, ledger, name="ages", card=card) as first:
        screen(first, HERE)
    for same in (TABLE.take([3, 1, 0, 2]), polars.from_arrow(TABLE), TABLE.select(["ward", "age"])):
        with opened(same, ledger, name="ages", card=card) as again:
            assert not screen(again, HERE).charged


@pytest.mark.parametrize(
    "changed",
    [
        TABLE.slice(1),
        pa.concat_tables([TABLE, TABLE.slice(0, 1)]),
        TABLE.set_column(0, "age", pa.array([30.0, 31.0, 32.0, 90.5])),
        TABLE.set_column(1, "ward", pa.array(["a", "b", None, None])),
        TABLE.rename_columns(["years", "ward"]),
        pa.table({"age": [31.0, 30.0, 32.0, 90.0], "ward": ["a", "b", None, "a"]}),
    ],
    ids=["shorter", "longer", "a value", "a null", "a name", "values swapped between rows"],
)
def test_any_change_of_the_records_is_noticed(changed, ledger):
    opened(TABLE, ledger, name="ages", account="now").close()
    with pytest.raises(wc.DataChanged):
        opened(changed, ledger, name="ages")


def test_the_result_of_a_query_is_recognised(ledger, tmp_path):
    import sqlalchemy

    url = f"sqlite:///{tmp_path}/people.sqlite"
    people = sqlalchemy.create_engine(url)
    with people.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE people (age REAL)")
        connection.exec_driver_sql("INSERT INTO people VALUES (30), (31), (90)")
    card = wc.Card("people", (wc.Column("age", lower=0, upper=120),))

    source = wc.SqlQuery(url, "SELECT age FROM people")

    def ask():
        with opened(source, ledger, name="people", card=card) as curator:
            return screen(curator, HERE).charged

    assert ask()
    assert not ask()
    with people.begin() as connection:
        connection.exec_driver_sql("UPDATE people SET age = 91 WHERE age = 90")
    with pytest.raises(wc.DataChanged):
        ask()


def test_a_file_that_changed_between_two_located_questions_is_noticed(file):
    with opened(file, None) as first:
        screen(first, HERE)
        assert spent(first) == 1
    parquet.write_table(OTHER, file)
    with pytest.raises(wc.DataChanged, match="data advance"):
        opened(file, None)
    with opened(file, None, advance="the other ward") as second:
        assert second.revision == 2
        screen(second, THERE)
        # The balls do not meet, but a person may have moved from one into the other meanwhile.
        assert spent(second) == 2


KINDS = {
    "appended": pa.concat_tables([TABLE, OTHER]),
    "deleted": TABLE.slice(0, 3),
    "edited": TABLE.set_column(0, "age", pa.array([90.0, 31.0, 32.0, 29.0])),
    "reordered": TABLE.take([3, 2, 1, 0]),
    "replaced": OTHER,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_change_between_two_located_questions_is_refused_then_priced(kind, file):
    """Red team: the discount for places that do not meet, across a change of the records."""
    with opened(file, None) as first:
        screen(first, HERE)
    parquet.write_table(KINDS[kind], file)
    with pytest.raises(wc.DataChanged):
        opened(file, None)
    with opened(file, None, advance=kind) as second:
        assert second.revision == 2
        screen(second, THERE)
        assert spent(second) == 2  # added up, never discounted
        assert screen(second, HERE).charged  # and no stored answer of the other records
        assert spent(second) == 2  # within the revision the two places share their price


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"reordered"}))
def test_each_kind_of_change_of_a_table_in_memory_is_refused_then_priced(kind, ledger):
    with opened(TABLE, ledger, name="ages") as first:
        screen(first, HERE)
    with pytest.raises(wc.DataChanged):
        opened(KINDS[kind], ledger, name="ages")
    with opened(KINDS[kind], ledger, name="ages", advance=kind) as second:
        screen(second, THERE)
        assert spent(second) == 2


def test_a_reordered_table_in_memory_is_the_same_records(ledger):
    with opened(TABLE, ledger, name="ages") as first:
        screen(first, HERE)
    with opened(KINDS["reordered"], ledger, name="ages") as again:
        assert not screen(again, HERE).charged
        screen(again, THERE)
        assert spent(again) == 1


def test_a_person_who_joins_late_is_charged_for_what_was_asked_since_at_the_most(file):
    """The account adds up all revisions: never less than what any one person lost."""
    with opened(file, None) as first:
        screen(first, HERE, "1/2")
    parquet.write_table(KINDS["appended"], file)
    with opened(file, None, advance="appended") as second:
        screen(second, HERE, "1/4")
        assert spent(second) == Fraction(3, 4)


def test_balls_of_one_revision_share_their_price_and_stored_answers_belong_to_it(file):
    with opened(file, None) as first:
        screen(first, HERE)
        screen(first, THERE)
        assert spent(first) == 1
    parquet.write_table(OTHER, file)
    with opened(file, None, advance="corrected") as second:
        assert screen(second, HERE).charged
        assert not screen(second, HERE).charged
        assert spent(second) == 2


def test_records_of_an_earlier_revision_are_recognised_as_that(file, ledger):
    for table, revision in ((TABLE, 1), (OTHER, 2), (TABLE, 1)):
        with opened(table, ledger, name="ages", advance="another fold") as curator:
            assert curator.revision == revision
    assert [one.reason for one in revisions(Ledger(ledger), "ages")] == ["opened", "another fold"]


def test_advancing_returns_a_curator_of_the_records_as_they_are_now(file):
    with opened(file, None) as first:
        screen(first, HERE)
        parquet.write_table(pa.concat_tables([TABLE, OTHER]), file)
        second = first.advance(reason="May was appended")
        assert (first.revision, second.revision) == (1, 2)
        assert not screen(first, HERE).charged  # it still holds what it was opened with
        assert screen(second, HERE).charged
    with pytest.raises(wc.InvalidInput, match="reason"):
        opened(file, None).advance(OTHER, reason=" ")


def test_a_publication_goes_on_over_all_revisions(ledger):
    card = wc.Card("trips", (wc.Column("fare", lower=0, upper=9), wc.Column("day", "date")))
    trips = pa.table({"fare": [1.0, 2.0], "day": ["2024-01-01", "2024-01-02"]})
    question = wc.Publish("fare", time="day", start="2024-01-01", horizon=31, epsilon="1/2")
    how = {"name": "trips", "card": card}
    with opened(trips, ledger, **how) as april:
        first = april.publisher(question).update("2024-01-01", [1.0, 2.0])
    grown = pa.concat_tables([trips, trips])
    with opened(grown, ledger, **how, advance="May was appended") as may:
        assert may.revision == 2
        again = may.publisher(question)
        assert again.update("2024-01-01", [1.0, 2.0]) == first
        assert spent(may) == Fraction(1, 2)


def test_zones_of_two_revisions_are_two_conditions(file):
    ask = {"model": MODEL, "epsilon": "1"}
    with opened(file, None, policy={"notions": ["sensitive"]}) as first:
        first.identify(HERE, **ask)
    parquet.write_table(OTHER, file)
    with opened(file, None, advance="corrected") as second:
        second.identify(HERE, **ask)
        zones = second.totals().sensitive.zones
        assert {zone.card.partition("@")[2] for zone in zones} == {"1", "2"}
        assert "revision 2" in second.statement()


def test_another_card_for_the_same_records_is_no_other_data(ledger):
    for upper in (100, 120):
        card = wc.Card("ages", (wc.Column("age", lower=0, upper=upper),))
        with opened(TABLE, ledger, name="ages", card=card) as curator:
            assert curator.revision == 1
            assert screen(curator, HERE).charged


def test_the_chain_shows_no_hash_that_a_guess_could_be_tested_against(file):
    opened(file, None).close()
    with opened(file, None) as curator:
        written = [entry.body for entry in curator.ledger.entries(curator.name)]
    plain = hashlib.blake2b(file.read_bytes()).hexdigest()[:64]
    mutant = file.with_name("mutant.parquet")
    mutant.write_bytes(file.read_bytes())
    with opened(mutant, None) as other:
        elsewhere = [entry.content["data"] for entry in other.ledger.entries(other.name)]
    assert not any(plain in body or elsewhere[0]["fingerprint"] in body for body in written)


def test_an_account_of_an_earlier_version_is_bound_when_it_is_next_opened(file):
    with Ledger(file.with_name("patients.whitecrow.db")) as old:
        old.open("patients", budget=Budget.of("10"))
    with opened(file, None) as curator:
        assert curator.revision == 1
        kinds = [entry.kind for entry in curator.ledger.entries("patients")]
        assert kinds == ["open", "data"]
        assert verification.verify(curator.ledger, "patients").ok
    parquet.write_table(OTHER, file)
    with pytest.raises(wc.DataChanged):
        opened(file, None)


def test_two_files_of_one_name_do_not_share_an_account_in_one_ledger(file, ledger, tmp_path):
    opened(file, ledger, account="now").close()
    (tmp_path / "b").mkdir()
    parquet.write_table(OTHER, tmp_path / "b" / "patients.parquet")
    with pytest.raises(wc.DataChanged):
        opened(tmp_path / "b" / "patients.parquet", ledger)


@pytest.mark.parametrize("how", ["rewritten", "a file more"])
def test_the_engine_disk_goes_on_with_what_it_read(tmp_path, how):
    """Of the engine that reads files for each question see tests/engines/test_marks.py."""
    folder = tmp_path / "visits"
    folder.mkdir()
    parquet.write_table(TABLE.select(["age"]), folder / "a.parquet")
    with opened(folder, None, engine="disk") as curator:
        assert screen(curator, HERE).charged
        name = "a.parquet" if how == "rewritten" else "b.parquet"
        parquet.write_table(OTHER.select(["age"]), folder / name)
        assert screen(curator, THERE).charged
        assert spent(curator) == 1  # two balls that do not meet, of one database
    with pytest.raises(wc.DataChanged):
        opened(folder, None, engine="disk")


@pytest.mark.parametrize("name", ["disk", "sql"])
def test_engines_recognise_the_same_file(file, name):
    parquet.write_table(TABLE.select(["age"]), file)
    with opened(file, None) as first:
        assert screen(first, HERE).charged
    with opened(file, None, engine=name) as second:
        assert not screen(second, HERE).charged


def test_a_file_is_hashed_again_only_when_it_was_written(file, monkeypatch):
    hashed = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *a: hashed.append(a) or digest(*a))
    monkeypatch.setattr("whitecrow.data.fingerprints._A_MOMENT_NS", 0)
    for _ in range(3):
        opened(file, None, account="now").close()
    assert len(hashed) == 2  # the account is opened, then the digest is kept
    stat = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises((wc.DataChanged, wc.InvalidInput)):
        opened(file, None)  # the same size and, set back, the same time


def test_verification_rejects_revisions_that_cannot_be(ledger):
    with opened(TABLE, ledger, name="ages") as curator:
        screen(curator, HERE)
        store = curator.ledger
        account = {"data": {"revision": 3, "fingerprint": "f"}, "reason": "why"}
        store.write("ages", lambda page_: page_.append("data", body=account))
        assert "skips a revision" in verification.verify(store, "ages").reason


def test_a_spend_that_names_an_unrecorded_revision_is_found(ledger):

    with opened(TABLE, ledger, name="ages") as curator:
        price = wc.SensitivePrivacy("1", 5, 1.0, card="c@2")
        curator.ledger.reserve("ages", ChargeRequest("ana", "d", {}, price))
        found = verification.verify(curator.ledger, "ages")
        assert "revision of the data that was not recorded" in found.reason


def test_conditions_of_records_in_memory_and_of_those_that_replace_them_are_two():
    policy = {"notions": ["differential", "sensitive", "conditional"]}
    first = wc.Curator.open(
        TABLE.drop(["ward"]).append_column("sex", [["f", "m", "f", "m"]]),
        card=PEOPLE,
        budget="10",
        policy=policy,
    )
    question = wc.Explain(
        {"age": 90.0, "sex": "m"},
        metric="age",
        attributes=["sex"],
        detector="grubbs",
        epsilon="1/10",
        notion="conditional",
    )
    first.ask(question)
    others = pa.table({"age": [1.0, 2.0, 3.0, 4.0], "sex": ["f", "m", "f", "m"]})
    second = first.advance(others, reason="corrected")
    second.ask(question)
    assert len(second.totals().conditional.conditions) == 2


def test_a_closed_dataset_can_be_opened_again_to_be_looked_at(file, ledger, monkeypatch):
    past = file.stat().st_mtime_ns + 10**12
    with opened(file, ledger) as curator:
        screen(curator, HERE)
        with monkeypatch.context() as broken:
            broken.setattr("whitecrow.curator.execution.type_of", None)
            with pytest.raises(wc.Unavailable):
                screen(curator, THERE)
    # Late enough for the digests of files to be kept: a state that is saved when it is opened.
    monkeypatch.setattr("whitecrow.data.fingerprints.time.time_ns", lambda: past)
    with wc.Curator.open(file, ledger=ledger) as curator:
        assert not screen(curator, HERE).charged
        (failed,) = curator.failures()
        curator.review(failed.seq, reason="looked at")
        assert screen(curator, {"age": 60.0}).charged


def test_promises_to_persons_and_to_records_never_add_up(tmp_path, ledger):
    path = tmp_path / "visits.parquet"
    parquet.write_table(pa.table({"who": ["a", "a", "b"], "age": [10.0, 90.0, 50.0]}), path)
    age, who = wc.Column("age", lower=0, upper=100), wc.Column("who", "text")
    persons = wc.Card("visits", (who, age), unit="user", user_column="who", contribution=2)
    records = wc.Card("visits", (who, age))
    opened(path, ledger, card=records).close()
    with wc.Curator.open(path, ledger=ledger, card=persons) as curator:  # nothing was asked yet
        screen(curator, HERE)
    with pytest.raises(wc.PolicyViolation, match="unit of privacy"):
        wc.Curator.open(path, ledger=ledger, card=records)


def test_a_ledger_that_was_lent_outlives_its_curators():
    # A closed ledger in memory would have forgotten its accounts.
    with Ledger("sqlite://") as lent:
        with wc.Curator.open(TABLE, ledger=lent, name="ages") as curator:
            curator.advance(OTHER, reason="others came").close()
        assert lent.datasets() == ("ages",)


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_an_advanced_curator_and_its_predecessor_share_a_ledger_until_both_are_closed(
    first_to_leave, monkeypatch
):
    before = wc.Curator.open(TABLE, ledger="sqlite://", name="ages")
    both = before, before.advance(OTHER, reason="others came")
    both[first_to_leave].close()
    both[first_to_leave].close()  # twice does no harm
    other = both[1 - first_to_leave]
    assert other.remaining()["differential"] == 1
    closed = []
    monkeypatch.setattr(other.ledger, "close", lambda: closed.append(1))
    other.close()
    assert closed == [1]
