"""Accounts that go on while either the sum of epsilon fits or that of rho."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random

import pytest

import whitecrow as wc
from whitecrow.errors import AccountConflict
from whitecrow.ledger import LINES, Budget, Ledger
from whitecrow.ledger.account import Account, Located, admit, how_many
from whitecrow.ledger.acts import in_force
from whitecrow.ledger.verification import checkpoint, verify
from whitecrow.place.balls import BALLS
from whitecrow.privacy import Guarantee

from .charges import charge, order, spent

SMALL = wc.DifferentialPrivacy("0.01")
DELTA = Fraction(1, 10**6)


def test_a_thousand_screens_cost_what_the_page_says():
    account = Account().counting(Budget.of("1.6, 1e-6, either"), 1)
    for _ in range(1000):
        account = account.with_release(SMALL)
    assert account.epsilon == 10
    assert 1.55 < float(account.spent("differential", DELTA)) < 1.57
    total = account.totals(DELTA).differential
    assert (total.epsilon, total.delta) == (account.spent("differential", DELTA), DELTA)
    fixed = wc.privacy.to_approximate(wc.ZeroConcentrated("0.05"), DELTA)
    assert 1.71 < float(fixed.epsilon) < 1.72


@pytest.mark.parametrize(("cap", "many"), [("1", 433), ("3", 3344)])
def test_how_many_fit(cap: str, many: int):
    budget = Budget.of(f"{cap}, 1e-6, either")
    account = Account().counting(budget, 1)
    assert how_many([(account, budget)], SMALL, located=False) == many
    assert how_many([(account, budget)], SMALL, located=True) == many
    for _ in range(many):
        account = admit(account, budget, SMALL, None, whose="The dataset")
    with pytest.raises(wc.BudgetExhausted, match="differential budget") as refused:
        admit(account, budget, SMALL, None, whose="The dataset")
    # What was requested and what is left are those of the rule that says less.
    asked_for, left = (Fraction(getattr(refused.value, n)) for n in ("requested", "remaining"))
    assert left < asked_for < SMALL.epsilon
    # A smaller one fits, as large as is said, and no larger.
    fits = account.to_spend(budget, "differential")
    assert Fraction(1, 1000) < fits < SMALL.epsilon
    admit(account, budget, wc.DifferentialPrivacy(fits), None, whose="The dataset")
    more = wc.DifferentialPrivacy(fits + Fraction(1, 10**10))
    with pytest.raises(wc.BudgetExhausted):
        admit(account, budget, more, None, whose="The dataset")


# The rule once more, written apart: floats, from scratch at every step


@dataclass
class Apart:
    """What was released, and what the proof says of it."""

    caps: dict[str, float]
    delta: float
    released: list[tuple[str, float, float, float, int | None, bool]] = field(default_factory=list)
    before: dict[str, float] | None = None

    def begins(self) -> None:
        """From here on releases count by either rule; what was spent is certain."""
        self.before = {line: self.sums(line) for line in LINES}
        self.released = [(*one[:5], True) for one in self.released]

    def counted(self, line: str) -> list[tuple[str, float, float, float, int | None, bool]]:
        ranks = {"everyone": 0, "sensitive": 1, "conditional": 2}
        return [one for one in self.released if ranks[one[0]] <= LINES.index(line)]

    def sums(self, line: str) -> float:
        depths = [0.0, 0.0, 0.0]
        total = 0.0
        for _, epsilon, _, _, place, _ in self.counted(line):
            if place is None:
                total += epsilon
            else:
                depths[place] += epsilon
        return total + max(depths)

    def bound(self, line: str, *, by_point: bool = False) -> float:
        """The least over the orders; by point: each release of each point at its own price."""
        assert self.before is not None
        chosen = self.best(self.caps[line], self.delta / 4)
        weights = [(2**power, 1 / 22) for power in range(11)] + [(chosen, 1 / 2)]
        values = []
        for lam, weight in weights:
            total, depths, costs, most = self.before[line], [0.0] * 3, [0.0] * 3, 0.0
            for _, epsilon, _, rho, place, earlier in self.counted(line):
                cost = (1 + lam) * rho or min(epsilon, (1 + lam) * epsilon**2 / 2)
                if place is not None:
                    depths[place] += epsilon
                    most = most if earlier else max(most, epsilon)
                    costs[place] += 0 if earlier else cost
                elif not earlier:
                    total += cost
            places = min(1, (1 + lam) * most / 2) * max(depths)
            total += max(costs) if by_point else places
            values.append(total + self.penalty(lam, weight * self.delta / 2))
        return min(values)

    @staticmethod
    def penalty(lam: int, delta: float) -> float:
        log_c = lam * math.log(lam) - (1 + lam) * math.log(1 + lam)
        return max(0.0, (log_c - math.log(delta)) / lam)

    @classmethod
    def best(cls, cap: float, delta: float) -> int:
        orders = [*range(1, 8)]
        orders += [eighths * 2**power for power in range(7) for eighths in range(8, 16)]
        return max(orders, key=lambda lam: (cap - cls.penalty(lam, delta)) / (1 + lam))

    def fits(self) -> tuple[bool, float]:
        """Whether all lines are within their caps, and how near the nearest is to its own."""
        told = sum(one[2] for one in self.released)
        if told > self.delta / (2 if self.before is not None else 1) * (1 + 1e-12):
            return False, 1.0
        gaps = []
        concentrated = any(one[3] for one in self.released)
        for line in LINES:
            said = math.inf if concentrated else self.sums(line)
            if self.before is not None and said > self.caps[line] - 1e-6:
                said = min(said, self.bound(line))
            gaps.append(self.caps[line] - said)
        return min(gaps) >= -1e-12, min(map(abs, gaps))


def _random_price(random: Random, begun: bool) -> tuple[Guarantee, str, int | None]:
    epsilon = Fraction(random.choice((1, 2, 3, 5, 8, 20)), random.choice((50, 100, 300, 1000)))
    kind = random.choices(
        ("pure", "located", "sensitive", "placed", "conditional", "approximate", "concentrated"),
        (4, 4, 1, 1, 1, 1, 1 if begun else 0),
    )[0]
    place = random.randrange(3) if kind in ("located", "placed") else None
    if kind in ("sensitive", "placed"):
        return wc.SensitivePrivacy(epsilon, 5, 1.0), "sensitive", place
    if kind == "conditional":
        return wc.ConditionalPrivacy(epsilon, "it stays"), "conditional", None
    if kind == "approximate":
        return wc.DifferentialPrivacy(epsilon, "1e-4"), "everyone", None
    if kind == "concentrated":
        return wc.ZeroConcentrated(epsilon**2), "everyone", None
    return wc.DifferentialPrivacy(epsilon), "everyone", place


def _compared(seed: int) -> tuple[int, int]:
    """Ask until five were refused; return how many were answered and how many beyond the sum."""
    random = Random(seed)
    caps = sorted(Fraction(random.randrange(3, 20), 10) for _ in LINES)
    caps = caps if random.random() < 0.5 else caps[:1] * 3
    delta = Fraction(1, random.choice((10**6, 1000, 100)))
    late = random.randrange(8) if random.random() < 0.3 else 0
    plain = Budget(*caps, delta)
    budget = plain if late else replace(plain, count_by="either")
    account = Account().counting(budget, 1)
    apart = Apart(dict(zip(LINES, map(float, caps), strict=True)), float(delta))
    if not late:
        apart.begins()
    depths = {line: [Fraction(0)] * 3 for line in ("differential", "sensitive")}
    answered = beyond = refused = 0
    for step in range(60):
        if late and step == late and account.delta <= delta / 2:
            account, budget = in_force(account, replace(plain, count_by="either"), step)
            apart.begins()
        price, line, place = _random_price(random, apart.before is not None)
        extra, deeper = None, depths
        if place is not None:
            deeper = {name: list(there) for name, there in depths.items()}
            for name in ("sensitive",) if line == "sensitive" else deeper:
                deeper[name][place] += price.epsilon
            extra = Located(*(max(deeper[name]) - max(depths[name]) for name in depths))
        epsilon, told = (float(getattr(price, name, 0)) for name in ("epsilon", "delta"))
        rho = float(getattr(price, "rho", 0))
        apart.released.append((line, epsilon, told, rho, place, False))
        expected, gap = apart.fits()
        try:
            grown = admit(account, budget, price, extra, whose="it")
        except wc.BudgetExhausted:
            assert not expected or gap < 1e-9, seed
            apart.released.pop()
            refused += 1
            if refused == 5:
                break
            continue
        assert expected or gap < 1e-9, seed
        account, depths = grown, deeper
        answered += 1
        beyond += any(apart.sums(line) > apart.caps[line] for line in LINES)
    if apart.before is not None:
        for line in LINES:
            least = apart.bound(line, by_point=True)
            if not account.rho:
                least = min(least, apart.sums(line))
            assert account.spent(line, delta) >= least - 1e-9
    return answered, beyond


def _sequences(seeds: range) -> None:
    answered, beyond = map(sum, zip(*map(_compared, seeds), strict=True))
    assert answered > 10 * len(seeds)
    assert beyond > len(seeds) / 2


def test_an_account_goes_on_exactly_as_long_as_the_proof_allows():
    _sequences(range(80))


@pytest.mark.study
@pytest.mark.parametrize("thousand", range(10))
def test_ten_thousand_accounts_go_on_exactly_as_long_as_the_proof_allows(thousand: int):
    _sequences(range(1000 * thousand, 1000 * (thousand + 1)))


# Through the ledger: the chain, its check, budgets that change


def until_refused(ledger: Ledger, analyst: str) -> int:
    """How many small questions of an analyst are answered."""
    for asked in range(10_000):
        try:
            charge(ledger, order(f"{analyst} {asked}", SMALL, analyst=analyst))
        except wc.BudgetExhausted:
            return asked
    raise AssertionError("none was refused")


@pytest.fixture
def either() -> Ledger:
    with Ledger("sqlite://", geometry=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("1, 1e-6, either"))
        yield ledger


def test_places_count_by_the_balls_that_hold_a_point(either: Ledger):
    for number in range(150):  # two places, far apart: each is asked about 75 times
        charge(either, order(f"at {number}", SMALL, place=100.0 * (number % 2)))
    shared = spent(either)
    assert either.snapshot("clinic").spent.located.differential == Fraction("0.75")
    for number in range(250):  # one place alone
        charge(either, order(f"there {number}", SMALL, place=0.0))
    account = either.snapshot("clinic").spent
    assert account.located.differential == Fraction("3.25")
    assert shared < Fraction(1, 2) < spent(either) < 1
    same = Account().counting(Budget.of("1, 1e-6, either"), 1)
    for _ in range(325):
        same = same.with_release(SMALL)
    assert abs(spent(either) - same.spent("differential", DELTA)) < Fraction(1, 10**18)
    # A large one there makes all of them large; somewhere else it does so too.
    with pytest.raises(wc.BudgetExhausted):
        charge(either, order("large", place=0.0))
    assert verify(either, "clinic", geometry=BALLS, full=True).ok


def test_what_is_given_back_is_given_back_by_both_rules(either: Ledger):
    charge(either, order("first", SMALL))
    before = either.snapshot("clinic").spent
    held = charge(either, order("second", wc.DifferentialPrivacy("1/7")))
    assert either.snapshot("clinic").spent != before
    either.void("clinic", held.seq, reason="interrupted")
    assert either.snapshot("clinic").spent == before
    assert verify(either, "clinic", full=True).ok


def test_half_of_delta_is_set_aside_from_the_beginning(either: Ledger):
    with pytest.raises(wc.BudgetExhausted, match="half of the cap on delta"):
        charge(either, order("a", wc.DifferentialPrivacy("1/10", "6e-7")))
    charge(either, order("a", wc.DifferentialPrivacy("1/10", "5e-7")))
    assert either.snapshot("clinic").remaining().delta == 0


def test_an_account_that_was_opened_otherwise_may_begin_later():
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of("1, 1e-6"))
        for number in range(50):
            charge(ledger, order(f"sum {number}", SMALL))
        early = charge(ledger, order("early", wc.DifferentialPrivacy("1/20")))
        written = ledger.snapshot("clinic").spent.to_json()
        assert "renyi" not in written
        ledger.amend("clinic", budget=Budget.of("1, 1e-6, either"), reason="more answers")
        # What was spent before is certain and stays a sum; what comes has the rest of the cap.
        assert spent(ledger) == Fraction("0.55")
        # The order is best for the whole cap, so not quite what a cap of what is left would hold.
        assert 45 < until_refused(ledger, "ana") < 100
        ledger.void("clinic", early.seq, reason="interrupted")  # counted before: it stays certain
        assert ledger.snapshot("clinic").spent.renyi.losses[0][0] > 0
        assert verify(ledger, "clinic", full=True).ok
        # Another cap keeps the rule; it cannot be left.
        ledger.amend("clinic", budget=Budget.of("2, 1e-6"), reason="voted")
        assert ledger.snapshot("clinic").budget.count_by == "either"
        assert checkpoint(ledger, "clinic", least=1).ok
        charge(ledger, order("later", SMALL))
        assert verify(ledger, "clinic").ok
        assert verify(ledger, "clinic", full=True).ok


def test_an_account_that_has_spent_its_delta_cannot_begin():
    with Ledger("sqlite://") as ledger:
        ledger.open("clinic", budget=Budget.of("1, 1e-6"))
        charge(ledger, order("a", wc.DifferentialPrivacy("1/10", "6e-7")))
        with pytest.raises(AccountConflict, match="half of delta is set aside"):
            ledger.amend("clinic", budget=Budget.of("1, 1e-6, either"), reason="more answers")
        assert ledger.snapshot("clinic").budget.count_by == "sum"


def test_beside_concentrated_releases_no_order_is_chosen_late():
    begun = Account().with_release(wc.ZeroConcentrated("1/100"))
    late = begun.counting(Budget.of("1, 1e-6, either"), 2)
    assert late.renyi.chosen == (0, 0, 0)
    # It says what it said, and a pure release adds at most what it did.
    assert abs(late.spent("differential", DELTA) - begun.spent("differential", DELTA)) < Fraction(
        1, 10**18
    )
    both = [one.with_release(SMALL).spent("differential", DELTA) for one in (late, begun)]
    assert both[0] < both[1]


def test_an_analyst_may_have_a_cap_of_either_kind(either: Ledger):
    either.allow("clinic", "ana", Budget.of("1/2, 1e-6, either"), reason="a share")
    either.allow("clinic", "bo", Budget.of("1/2, 1e-6"), reason="a share")
    for analyst, more in (("bo", 50), ("ana", 117)):
        assert until_refused(either, analyst) == more
    either.allow("clinic", "ana", None, reason="lifted")
    either.allow("clinic", "ana", Budget.of("2/3, 1e-6"), reason="less")
    assert either.snapshot("clinic").shares["ana"].budget.count_by == "either"
    assert verify(either, "clinic", full=True).ok
