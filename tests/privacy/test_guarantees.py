"""What guarantees say, imply, refuse and add up to."""

import pickle
from dataclasses import dataclass
from fractions import Fraction

import pytest

from whitecrow.errors import InvalidInput, NoConversion, PolicyViolation
from whitecrow.privacy import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Facts,
    SensitivePrivacy,
    ZeroConcentrated,
    Zone,
    at_any_stop,
    at_least_as_strong,
    compose,
    group_privacy,
    to_concentrated,
    to_differential,
    to_protected,
    to_replace_one,
    to_sensitive,
    to_tailored,
    totals,
)
from whitecrow.privacy.numbers import exp_upper

SENSITIVE = SensitivePrivacy.of("0.1", beta=18, k=2, radius=0.148, columns=("bmi", "age"))


def test_sensitive_privacy_depends_on_beta_and_k_only_through_tau():
    assert SensitivePrivacy.of(1, beta=5, k=2, radius=1) == SensitivePrivacy.of(
        1, beta=9, k=6, radius=1
    )
    assert SENSITIVE.tau == 17
    assert SENSITIVE.columns == ("age", "bmi")


@pytest.mark.parametrize("beta", [0, -1, True, 1.5])
def test_beta_below_one_is_refused(beta):
    with pytest.raises(InvalidInput, match="'beta'"):
        SensitivePrivacy.of("0.1", beta=beta, k=1, radius=1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: DifferentialPrivacy(-1),
        lambda: DifferentialPrivacy(1, 1),
        lambda: DifferentialPrivacy(1, 0, "swap"),
        lambda: ZeroConcentrated("x"),
        lambda: SensitivePrivacy(1, 2, float("nan")),
        lambda: SensitivePrivacy(1, 2, -1),
        lambda: SensitivePrivacy(1, 2.5, 1),
        lambda: ConditionalPrivacy(1, " "),
    ],
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InvalidInput):
        wrong()


def test_statements_say_who_is_protected_and_who_is_not():
    assert "Everyone is protected" in DifferentialPrivacy("0.1").statement()
    said = SENSITIVE.statement()
    assert "at least 17 records that pass the card (itself included) within 0.148" in said
    assert "not promised" in said
    assert "nothing is promised" in ConditionalPrivacy("0.1", "it rains").statement()
    assert "rho 0.5" in ZeroConcentrated("1/2").statement()


def test_the_factor_in_words_is_rounded_up():
    assert "1.11 times" in DifferentialPrivacy("0.1").statement()  # e^0.1 = 1.10517...


def test_sensitive_privacy_for_everyone_is_differential_privacy():
    everyone = SensitivePrivacy.of("0.1", beta=3, k=3, radius=1)
    assert at_least_as_strong(everyone, DifferentialPrivacy("0.1"))
    assert everyone.statement() == DifferentialPrivacy("0.1").statement()


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda: to_differential(SENSITIVE), "few neighbours"),
        (lambda: to_differential(ConditionalPrivacy(1, "c")), "condition fails"),
        (lambda: to_differential(ZeroConcentrated(1)), "delta"),
        (lambda: to_concentrated(DifferentialPrivacy(1, "0.01")), "delta above 0"),
        (
            lambda: to_sensitive(DifferentialPrivacy(1, 0, "replace_one"), SENSITIVE.zones),
            "recalibrate",
        ),
        (lambda: group_privacy(ConditionalPrivacy(1, "c"), 2), "no group version"),
        (lambda: compose([ZeroConcentrated(1), SENSITIVE]), "need a delta"),
        (lambda: compose([DifferentialPrivacy(1, 0, "replace_one"), SENSITIVE]), "few neighbours"),
    ],
)
def test_what_does_not_follow_is_refused_with_the_reason(refused, reason):
    with pytest.raises(PolicyViolation, match=reason):
        refused()


def test_a_public_number_of_records_is_no_promise_about_adding_one():
    """Not even where replacing a record changes nothing at all."""
    fixed = ZeroConcentrated(0, "replace_one")
    assert not at_least_as_strong(fixed, DifferentialPrivacy(1))
    assert not at_least_as_strong(fixed, SENSITIVE)
    assert at_least_as_strong(fixed, DifferentialPrivacy(0, 0, "replace_one"))
    assert at_least_as_strong(ZeroConcentrated(0), SENSITIVE)


def test_replacing_is_removing_and_adding():
    found = to_replace_one(DifferentialPrivacy("0.5", "0.001"))
    assert found.epsilon == 1
    assert found.delta >= Fraction("0.001") * (1 + Fraction("1.6487212707"))
    assert to_replace_one(ZeroConcentrated("0.1")).rho == Fraction(4, 10)


def test_sensitive_releases_add_up_at_larger_tau_and_smaller_radius():
    one = SensitivePrivacy("0.1", 3, 1.0)
    two = SensitivePrivacy("0.2", 5, 2.0)
    joint = compose([one, two])
    assert (joint.epsilon, joint.tau, joint.radius) == (Fraction(3, 10), 5, 1.0)


def test_releases_over_different_columns_keep_both_zones():
    one = SensitivePrivacy("0.1", 3, 1.0, columns=("age",))
    two = SensitivePrivacy("0.2", 5, 2.0, columns=("bmi",))
    assert len(compose([one, two]).zones) == 2


def test_one_sensitive_release_makes_the_differential_total_unbounded():
    found = totals([DifferentialPrivacy("0.1"), SENSITIVE])
    assert found.differential is None
    assert found.sensitive.epsilon == Fraction(2, 10)
    assert "no longer covers the total" in found.statements()[0]


