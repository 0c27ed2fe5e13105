"""What the ledger keeps and hands out: sums, and entries bound in a chain.

The running sums of an account follow docs/mechanisms.md 6: one rule (a joint release keeps the sum
of the budgets on the intersection of the edge sets) applied to sums that can be kept up to date
entry by entry, and that `verify` recomputes from the entries alone. Zones are intersected and
notions converted by :mod:`whitecrow.privacy`; tests compare every line with
:func:`whitecrow.privacy.totals` and with brute force.

Spatial accounting. A *located* question (identify, screen) depends only on the records of one ball.
A person is one record, so what it can lose is the sum over the balls it lies in
(docs/mechanisms.md 10.2). How much one more ball adds to the largest such sum is computed from the
questions alone by the geometry that the ledger is given; the account adds up what that says.

Entries. An account is a list of entries that only grows. Each entry carries the hash of the one
before it, so that no past entry can be altered, dropped or slipped in without breaking every later
link. (Whoever can write to the store can still replace the whole chain or cut its end: note the
newest hash, the *head*, outside the store, and compare.)
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from whitecrow.errors import BudgetExhausted, InvalidInput, NoConversion
from whitecrow.ledger.database import Claim
from whitecrow.ledger.renyi import RenyiSums
from whitecrow.privacy import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    Totals,
    Unit,
    ZeroConcentrated,
    Zone,
    at_any_stop,
    intersect,
    rounded_down,
    rounded_up,
    to_replace_one,
)
from whitecrow.terms import LINES, Budget, Policy, Remaining, canonical, policy_of

_ZERO = Fraction(0)


def _plus(a: Fraction, b: Fraction) -> Fraction:
    """Add, where most that is added is nothing."""
    if not b:
        return a
    return a + b if a else b


@dataclass(frozen=True)
class Located:
    """What located questions cost, at the point where they cost most."""

    differential: Fraction = _ZERO  # over releases that protect everyone
    sensitive: Fraction = _ZERO  # over differential and sensitive releases together

    def __add__(self, other: Located) -> Located:
        if not (other.differential or other.sensitive):
            return self
        return Located(
            _plus(self.differential, other.differential), _plus(self.sensitive, other.sensitive)
        )

    def to_json(self) -> dict[str, str]:
        return {"differential": str(self.differential), "sensitive": str(self.sensitive)}

    @classmethod
    def from_json(cls, data: Mapping[str, str]) -> Located:
        return cls(Fraction(data["differential"]), Fraction(data["sensitive"]))


def charged(amount: Fraction) -> Fraction:
    """Return what an account adds for an amount: the amount itself, if its denominator is plain.

    Sums of arbitrary fractions grow without bound in length, and an analyst chooses the fractions.
    So an epsilon that is asked for must be plain (:func:`admissible`): any decimal up to 100
    places, any fraction with a denominator up to 5000, and many more. All sums of such numbers are
    exact and have at most some 2,300 digits above and below the line. Numbers that are computed
    and not chosen, as the delta after a change of units, are rounded up in the 40th place where
    they are not plain.

    Examples
    --------
    >>> charged(Fraction(1, 3)), charged(Fraction(1, 5003)) == Fraction(1, 5003)
    (Fraction(1, 3), False)
    """
    if _plain() % amount.denominator == 0:
        return amount
    return Fraction(-(-amount.numerator * _PLACES // amount.denominator), _PLACES)


_PLACES = 10**40


@cache
def _plain() -> int:
    """All plain denominators divide this; it takes some milliseconds to compute."""
    return math.lcm(*range(1, 5001)) * 10**100


def admissible(price: Guarantee) -> None:
    """Refuse a price whose sums could not be kept exact and short."""
    name = "rho" if isinstance(price, ZeroConcentrated) else "epsilon"
    amount: Fraction = getattr(price, name)
    if _plain() % amount.denominator:
        raise InvalidInput(
            f"An account is kept exactly, so {name} must be a decimal of up to 100 places or a "
            f"fraction with a denominator up to 5000. Got {amount!s}; write "
            f"{_decimal(amount)} instead."
        )


def _decimal(amount: Fraction) -> str:
    """A decimal that is close and no larger."""
    places = 12 + max(0, len(str(amount.denominator)) - len(str(amount.numerator)))
    return f"{amount.numerator * 10**places // amount.denominator}e-{places}"


def is_for_everyone(price: Guarantee) -> bool:
    """Whether the promise has all edges: it counts on the differential line."""
    if isinstance(price, SensitivePrivacy):
        return all(zone.everyone for zone in price.zones)
    return not isinstance(price, ConditionalPrivacy)


def _first_line(price: Guarantee) -> int:
    """The first line that a release counts on, by its number; it counts on all that follow."""
    if isinstance(price, ConditionalPrivacy):
        return LINES.index("conditional")
    return LINES.index("differential" if is_for_everyone(price) else "sensitive")


def in_unit(price: Guarantee, unit: Unit) -> Guarantee:
    """Bring a price to the unit in which a dataset's account is kept, or say why not."""
    if unit == "replace_one":
        return to_replace_one(price)
    if getattr(price, "unit", "add_remove") == "replace_one":
        raise NoConversion(
            "This release protects against the replacement of one record only, and this dataset's "
            "account is kept for adding or removing one; no such promise follows. Ask for the "
            "add/remove version of the question."
        )
    return price


