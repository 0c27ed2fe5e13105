"""A curator that lives on a server: the same methods, the same values, the same errors.

Needs nothing but the standard library, and loads neither curator nor records. Retries are safe: a
question is charged once, whoever loses the reply asks again and gets the stored answer.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
import urllib.parse
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from whitecrow import asks, errors
from whitecrow.card import Card
from whitecrow.errors import InvalidInput, NotReady, NotSignedIn, Unreachable, WhitecrowError
from whitecrow.privacy import Exactly, Guarantee, guarantee
from whitecrow.question import Description, Progress, Question, Release
from whitecrow.terms import Plan, Policy, Remaining

if TYPE_CHECKING:
    from whitecrow.curator.advice import ModelAdvice
    from whitecrow.histogram.table import TableProfile

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LONGEST_WAIT = 6.4
_FIRST_WAIT = 2.0
"""Seconds to try an address at which nobody ever answered: it is likely to be a wrong one."""

_AGAIN = (429, 502, 503, 504)  # too many at once, or the service or a proxy says: not now


class Client:
    """Asks a server's curator.

    Parameters
    ----------
    url : str
        The service's address, such as ``https://crow.example.org``. Plain ``http`` is refused for
        other machines: the token would travel in the open.
    token : str
        Who asks.
    dataset : str, optional
        Which dataset; may be left out when the token sees exactly one.
    timeout : float
        Seconds to wait for a reply.
    patience : float
        Seconds to go on trying while the service is away or busy; an address at which nobody has
        answered yet is given up after two.
    context : ssl.SSLContext, optional
        For a certificate authority of one's own.

    Examples
    --------
    >>> client = Client("http://localhost:8765", "wc_token", dataset="clinic")
    >>> client
    <Client of 'clinic' at http://localhost:8765>
    """

    largest_question = 60_000
    """Bytes of a question that every service takes; of several records so many are sent at once."""

    ask_about, ask_all = asks.ask_about, asks.ask_all
    identify, screen, explain = asks.identify, asks.screen, asks.explain
    lookahead, count, subspaces = asks.lookahead, asks.count, asks.subspaces
    tune, profile, learn = asks.tune, asks.profile, asks.learn
    monitor, publish, screening = asks.monitor, asks.publish, asks.screening

    def __init__(
        self,
        url: str,
        token: str,
        *,
        dataset: str | None = None,
        timeout: float = 120.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._connection = _Connection(url, token, timeout, patience, context)
        self._dataset = dataset

    def __repr__(self) -> str:
        return f"<Client of {self._dataset or 'a dataset'!r} at {self._connection.url}>"

    @classmethod
    def sign_in(
        cls,
        url: str,
        *,
        dataset: str | None = None,
        tell: Callable[[str], None] = print,
        context: ssl.SSLContext | None = None,
    ) -> Client:
        """Sign in through the provider of single sign-on, with a code typed at another screen.

        Parameters
        ----------
        url, dataset, context : str, str, ssl.SSLContext
            As for the client itself.
        tell : callable
            Told in one sentence where to type which code.
        """
        return cls(url, device_token(url, tell=tell, context=context), dataset=dataset)

    # What there is

    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets this token may know of."""
        listed = self._connection.call("GET", "/v1/datasets")["datasets"]
        return tuple(dataset["name"] for dataset in listed)

    @property
    def name(self) -> str:
        """The dataset's name."""
        if self._dataset is None:
            names = self.datasets()
            if len(names) != 1:
                raise InvalidInput(
                    f"Say which dataset: Client(url, token, dataset=...). There are "
                    f"{', '.join(names) or 'none for this token'}."
                )
            self._dataset = names[0]
        return self._dataset

    @property
    def card(self) -> Card:
        """The dataset's public facts."""
        card = self._about()["card"]
        if card is None:
            raise NotReady("The dataset has no card yet: it is being loaded.")
        return Card.from_json(card)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return Policy.from_json(self._about()["policy"])

    @property
    def deadlines(self) -> dict[str, float]:
        """After how many seconds replies leave, by kind, where the operator has set it by kind."""
        return dict(self._about()["deadlines"])

    def deadline(self, question: Question) -> float | None:
        """At multiples of how many seconds the reply to a question leaves; None: at once."""
        seconds: float | None = self._post("price", _document(question)).get("deadline")
        return seconds

    # Before asking

    def price(self, question: Question) -> Guarantee:
        """Return what a question will promise, hence cost."""
        return self.describe(question).price

    def describe(self, question: Question, **public: Any) -> Description:
        """Say what a question will cost and how accurate it will be, from public facts."""
        given = {name: value for name, value in public.items() if value is not None}
        reply = self._post("price", {**_document(question), "public": given})
        told = {name: reply[name] for name in ("figures", "error", "warning") if name in reply}
        price = guarantee(reply["price"])
        return Description(reply["words"], price, **told, labels=question.figures)

    def plan(self, questions: Sequence[Question]) -> Plan:
        """Say what a batch would cost together (spatial accounting), before asking."""
        batch = [_document(question) for question in questions]
        return Plan.from_json(self._post("plan", {"questions": batch}))

    def advise(
        self, contamination: Exactly, *, columns: Sequence[str] | None = None, **how: Any
    ) -> ModelAdvice:
        """Find a model for a wanted share of outliers, from public facts; spends nothing.

        Made-up records are drawn from the newest profile that this token's holder may know, or
        from the card. ``how`` is ``metric``, ``beta``, ``records`` and ``epsilon``, as of
        :meth:`whitecrow.Curator.advise`.
        """
        from whitecrow.curator.advice import ModelAdvice

        named = None if columns is None else list(columns)
        body = {**how, "contamination": str(contamination), "columns": named}
        if "epsilon" in body:
            body["epsilon"] = str(body["epsilon"])
        return ModelAdvice.from_json(self._post("advice", body))

    def advise_model(self, contamination: Exactly, **how: Any) -> ModelAdvice:
        """Find a model; :meth:`advise` does, and this name goes."""
        text = "Client.advise_model goes with the next release: use advise."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.advise(contamination, **how)

    # The custodian's acts

    def drafts(self) -> list[dict[str, Any]]:
        """The cards that profiles of the dataset drafted, the newest first (custodian).

        Each has its ``draft``, which :meth:`accept` takes, as it is or edited.
        """
        return list(self._connection.call("GET", f"{self._path()}/drafts")["drafts"])

    def accept(self, draft: TableProfile | Mapping[str, Any] | str, *, reason: str = "") -> Card:
        """Put a drafted card in force, as it is or edited (custodian); the chain keeps which.

        ``draft`` is a profile, or its draft as JSON or TOML; see :meth:`whitecrow.Curator.accept`.
        """
        content = draft if isinstance(draft, Mapping | str) else draft.draft()
        reply = self._post("drafts", {"draft": content, "reason": reason})
        return Card.from_json(reply["card"])

    # Asking

    def ask(self, question: Question, *, progress: Progress | None = None) -> Release:
        """Answer a question, or refuse it; errors are those of :meth:`whitecrow.Curator.ask`.

        A reply that got lost is asked for again: the answer is stored, and charged once.
        """
        return _read(question, self._post("ask", _document(question)))

    def dummy(self, question: Question) -> Release:
        """Answer a question about made-up records: free, to develop code against.

        The release says of itself that it is a dummy; see :meth:`whitecrow.Curator.dummy`.
        """
        return _read(question, self._post("dummy", _document(question)))

    def remaining(self) -> Remaining:
        """What is left for one more question, by notion: the tighter of both caps."""
        about = self._about()
        left = {notion: Fraction(amount) for notion, amount in about["remaining"].items()}
        delta = left.pop("delta", Fraction(0))
        return Remaining(left, delta, tuple(about["unbounded"]))

    def history(self) -> list[dict[str, Any]]:
        """This analyst's own questions and what became of them."""
        reply = self._connection.call("GET", f"{self._path()}/ledger")
        return list(reply.get("questions", []))

    def timeline(self) -> dict[str, Any]:
        """Revisions, publications, alarms and the budget over time, as far as one may know."""
        return self._connection.call("GET", f"{self._path()}/timeline")

    def advance(self, *, reason: str, growth: str | None = None) -> int:
        """Record, as the custodian, that the records changed; return the revision they are.

        See :meth:`whitecrow.Curator.open` for ``growth``.
        """
        body = {"reason": reason} if growth is None else {"reason": reason, "growth": growth}
        return int(self._post("revisions", body)["revision"])

    def _path(self) -> str:
        return f"/v1/datasets/{urllib.parse.quote(self.name, safe='')}"

    def _about(self) -> dict[str, Any]:
        return self._connection.call("GET", self._path())

    def _post(self, act: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._connection.call("POST", f"{self._path()}/{act}", body)

    def close(self) -> None:
        """End the connection of this thread."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def device_token(
    url: str,
    *,
    tell: Callable[[str], None],
    context: ssl.SSLContext | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Sign in through the provider and return a token, when a person has approved it there."""
    connection = _Connection(url, "", 30.0, 10.0, context)
    try:
        begun = connection.call("POST", "/v1/sign-in/device")
        until = time.monotonic() + float(begun["seconds"])
        interval = float(begun["interval"])
        tell(f"Open {begun['url']} and type the code {begun['code']}.")
        while time.monotonic() < until:
            sleep(interval)
            reply = connection.call("POST", f"/v1/sign-in/device/{begun['device']}")
            if reply["state"] == "done":
                return str(reply["token"])
            interval += 5.0 if reply["state"] == "slow" else 0.0
    finally:
        connection.close()
    raise NotSignedIn("Nobody approved the sign-in in time; begin again.")


class _Connection:
    """One kept-alive connection a thread, with retries."""

    def __init__(
        self, url: str, token: str, timeout: float, patience: float, context: ssl.SSLContext | None
    ) -> None:
        address = urllib.parse.urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise errors.invalid("Client", "url", "an address such as https://host", url)
        if address.scheme == "http" and address.hostname not in _LOOPBACK:
            raise InvalidInput(
                f"The token would travel to {address.hostname} in the open; use https."
            )
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise InvalidInput("The token is not one of whitecrow's; it begins with wc_.")
        self.url = url.rstrip("/")
        self._where = address
        self._timeout, self._patience = timeout, patience
        self._context = context
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()
        self._reached = False

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request until it is answered; every one the client sends may be repeated."""
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        until = time.monotonic() + self._patience
        first = time.monotonic() + min(_FIRST_WAIT, self._patience)
        longest = 0.1
        while True:
            # Longer each time, and not in step with others.
            longest = min(2 * longest, _LONGEST_WAIT)
            pause = longest * random.uniform(0.5, 1.0)
            try:
                status, after, reply = self._send(method, path, content)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                failure: WhitecrowError = Unreachable(
                    f"The service at {self.url} cannot be reached. Ask again later: a question "
                    "that was already charged is not charged twice."
                )
                # Never reached: nothing was asked, so there is nothing to wait for.
                hopeless = not self._reached and time.monotonic() > first
                hopeless |= isinstance(error, ssl.SSLCertVerificationError | socket.gaierror)
            else:
                self._reached = True
                if status < 300:
                    return reply
                # The error that the library would have raised.
                failure = errors.from_json(reply) or Unreachable(
                    f"The service at {self.url} gave an answer that is not whitecrow's."
                )
                hopeless = status not in _AGAIN
                pause = pause if after is None else after
            if hopeless or time.monotonic() + pause > until:
                raise failure
            time.sleep(pause)

    def _send(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[int, float | None, dict[str, Any]]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        address = f"{self._where.path.rstrip('/')}{path}"
        connection.request(method, address, body=body, headers=self._headers)
        reply = connection.getresponse()
        content = reply.read()
        after = _seconds(reply.headers.get("Retry-After", ""))
        try:
            report = json.loads(content)
        except ValueError:
            report = None
        return reply.status, after, report if isinstance(report, dict) else {}

    def _connect(self) -> http.client.HTTPConnection:
        host, port = str(self._where.hostname), self._where.port
        if self._where.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)

    def close(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None


def _seconds(text: str) -> float | None:
    """Read Retry-After: a number of seconds, or the moment itself."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _read(question: Question, reply: Mapping[str, Any]) -> Release:
    """Read a release; a dummy's words begin with saying so."""
    answer, promised = question.reads(reply["answer"]), guarantee(reply["guarantee"])
    words = question.says(reply["answer"])
    if reply.get("dummy"):
        words = replace(words, headline=f"DUMMY (made-up records): {words.headline}")
    return Release(**{**reply, "answer": answer, "guarantee": promised, "said": words})


def _document(question: Question) -> dict[str, Any]:
    return {"kind": question.kind, **question.to_json()}