def test_one_conditional_release_makes_both_other_totals_unbounded():
    found = totals([DifferentialPrivacy("0.1"), SENSITIVE, ConditionalPrivacy("0.3", "c")])
    assert (found.differential, found.sensitive) == (None, None)
    assert found.conditional.epsilon == Fraction(5, 10)
    assert found.conditional.zones == SENSITIVE.zones


def test_concentrated_releases_spend_one_delta_together():
    parts = [ZeroConcentrated("0.1")] * 4
    joint = compose([*parts, DifferentialPrivacy("0.1", "1/1000")], delta=Fraction(1, 10**6))
    assert joint.delta == Fraction(1, 1000) + Fraction(1, 10**6)
    alone = at_any_stop(ZeroConcentrated("0.4"), Fraction(1, 10**6))
    assert joint.epsilon == alone.epsilon + Fraction(1, 10)


def test_group_privacy_multiplies():
    assert group_privacy(DifferentialPrivacy("0.1"), 3).epsilon == Fraction(3, 10)
    assert group_privacy(ZeroConcentrated("0.1"), 3).rho == Fraction(9, 10)
    assert group_privacy(SENSITIVE, 2).epsilon == Fraction(2, 10)


def test_nothing_released_costs_nothing():
    assert compose([]).epsilon == 0


def test_facts_show_nothing_and_travel_nowhere():
    @dataclass(frozen=True, repr=False, eq=False)
    class Secret(Facts):
        value: int

    secret = Secret(424242)
    for shown in (repr(secret), str(secret), f"{secret}", "%s" % secret):  # noqa: UP031
        assert shown == "<facts withheld>"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        list(secret)
    with pytest.raises(TypeError):
        secret == secret  # noqa: B015


@pytest.mark.parametrize("epsilon", ["1/10", "1", "7", "10", "12", "19.99", "20"])
def test_the_factor_in_a_statement_is_never_below_the_true_one(epsilon):
    said = DifferentialPrivacy(epsilon).statement()
    factor = Fraction(said.partition("at most ")[2].split()[0].replace(",", ""))
    true = exp_upper(Fraction(epsilon))
    assert true <= factor < true + max(Fraction(1, 100), true / 500)


@pytest.mark.parametrize("radius", [0.148, 2.0, 0.12345649, 1234567.5, 1 / 3])
def test_a_statement_names_the_very_radius_of_the_promise(radius):
    said = SensitivePrivacy("1", 3, radius).statement()
    assert float(said.partition("within ")[2].split()[0]) == radius


@pytest.mark.parametrize("convert", [to_replace_one, lambda given: group_privacy(given, 3)])
def test_a_delta_that_grows_past_one_is_refused_at_once(convert):
    """Also where e^epsilon has more digits than there is memory."""
    for epsilon in ("10", "1e12"):
        with pytest.raises(InvalidInput, match="delta"):
            convert(DifferentialPrivacy(epsilon, "1/1000"))
    assert convert(DifferentialPrivacy("1/10", "1/1000")).delta < Fraction(1, 250)


def test_an_uncovered_record_is_promised_epsilon_times_its_distance():
    sensitive = SensitivePrivacy("1/10", 17, 0.148)
    assert to_tailored(sensitive, 1) == Fraction(1, 10)
    assert to_tailored(sensitive, 7) == Fraction(7, 10)
    assert to_tailored(DifferentialPrivacy("1/10"), None) == Fraction(1, 10)
    assert to_tailored(SensitivePrivacy("1/10", 1, 1.0), None) == Fraction(1, 10)
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(InvalidInput):
            to_tailored(sensitive, wrong)
    for guarantee, distance in (
        (sensitive, None),
        (SensitivePrivacy("1/10", 17, 0.148, delta="1e-6"), 1),
        (DifferentialPrivacy("1/10", "1e-6"), 1),
        (DifferentialPrivacy("1/10", unit="replace_one"), 1),
        (ConditionalPrivacy("1/10", "it rains"), 1),
    ):
        with pytest.raises(NoConversion):
            to_tailored(guarantee, distance)


def test_a_public_population_is_protected_where_everyone_is():
    found = to_protected(DifferentialPrivacy("1/10"), "the nurses")
    assert "one of the nurses" in found.statement()
    with pytest.raises(NoConversion):
        to_protected(SensitivePrivacy("1/10", 17, 0.148), "the nurses")


@pytest.mark.parametrize(
    ("guarantee", "says"),
    [
        (SensitivePrivacy("1/10", 17, 0.148), "has 2m + 1 times this ε."),
        (SensitivePrivacy("1/10", 17, 0.0), "than that are promised nothing."),
        (SensitivePrivacy("1/10", 17, 1.0, delta="1e-6"), "are not promised this."),
        (
            SensitivePrivacy("1/10", 17, 1.0, "euclidean where a record within 1.0 counts 3"),
            "are not promised this.",
        ),
        (
            SensitivePrivacy("1/10", 2, 0.0, "weighed by the model pair {}"),
            "are not promised this.",
        ),
        (
            SensitivePrivacy("1/10", 17, 1.0, and_also=(Zone(3, 1.0, "manhattan"),)),
            "are not promised this.",
        ),
    ],
)
def test_a_statement_says_what_is_known_of_the_others(guarantee, says):
    assert guarantee.statement().endswith(says)