@dataclass(frozen=True)
class Account:
    """Running sums; immutable, so that a refused question leaves nothing behind."""

    # epsilon, delta: Sums over differential releases that are not located.
    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    rho: Fraction = _ZERO  # sum over concentrated releases
    # sensitive, conditional: Sums over releases of these notions that are not located.
    sensitive: Fraction = _ZERO
    conditional: Fraction = _ZERO
    located: Located = Located()  # what located releases cost at the worst point
    # zones, conditions: Who is still covered: all zones of sensitive releases, all conditions.
    zones: tuple[Zone, ...] = ()
    conditions: tuple[str, ...] = ()
    unit: Unit = "add_remove"  # the unit of the account's releases
    renyi: RenyiSums | None = None  # of the other rule, where the budget counts by either

    def counting(self, budget: Budget, seq: int) -> Account:
        """Return the account as it counts from an entry on, which puts a budget in force."""
        if budget.count_by == "sum" or self.renyi is not None:
            return self
        caps = [budget.cap(line) for line in LINES]
        begun = RenyiSums.begin(seq, caps, self._sums(), self.rho, budget.delta)
        return replace(self, renyi=begun)

    def with_release(self, price: Guarantee, extra: Located | None = None) -> Account:
        """Return the account after one more release at ``price`` (in the account's unit)."""
        zones = self.zones
        if isinstance(price, SensitivePrivacy | ConditionalPrivacy):
            more = [zone for zone in price.zones if zone not in zones]
            zones = intersect((*zones, *more)) if more else zones
        renyi = self.renyi
        if renyi is not None:
            renyi = renyi.counted(price, _first_line(price), located=extra is not None)
        if extra is not None:
            located = self.located + extra
            if located is self.located and zones == self.zones and renyi is None:
                return self  # most places are far from all others
            return replace(self, located=located, zones=zones, renyi=renyi)
        if isinstance(price, ZeroConcentrated):
            return replace(self, rho=self.rho + charged(price.rho), renyi=renyi)
        epsilon, delta = charged(price.epsilon), self.delta + charged(price.delta)
        grown = replace(self, delta=delta, zones=zones, renyi=renyi)
        if isinstance(price, ConditionalPrivacy):
            conditions = tuple(sorted({*self.conditions, *price.conditions}))
            return replace(grown, conditional=self.conditional + epsilon, conditions=conditions)
        if is_for_everyone(price):
            return replace(grown, epsilon=self.epsilon + epsilon)
        return replace(grown, sensitive=self.sensitive + epsilon)

    def without_release(
        self,
        price: Guarantee,
        less: Located | None,
        zones: tuple[Zone, ...],
        conditions: tuple[str, ...],
        seq: int,
    ) -> Account:
        """Return the account with one release given back, which entry ``seq`` had reserved.

        Sums are exact, so what was added is taken away again. Which zones and conditions the other
        releases have is not in the sums, and neither is what a located release had added: ``less``
        is how the price of places changes, at most 0.
        """
        if less is None:
            gone = Account(unit=self.unit).with_release(price)
            left = replace(
                self,
                epsilon=self.epsilon - gone.epsilon,
                delta=self.delta - gone.delta,
                rho=self.rho - gone.rho,
                sensitive=self.sensitive - gone.sensitive,
                conditional=self.conditional - gone.conditional,
                renyi=self.renyi and self.renyi.given_back(price, _first_line(price), seq),
            )
        else:
            left = replace(self, located=self.located + less)
        return replace(left, zones=zones, conditions=conditions)

    def spent(self, line: str, delta: Fraction) -> Fraction | None:
        """The epsilon of the releases that count on a line, read at ``delta``.

        It holds at whichever moment the answers made somebody stop and look. None when no finite
        bound holds even for them: half of the delta is for reading sums of rho, once there are
        any, and others have spent more than the other half. Whether *other* releases break the
        line is :meth:`unbounded`.
        """
        return self._lines(delta)[line]

    def _lines(self, delta: Fraction) -> dict[str, Fraction | None]:
        """The epsilon of every line; the last is remembered, for it is asked again and again."""
        last: tuple[Fraction, dict[str, Fraction | None]] | None = self.__dict__.get("_last")
        if last is None or not (last[0] is delta or last[0] == delta):
            last = self.__dict__["_last"] = delta, self._added_up(delta)
        return last[1]

    def _sums(self) -> tuple[Fraction, Fraction, Fraction]:
        """The sum of epsilon on every line."""
        # Located releases of both notions are summed point by point, not notion by notion.
        sensitive = _plus(_plus(self.epsilon, self.located.sensitive), self.sensitive)
        differential = _plus(self.epsilon, self.located.differential)
        return differential, sensitive, _plus(sensitive, self.conditional)

    def _located(self) -> tuple[Fraction, Fraction, Fraction]:
        """What located releases add on every line."""
        return self.located.differential, self.located.sensitive, self.located.sensitive

    @property
    def sets_aside(self) -> bool:
        """Whether half of the delta is for reading sums of rho (docs/mechanisms.md 6)."""
        return bool(self.rho) or self.renyi is not None

    def _added_up(self, delta: Fraction) -> dict[str, Fraction | None]:
        sums = self._sums()
        if not self.sets_aside:
            return dict(zip(LINES, sums, strict=True))
        half = delta / 2
        if self.delta > half or not delta:
            return dict.fromkeys(LINES)
        if self.renyi is None:
            # Read once, as a sum, at a delta that no answer had a part in.
            read = at_any_stop(ZeroConcentrated(self.rho, self.unit), half).epsilon
            return {line: total + read for line, total in zip(LINES, sums, strict=True)}
        bounds = self.renyi.spent(self._located(), half)
        # Without concentrated releases the sum is certain, and needs no delta.
        least = bounds if self.rho else list(map(min, sums, bounds))
        return dict(zip(LINES, least, strict=True))

    def line(self, line: str, delta: Fraction) -> Guarantee | None:
        """Return the joint promise of the releases that count on a line, read at ``delta``."""
        epsilon = self.spent(line, delta)
        if epsilon is None:
            return None
        certain = not self.rho and epsilon == self._sums()[LINES.index(line)]
        spent = self.delta if certain else delta
        conditions = self.conditions if line == "conditional" else ()
        zones = () if line == "differential" else self.zones
        if conditions:
            return ConditionalPrivacy(epsilon, conditions[0], conditions[1:], spent, zones)
        if zones:
            return SensitivePrivacy.over(epsilon, zones, spent)
        return DifferentialPrivacy(epsilon, spent, self.unit)

    def unbounded(self, line: str) -> bool:
        """Whether a weaker release exists, so that this line no longer bounds everything."""
        if line == "differential":
            return bool(self.zones or self.conditions)
        return line == "sensitive" and bool(self.conditions)

    def to_spend(self, budget: Budget, line: str) -> Fraction:
        """The largest epsilon of one more pure release for which a cap leaves room on a line."""
        amount, cap, at = self.spent(line, budget.delta), budget.cap(line), LINES.index(line)
        if amount is None:
            return _ZERO
        if self.renyi is None:
            left = cap - amount
            return left if left.numerator > 0 else _ZERO
        certain = _ZERO if self.rho else cap - self._sums()[at]
        return max(certain, self.renyi.room(at, self._located()[at], budget.delta / 2, cap))

    def delta_left(self, budget: Budget) -> Fraction:
        """What a cap leaves of delta for releases that have one."""
        if not budget.delta:
            return _ZERO
        return max(_ZERO, (budget.delta / 2 if self.sets_aside else budget.delta) - self.delta)

    def shown(self, budget: Budget) -> dict[str, str]:
        """What has been spent, by line, as JSON."""
        amounts = {}
        for line in LINES:
            amount = self.spent(line, budget.delta)
            broken = self.unbounded(line) or amount is None
            amounts[line] = "unbounded" if broken else str(amount or _ZERO)
        return {**amounts, "delta": str(self.delta)} if self.delta else amounts

    def totals(self, delta: Fraction) -> Totals:
        """One promise a line, None where the total is unbounded."""
        totals = {line: None if self.unbounded(line) else self.line(line, delta) for line in LINES}
        return Totals(**totals)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; rationals as text."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "rho": str(self.rho),
            "sensitive": str(self.sensitive),
            "conditional": str(self.conditional),
            "located": self.located.to_json(),
            "zones": [zone.to_json() for zone in self.zones],
            "conditions": list(self.conditions),
            "unit": self.unit,
            **({} if self.renyi is None else {"renyi": self.renyi.to_json()}),
        }

    @cached_property
    def text(self) -> str:
        """The canonical JSON, by which it is stored."""
        return canonical(self.to_json())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Account:
        return cls(
            epsilon=Fraction(data["epsilon"]),
            delta=Fraction(data["delta"]),
            rho=Fraction(data["rho"]),
            sensitive=Fraction(data["sensitive"]),
            conditional=Fraction(data["conditional"]),
            located=Located.from_json(data["located"]),
            zones=tuple(Zone.from_json(zone) for zone in data["zones"]),
            conditions=tuple(sorted(data["conditions"])),
            unit=data["unit"],
            renyi=RenyiSums.from_json(data["renyi"]) if "renyi" in data else None,
        )


