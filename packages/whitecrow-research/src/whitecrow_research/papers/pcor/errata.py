"""Where the paper is wrong or unclear, and what is done here instead."""

from whitecrow_research.papers.report import Erratum

ERRATA = (
    Erratum(
        "E18",
        "Equation (2), Theorem 2.1 and the proofs use three constants",
        "Weights are exp(epsilon_1 u) everywhere, and the price says what that costs.",
    ),
    Erratum(
        "E19",
        "The loops of Algorithms 3 to 5 flip bits in place and rebuild what they remove from",
        "A child is a copy with one bit flipped; a walk without a way out ends.",
    ),
    Erratum(
        "E20",
        "A draw is charged 2 epsilon_1",
        "The utilities are monotone under add/remove: epsilon_1 is enough.",
    ),
    Erratum(
        "E21",
        "The starting context comes from an initial search",
        "Nobody pays for it. The start is in the question, or drawn from the matching set alone.",
    ),
    Erratum(
        "E22",
        "Section 6.7 found no violation",
        "It looked at common contexts only; where the matching sets differ the loss is infinite.",
    ),
    Erratum(
        "E23",
        "Definition 2.1 adds or removes a record, the text after 2.2 replaces one",
        "Guarantees name their unit.",
    ),
    Erratum(
        "E24",
        "The proof of Theorem 5.3 describes another walk than Algorithm 3",
        "The conclusion holds: under the condition the walk costs nothing.",
    ),
    Erratum(
        "E29",
        "BFS in Tables 2, 3 and 9 has n = 50",
        "The rows are those of n = 100 in Tables 10 and 11.",
    ),
    Erratum(
        "E30",
        "The captions of Figures 2 and 3 say epsilon = 0.1",
        "Tables 4 to 7, of the same runs, say 0.2.",
    ),
    Erratum(
        "E31",
        "Algorithm 4's comment answers with the last sample on the stack",
        "Line 22 draws from all visited contexts, which is what Theorem 5.5 charges for.",
    ),
    Erratum(
        "E32",
        "The loops run while |.| <= n",
        "They collect n + 1. The prices survive, since the start is not drawn.",
    ),
)
