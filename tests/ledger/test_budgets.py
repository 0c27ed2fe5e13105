"""Budgets: exact sums, two caps, and what may be written as a price."""

from __future__ import annotations

from fractions import Fraction

import pytest
from charges import charge, order, spent

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger


def test_budgets_are_met_exactly_and_not_exceeded_by_anything(ledger: Ledger) -> None:
    for digest in "abc":
        charge(ledger, order(digest))
    with pytest.raises(wc.BudgetExhausted, match="short by 1/1000000000000"):
        charge(ledger, order("d", wc.DifferentialPrivacy("0.250000000001")))
    charge(ledger, order("d"))
    assert spent(ledger) == 1
    with pytest.raises(wc.BudgetExhausted) as refused:
        charge(ledger, order("e", wc.DifferentialPrivacy("1e-50")))
    assert refused.value.remaining == "0"


def test_thirds_and_sevenths_add_up_without_rounding(ledger: Ledger) -> None:
    for place, price in enumerate(["1/3", "1/7", "1/7", "8/21"]):
        charge(ledger, order(str(place), wc.DifferentialPrivacy(price)))
    assert spent(ledger) == 1


def test_sums_stay_exact_and_short_whatever_fractions_an_analyst_chooses(ledger: Ledger) -> None:
    ledger.amend("clinic", budget=Budget.of("10"), reason="room")
    true, far = Fraction(0), Fraction(0)
    for number in range(1, 1000, 2):
        price = Fraction(1, 1001 - number)
        place = None if number % 4 == 1 else float(10 * number)
        true, far = (true, max(far, price)) if place else (true + price, far)
        charge(ledger, order(str(number), wc.DifferentialPrivacy(price), place=place))
    standing = ledger.snapshot("clinic").spent
    assert (standing.epsilon, standing.located.differential) == (true, far)
    assert len(str(standing.to_json())) < 2000


def test_a_batch_that_exactly_fits_is_never_refused(ledger: Ledger) -> None:
    for number in range(997):
        charge(ledger, order(str(number), wc.DifferentialPrivacy(Fraction(1, 997))))
    assert spent(ledger) == 1


def test_a_fraction_whose_sums_would_grow_is_refused_before_anything_is_spent(
    ledger: Ledger,
) -> None:
    before = ledger.snapshot("clinic")
    odd = order("a", wc.DifferentialPrivacy(Fraction(1, 10_007)))
    for ask in (lambda: ledger.reserve("clinic", odd), lambda: ledger.quote("clinic", [odd])):
        with pytest.raises(wc.InvalidInput, match=r"up to 5000\. Got 1/10007; write 999300489657"):
            ask()
    assert ledger.snapshot("clinic") == before


def test_the_tighter_of_two_caps_rules(ledger: Ledger) -> None:
    ledger.allow("clinic", "ana", Budget.of("1/4"), reason="a share")
    charge(ledger, order("a"))
    with pytest.raises(wc.BudgetExhausted, match="Analyst 'ana'"):
        charge(ledger, order("b"))
    for digest in "bcd":
        charge(ledger, order(digest, analyst="bo"))
    with pytest.raises(wc.BudgetExhausted, match="The dataset"):
        charge(ledger, order("e", analyst="bo"))
    ledger.allow("clinic", "ana", None, reason="lifted")
    ledger.amend("clinic", budget=Budget.of("2"), reason="voted")
    charge(ledger, order("e"))
    assert ledger.snapshot("clinic").shares["ana"].spent.epsilon == Fraction(1, 2)


def test_delta_and_rho_have_their_caps(ledger: Ledger) -> None:
    with pytest.raises(wc.BudgetExhausted, match="delta") as refused:
        charge(ledger, order("a", wc.DifferentialPrivacy("1/10", "1e-7")))
    assert "1, 1e-6" in str(refused.value)
    with pytest.raises(wc.BudgetExhausted, match="not enough delta left: half"):
        charge(ledger, order("a", wc.ZeroConcentrated("1/1000")))
    ledger.amend("clinic", budget=Budget.of("1, 1e-6"), reason="a little delta")
    charge(ledger, order("a", wc.DifferentialPrivacy("1/10", "1e-7")))
    charge(ledger, order("b", wc.ZeroConcentrated("1/1000")))
    before = spent(ledger)
    charge(ledger, order("c", wc.ZeroConcentrated("1/1000")))
    # Concentrated releases are read once, as a sum: the second costs less than the first.
    assert 0 < spent(ledger) - before < before - Fraction(1, 10)
    with pytest.raises(wc.BudgetExhausted, match="short by"):
        charge(ledger, order("d", wc.ZeroConcentrated("1")))
    with pytest.raises(wc.BudgetExhausted):  # would leave no delta to read the others at
        charge(ledger, order("d", wc.DifferentialPrivacy("1/1000", "9e-7")))


def test_caps_of_single_lines_hold() -> None:
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of({"epsilon": "1", "differential": "1/4"}))
        charge(ledger, order("a"))
        with pytest.raises(wc.BudgetExhausted, match="differential budget"):
            charge(ledger, order("b"))
        charge(ledger, order("b", wc.SensitivePrivacy("3/4", 5, 1.0)))
        assert ledger.snapshot("clinic").spent.unbounded("differential")


def test_units_do_not_mix_by_accident() -> None:
    replace_one = wc.DifferentialPrivacy("1/4", unit="replace_one")
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        with pytest.raises(wc.PolicyViolation, match="adding or removing"):
            charge(ledger, order("a", replace_one))
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of("1"), unit="replace_one")
        charge(ledger, order("a", replace_one))
        charge(ledger, order("b"))  # a quarter for coming or going is a half for replacing
        assert spent(ledger) == Fraction(3, 4)
        with pytest.raises(wc.PolicyViolation):
            charge(ledger, order("c", wc.SensitivePrivacy("1/10", 5, 1.0)))


def test_bad_budgets_are_named() -> None:
    for bad, words in (
        ("-1", "Got '-1'"),
        ("one", "Got 'one'"),
        (("1", "2", "3", "4"), "an epsilon"),
        ("1, 1e-6, both", "'sum' or 'either'"),
        ("1, 0, either", "above 0"),
        ({"sensitive": 1}, "for each line"),
        ({"epsilon": 1, "rho": 2}, "'rho'"),
        ("1, 2", "below 1"),
    ):
        with pytest.raises(wc.InvalidInput, match=words):
            Budget.of(bad)


def test_prices_that_people_write_are_plain_and_their_sums_stay_writable(ledger: Ledger) -> None:
    """A share of a budget among a file of records has a denominator of some thousands."""
    ledger.open("wide", budget=Budget.of("1"))
    for number, parts in enumerate((3000, 1132, 4999, 4993, 4987, 4973)):
        price = wc.DifferentialPrivacy(Fraction(1, parts))
        ledger.reserve("wide", ChargeRequest("ana", f"wide {number}", {}, price))
    spent = ledger.snapshot("wide").spent.epsilon
    assert spent == sum(Fraction(1, parts) for parts in (3000, 1132, 4999, 4993, 4987, 4973))
    odd = wc.DifferentialPrivacy(Fraction(1, 5003))
    with pytest.raises(wc.InvalidInput, match="denominator up to 5000"):
        ledger.reserve("wide", ChargeRequest("ana", "odd", {}, odd))