def admit(
    account: Account, budget: Budget, price: Guarantee, extra: Located | None, *, whose: str
) -> Account:
    """Return the account after a release at ``price``, in its unit, or refuse it.

    ``extra`` is what the geometry says a located release adds; ``whose`` cap this is, the message
    says, with requested, remaining and difference, all exact.
    """
    grown = account.with_release(price, extra)
    if grown.delta > budget.delta:
        raise overrun(whose, "delta", grown.delta - account.delta, budget.delta - account.delta)
    for line in LINES:
        after = grown.spent(line, budget.delta)
        if after is None:
            raise BudgetExhausted(
                f"{whose} has not enough delta left: half of the cap on delta, {budget.delta!s}, "
                f"is for reading sums of rho, and of the other half {account.delta!s} is spent. "
                "Ask a question of pure privacy, or let the custodian raise the cap on delta. "
                "Nothing was spent.",
                requested=str(grown.delta - account.delta or grown.rho - account.rho),
                remaining=str(account.delta_left(budget)),
            )
        if after > budget.cap(line):
            before = account.spent(line, budget.delta) or _ZERO
            # A cap lowered below what is spent does not refuse what leaves the line as it is.
            if after > before:
                raise overrun(whose, line, after - before, budget.cap(line) - before)
    return grown


