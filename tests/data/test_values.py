"""What the values of each type mean: exactly, and whatever surrounds them."""

import random
from decimal import Decimal

import numpy as np
import pandas
import pyarrow as pa
import pytest

from whitecrow.data import Card, Column, read
from whitecrow.data.columns import exact_ids
from whitecrow.data.fingerprints import RowFingerprint
from whitecrow.data.values import (
    days,
    decoded,
    number_or_none,
    numbers,
    plain_text,
    text_array,
    texts,
)


@pytest.mark.parametrize(
    "arrow",
    [
        *(pa.decimal32(9, 2), pa.decimal64(18, 6), pa.decimal128(15, 2), pa.decimal128(38, 0)),
        *(pa.decimal128(38, 10), pa.decimal128(38, 22), pa.decimal128(38, 23)),
        *(pa.decimal128(30, -5), pa.decimal256(76, 2), pa.decimal256(76, 40)),
    ],
    ids=str,
)
def test_a_decimal_is_the_nearest_double(arrow):
    rng = random.Random(4)
    steps = [
        rng.randrange(-(10 ** rng.randint(1, arrow.precision)), 10**arrow.precision)
        for _ in range(2000)
    ]
    exact = [Decimal(f"{step}e{-arrow.scale}") for step in steps]
    array = pa.array([None, *exact], arrow).slice(1)
    assert numbers(array).tobytes() == np.array([float(one) for one in exact]).tobytes()


def test_whole_numbers_beyond_the_doubles_are_the_nearest_ones():
    values = [2**64 - 1, 2**53 + 1, 2**63 + 1025, 2**53 - 1]
    assert numbers(pa.array(values, pa.uint64())).tolist() == [float(value) for value in values]
    values = [-(2**63), 2**63 - 1, 2**53 + 3]
    assert numbers(pa.array(values, pa.int64())).tolist() == [float(value) for value in values]


def test_what_arrow_reads_of_a_text_python_reads_alike():
    """So that one text which Arrow cannot read, and Python then reads them all, changes nothing."""
    rng = random.Random(9)
    pieces = [
        "0",
        "1",
        "9",
        "12",
        ".",
        "e",
        "E",
        "-",
        "+",
        "_",
        " ",
        "inf",
        "nan",
        "INF",
        "(",
        ")",
        "x",
        "ity",
        "00",
    ]
    drawn = ["".join(rng.choices(pieces, k=rng.randint(1, 7))) for _ in range(20_000)]
    drawn += [f"{rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 308)!r}" for _ in range(5000)]
    read_alike = 0
    for text in drawn:
        try:
            value = pa.array([text]).cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            continue
        expected = number_or_none(text)
        expected = np.array([np.nan if expected is None else expected])
        assert np.array_equal(value, expected, equal_nan=True), text
        assert np.signbit(value) == np.signbit(expected) or np.isnan(value)
        read_alike += 1
    assert read_alike > 6000


A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@pytest.mark.parametrize("unit", A_DAY)
@pytest.mark.parametrize(
    "zone", [None, "UTC", "Europe/Berlin", "Asia/Kolkata", "-11:00", "No/Where"]
)
def test_a_moment_is_of_the_day_before_until_midnight_in_utc(unit, zone):
    """Rounded down, before 1970 too; neither the zone of the column nor that of the process."""
    each = A_DAY[unit]
    ticks = [-1, 0, each - 1, each, -each, -each - 1, 2**63 - 1, -(2**63)]
    array = pa.array(ticks, pa.int64()).view(pa.timestamp(unit, zone))
    found = days(array).tolist()
    assert found[:6] == [-1, 0, 0, 1, -1, -2]
    assert unit == "ns" or np.isnan(found[6:]).all()
    written = texts(array).to_pylist()
    assert written[0].startswith("1969-12-31 23:59:59")
    assert written[0].endswith("Z") == (zone is not None)
    assert unit == "ns" or written[6:] == [None, None]


def test_dates_of_milliseconds_are_rounded_down_and_far_ones_are_missing():
    array = pa.array([-1, 0, 86_399_999, 2**62, None], pa.int64()).view(pa.date64())
    assert days(array).tolist()[:3] == [-1, 0, 0]
    assert np.isnan(days(array)[3:]).all()
    assert texts(array).to_pylist() == ["1969-12-31", "1970-01-01", "1970-01-01", None, None]
    far = pa.array([2**31 - 1, -(2**31), 0], pa.int32()).view(pa.date32())
    assert texts(far).to_pylist() == [None, None, "1970-01-01"]


