"""Compare whitecrow's sums and conversions with dp-accounting and OpenDP.

    PYTHONPATH=../../src python oracles.py     in an environment with dp-accounting and opendp

Ours must never be smaller than what the others show to be needed; by how much it is larger is the
price of simple, exact formulas.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from whitecrow.privacy import DifferentialPrivacy, ZeroConcentrated, compose
from whitecrow.privacy.composition import to_approximate

CASES = [(Fraction(1, 100), Fraction(1, 10**6)), (Fraction(1, 8), Fraction(1, 10**6))]
CASES += [(Fraction(1, 2), Fraction(1, 10**5)), (Fraction(2), Fraction(1, 10**9))]


def opendp() -> int:
    """Compare with OpenDP's maps and curves; return how often ours is below."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    below = 0
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(7, 3)):
        theirs = dp.m.make_laplace(*space, scale=float(1 / epsilon)).map(1)
        print(f"discrete Laplace 1/{epsilon}: ours {float(epsilon):.6f}, OpenDP {theirs:.6f}")
        below += float(epsilon) < theirs - 1e-9
    for rho, delta in CASES:
        ours = float(to_approximate(ZeroConcentrated(rho), delta).epsilon)
        noisy = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
        theirs = dp.c.make_zCDP_to_approxDP(noisy).map(1).epsilon(float(delta))
        print(f"zCDP rho {rho}, delta {float(delta):g}: ours {ours:.4f}, OpenDP {theirs:.4f}")
        below += ours < theirs - 1e-9
    return below


def main() -> None:
    """Print a line a comparison; fail if ours is ever below."""
    worst = 0
    for rho, delta in CASES:
        ours = float(to_approximate(ZeroConcentrated(rho), delta).epsilon)
        event = dp_event.GaussianDpEvent(1 / math.sqrt(2 * rho))
        exact = pld_privacy_accountant.PLDAccountant().compose(event).get_epsilon(float(delta))
        renyi = rdp_privacy_accountant.RdpAccountant().compose(event).get_epsilon(float(delta))
        print(
            f"zCDP {rho}, delta {float(delta):g}: ours {ours:.4f}, PLD {exact:.4f}, RDP {renyi:.4f}"
        )
        worst += ours < exact
    for epsilon, times in ((Fraction(1, 10), 10), (Fraction(1, 2), 7)):
        ours = float(compose([DifferentialPrivacy(epsilon)] * times).epsilon)
        accountant = pld_privacy_accountant.PLDAccountant()
        accountant.compose(dp_event.LaplaceDpEvent(float(1 / epsilon)), times)
        # At delta 0 a discretised law has no finite answer; a tiny delta asks for nearly as much.
        exact = accountant.get_epsilon(1e-12)
        print(f"{times} x Laplace {epsilon}, delta 1e-12: ours {ours:.4f}, PLD {exact:.4f}")
        worst += ours < exact - 1e-3
    worst += opendp()
    print("never below" if not worst else f"BELOW in {worst} cases")
    raise SystemExit(bool(worst))


if __name__ == "__main__":
    main()