def how_many(caps: Iterable[tuple[Account, Budget]], price: Guarantee, *, located: bool) -> int:
    """Return how many more releases at ``price`` fit under all caps, up to a million.

    Located ones are counted as if all looked at one place, which is never too many.
    """
    caps, first = tuple(caps), _first_line(price)

    def too_many(times: int) -> bool:
        amounts = {n: times * charged(getattr(price, n)) for n in _AMOUNTS if hasattr(price, n)}
        extra = None
        if located:
            extra = Located(_ZERO if first else amounts["epsilon"], amounts["epsilon"])
        for account, budget in caps:
            grown = account.with_release(replace(price, **amounts), extra)  # type: ignore[arg-type]
            if account.renyi is not None:
                each = account.renyi.counted(price, first, located=located, times=times)
                grown = replace(grown, renyi=each)
            after = [(grown.spent(line, budget.delta), budget.cap(line)) for line in LINES]
            if grown.delta > budget.delta or any(
                spent is None or spent > cap for spent, cap in after
            ):
                return True
        return False

    return bisect_left(range(1, _MANY + 1), x=True, key=too_many)


_MANY = 1_000_000
_AMOUNTS = ("epsilon", "delta", "rho")


def overrun(whose: str, line: str, requested: Fraction, remaining: Fraction) -> BudgetExhausted:
    """Build the one form of message for a budget that does not suffice."""
    remaining = max(remaining, _ZERO)
    hint = ""
    if line == "delta" and not remaining:
        hint = " A budget with a delta is written as '1, 1e-6'."
    what = "delta" if line == "delta" else f"{line} budget"
    return BudgetExhausted(
        f"{whose} has not enough {what} left: requested {requested!s} "
        f"({rounded_up(requested)}), remaining {remaining!s} ({rounded_down(remaining)}), "
        f"short by {requested - remaining!s}. Nothing was spent.{hint}",
        requested=str(requested),
        remaining=str(remaining),
    )