@pytest.mark.parametrize("arrow", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_floats_have_one_zero_one_nan_and_one_text(arrow):
    values = np.array([0.0, -0.0, np.nan, 2004.0, 0.5, np.inf]).astype(arrow.to_pandas_dtype())
    array = pa.array(values, from_pandas=False)
    assert numbers(array).view(np.int64)[0] == numbers(array).view(np.int64)[1] == 0
    assert texts(array).to_pylist() == ["0", "0", None, "2004", "0.5", "inf"]
    card = Card("c", (Column("v", "category", categories=("0", "2004")),))
    assert read(pa.table({"v": array}), card).values("v").tolist() == [0, 0, 1]


def test_whole_numbers_with_one_missing_are_days_as_they_are_without(tmp_path):
    """Pandas makes floats of them."""
    card = Card("c", (Column("v", "date"),))
    for values in ([1, 2], [1, 2, None], [1, 2, 2.5, 1e300, float("inf")]):
        assert read(pandas.DataFrame({"v": values}), card).values("v").tolist() == [1, 2]


def test_a_signalling_nan_is_missing_and_tells_nobody():
    """Warnings are errors here: numpy tells of an operation on such a number."""
    for width, bits in ((np.uint64, 0x7FF0000000000001), (np.uint32, 0x7F800001)):
        values = np.array([bits], width).view({8: np.float64, 4: np.float32}[width().itemsize])
        table = pa.table(
            {
                "v": pa.concat_arrays(
                    [
                        pa.array(values, from_pandas=False),
                        pa.array([2], pa.from_numpy_dtype(values.dtype)),
                    ]
                )
            }
        )
        for column in (Column("v"), Column("v", "integer", lower=0, upper=9, outside="clip")):
            assert read(table, Card("c", (column,))).values("v").tolist() == [2.0]
        RowFingerprint().add(table.to_batches()[0])


def test_texts_that_are_no_unicode_are_missing():
    assert text_array(["a", "\ud800", None, "\udfff\ud800"]).to_pylist() == ["a", None, None, None]
    octets = pa.array([b"ok", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", None])
    unseen = pa.Array.from_buffers(pa.string(), 5, octets.buffers())
    assert decoded(unseen).to_pylist() == ["ok", None, None, None, None]
    assert decoded(unseen.dictionary_encode()).to_pylist() == ["ok", None, None, None, None]


class Unwritable:
    def __str__(self):
        raise RuntimeError("4711")


def test_objects_of_any_kind_are_read_one_by_one():
    odd = [
        Decimal("sNaN"),
        10**5000,
        "\ud800",
        Unwritable(),
        b"\xff",
        None,
        float("nan"),
        pandas.NA,
        pandas.NaT,
    ]
    for value in odd:
        frame = pandas.DataFrame({"v": pandas.Series([1, value, 2.5, "3"], dtype=object)})
        found = read(frame, Card("c", (Column("v"),)))
        assert found.values("v").tolist() == [1, 2.5, 3], type(value)
    for value in odd[2:5]:
        mixed = pandas.DataFrame({"v": pandas.Categorical([1, value, 2.5, "3"])})
        assert read(mixed, Card("c", (Column("v"),))).values("v").tolist() == [1, 2.5, 3]
    assert float(plain_text(10**5000)) == np.inf
    written = {True: "true", np.float32(0.5): "0.5", 7: "7", b"\xff": "\\xff", 2004.0: "2004"}
    assert {value: plain_text(value) for value in written} == written
    assert [plain_text(value) for value in (-0.0, None, float("nan"))] == ["0", None, None]


def test_a_long_id_takes_no_longer_than_its_length():
    ids = pa.array(["0" * 200_000 + "x", "0" * 200_000 + "7", " +07.00 ", "-0", "7" * 5000])
    whole = exact_ids(ids, Column("v", "integer")).to_pylist()
    assert whole == [None, "7", "7", "0", "7" * 5000]


def marked(array):
    mark = RowFingerprint()
    mark.add(pa.record_batch({"v": array}))
    return mark.text()


def test_a_mark_tells_units_zones_and_types_apart():
    ticks = pa.array([1, 2], pa.int64())
    kinds = [pa.timestamp(unit, zone) for unit in A_DAY for zone in (None, "UTC", "Asia/Kolkata")]
    kinds += [pa.date64(), pa.duration("s"), pa.duration("ms"), pa.time64("us"), pa.int64()]
    arrays = [ticks.view(kind) for kind in kinds]
    arrays += [pa.array([1, 2], pa.int32()).view(kind) for kind in (pa.date32(), pa.time32("s"))]
    arrays += [pa.array([True, False]), pa.array([1, 0])]
    marks = [marked(array) for array in arrays]
    assert len(set(marks)) == len(marks)


def test_no_value_of_any_type_makes_a_mark_fail():
    far = pa.array([2**63 - 1, -(2**63), None], pa.int64())
    octets = pa.array([b"ok", b"\xff", None])
    unseen = pa.Array.from_buffers(pa.string(), 3, octets.buffers())
    arrays = [
        far.view(kind)
        for kind in (pa.timestamp("s"), pa.date64(), pa.time64("ns"), pa.duration("s"))
    ]
    arrays += [unseen, octets, unseen.dictionary_encode(), pa.nulls(3)]
    arrays += [pa.array([(2**31 - 1, 0, -(2**63)), None, (1, 2, 3)], pa.month_day_nano_interval())]
    for array in arrays:
        listed = pa.ListArray.from_arrays([0, 2, 2, 3], array)
        nested = pa.StructArray.from_arrays([array, listed], ["a", "b"])
        for each in (array, listed, nested):
            assert marked(each) == marked(pa.concat_arrays([each, each]).slice(3))
            same = each.take(pa.array([0, 0, 0]))
            assert marked(each) != marked(same) or array.null_count == 3


def test_one_moment_is_one_text_in_every_unit():
    moments = {
        "1970-01-01 00:00:00": 0,
        "1970-01-01 00:00:10.5": 10_500,
        "2001-09-09 01:46:40": 10**12,
    }
    for unit, factor in (("ms", 1), ("us", 1000), ("ns", 1_000_000)):
        array = pa.array([ms * factor for ms in moments.values()], pa.int64())
        for zone, tail in ((None, ""), ("UTC", "Z"), ("America/New_York", "Z")):
            written = texts(array.view(pa.timestamp(unit, zone))).to_pylist()
            assert written == [text + tail for text in moments]
