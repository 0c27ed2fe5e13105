"""A witness: what a ledger had come to when its last answers left, kept where it does not go back.

A ledger that was restored from a backup has forgotten what was answered since. The witness has not:
it holds the heads of all accounts, signed, in another place. The order is always the same:

1. the answer is stored with its spend, durably (``settle``);
2. the heads are read, signed and written to the witness, durably;
3. the answer leaves.

So the witness is never ahead of an honest ledger, whenever either is cut off; and no answer has
left that the witness does not cover. Who dies between 1 and 2 leaves a stored answer behind that
nobody has seen, and whoever reads it next writes the witness first.

Each statement names the one it extends, and the place swaps them in one step: of two copies of a
ledger, one is refused at its next answer, before that leaves. Only ``appoint`` begins a witness; a
place that later holds nothing of the ledger is an outage.
"""

from whitecrow.ledger.witness.guard import accept, appoint, dismiss, lost
from whitecrow.ledger.witness.places import Setup, setup_of, shown
from whitecrow.ledger.witness.statement import Evidence, Mark, SigningKey, Statement

__all__ = [
    "Evidence",
    "Mark",
    "Setup",
    "SigningKey",
    "Statement",
    "accept",
    "appoint",
    "dismiss",
    "lost",
    "setup_of",
    "shown",
]