# Entries, and what is known of an account at a moment

ToldAt = Callable[[datetime], datetime]
"""Given when something is written, from when on it may be told; by default from then on."""

LONGEST_WAIT = timedelta(hours=2)
"""No reply is due later. What is stamped beyond was written by a clock that was wrong, and must not
be hidden until that day."""

GENESIS = "0" * 64
"""What the first entry names as its predecessor."""


_SEALED = ("previous", "dataset", "seq", "kind", "at", "analyst", "digest", "closes", "body")
"""What a hash covers, in its order."""


@dataclass(frozen=True)
class Entry:
    """One line of an account; it is never changed."""

    dataset: str  # whose account
    seq: int  # place in the account, from 1 without gaps
    # ``open``, ``amend``, ``allow``, ``data`` (the custodian's acts; the last binds the account to
    # a revision of the records), ``reserve``, ``settle``, ``fail`` (a question's way), ``halt`` (an
    # update of a publication failed), ``review`` (the custodian has looked at a failure), ``void``
    # (the custodian gives a spend back), ``alarm`` (a series gave one), ``closure`` (entries were
    # lost in a restore: nothing is answered any more).
    kind: str
    # When, in UTC. What a service replies to at a published moment has that moment: when a
    # computation ended is written nowhere.
    at: str
    analyst: str  # who asked, or whom it concerns
    digest: str  # the identity of the question, where there is one
    closes: int | None  # the reserving entry that this one closes
    body: str  # the rest, canonical JSON
    # previous, hash: The chain.
    previous: str
    hash: str = ""

    @classmethod
    def sealed(cls, **fields: Any) -> Entry:
        """Make an entry that carries its hash."""
        return cls(**fields, hash=_hash(fields))

    def seal(self) -> str:
        """Return the hash that this entry must carry."""
        return _hash(vars(self))

    @property
    def told(self) -> bool:
        """Whether it may be told: earlier, that it is there would tell how long it took."""
        return self.told_by(datetime.now(UTC))

    def told_by(self, moment: datetime) -> bool:
        """Whether it may be told by then."""
        latest = datetime.now(UTC) + LONGEST_WAIT
        return not moment < datetime.fromisoformat(self.at) < latest

    @property
    def content(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = json.loads(self.body)
        return content

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "body": self.content}


def _hash(fields: Mapping[str, Any]) -> str:
    content = canonical([fields[name] for name in _SEALED])
    return hashlib.sha256(content.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class AnalystAccount:
    """An analyst's own account: what was spent, and the cap if there is one."""

    spent: Account
    budget: Budget | None

    def to_json(self) -> dict[str, Any]:
        budget = None if self.budget is None else self.budget.to_json()
        return {"budget": budget, "spent": self.spent.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AnalystAccount:
        budget = None if data["budget"] is None else Budget.of(data["budget"])
        return cls(Account.from_json(data["spent"]), budget)


@dataclass(frozen=True)
class AccountSnapshot:
    """Where a dataset stands: the promise in force and the accounts under it."""

    budget: Budget  # the dataset's cap
    policy: str  # the custodian's policy, canonical JSON
    spent: Account  # what all analysts together have spent
    shares: Mapping[str, AnalystAccount]  # the analysts' own accounts, by name
    # seq, head: The end of the chain.
    seq: int
    head: str
    # How many wait for their review; the dataset is closed to new questions while any does.
    failures: int = 0
    closure: int = 0  # the entry that closed the account for good; 0 while none has

    @property
    def rules(self) -> Policy:
        return policy_of(self.policy)

    def remaining(self, analyst: str | None = None) -> Remaining:
        """What may still be spent: of the dataset's cap, or of the analyst's if it is tighter."""
        caps = [(self.spent, self.budget)]
        mine = None if analyst is None else self.shares.get(analyst)
        if mine is not None and mine.budget is not None:
            caps.append((mine.spent, mine.budget))
        left: dict[str, Fraction] = {}
        least: Fraction | None = None
        notions = self.rules.notions
        for line in reversed(LINES):  # what counts on a line counts on all that follow
            for account, budget in caps:
                more = account.to_spend(budget, line)
                if least is None or more < least:
                    least = more
            if least is not None and line in notions:
                left[line] = least
        delta = min(account.delta_left(budget) for account, budget in caps)
        unbounded = tuple(line for line in LINES if self.spent.unbounded(line))
        return Remaining(dict(reversed(left.items())), delta, unbounded)


@dataclass(frozen=True)
class Reservation:
    """A spend that is committed and waits for its answer."""

    seq: int  # the reserving entry
    # digest, analyst: The question, and who asked it first.
    digest: str
    analyst: str
    fresh: bool = False  # false if an earlier, interrupted ask had already paid
    # How often the reservation had been taken up when the claim was taken, by whom last; only the
    # last one to take it up may close it. No times if it is not open.
    epoch: int = 0
    holder: str = ""
    # The right to compute the answer.
    claim: Claim | None = field(default=None, compare=False, repr=False)
    # From when on what comes of it may be told.
    told_at: ToldAt | None = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Give up the right to compute."""
        if self.claim is not None:
            self.claim.release()


@dataclass(frozen=True)
class RecordedOutcome:
    """A question that was asked before: its stored answer, or that it failed."""

    # seq, by: The reserving entry, and the one that closed it.
    seq: int
    by: int
    answered: bool  # false if the computation failed
    answer: Any = None  # what was released
    reviewed: bool = False  # whether the custodian has looked at the failure


@dataclass(frozen=True)
class Records:
    """What binds a new account to its records, see :mod:`whitecrow.ledger.revisions`."""

    fingerprint: str  # keyed; for the chain
    # state, key: The name of a private state, and what it keeps: the key.
    state: str = field(repr=False)
    key: str = field(repr=False)
