"""The theorems in proofs/ compile, rest on what is listed, and speak of Python's functions."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whitecrow.anomaly import law

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "proofs"))
import check  # noqa: E402  (a script beside the proofs, not a package)

sys.path.pop(0)

pytestmark = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="no coqc here; Debian's package coq has it"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proofs")
    check.build(folder)
    return folder


def test_every_theorem_rests_on_what_is_listed_and_on_no_axiom_of_ours(built: Path) -> None:
    listed = dict(line.split(": ") for line in check.LIST.read_text().splitlines())
    assert list(listed) == check.theorems(built)
    for said, found in check.together(built, listed):
        assert found == said
    axioms = {name for said in listed.values() for name in said.split(", ")}
    assert axioms <= {
        "nothing",
        "Classical_Prop.classic",
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
    }
    assert listed["Discrepancy.discrepancy_valid"] == "nothing"


def test_a_list_that_says_too_little_is_found_out(built: Path) -> None:
    told = {"Discrepancy.discrepancy_valid": "nothing", "CoreTail.shift_costs": "nothing"}
    ((_, found),) = check.together(built, told)
    assert "Classical_Prop.classic" in found


def test_every_file_says_what_it_proves_and_assumes() -> None:
    for name in check.FILES:
        head = (ROOT / "proofs" / f"{name}.v").read_text().split("*)")[0]
        for title in ("What is proved here", "What is assumed", "Which Python this is about"):
            assert title in head, f"{name}.v"


BROKEN = [
    # a hypothesis left out
    ("Discrepancy", "1 <= cap -> valid joined", "valid joined"),
    ("CoreTail", "Hypothesis B_at_least_1 : 1 <= B.", ""),
    # a hypothesis made too weak
    ("Databases", "close_to_itself : forall i, close rel i i = true;",
     "close_to_itself : forall i : V, True;"),
    ("Discrepancy", "1 <= cap -> valid joined", "0 <= cap -> valid joined"),
    ("Discrepancy", "0 <= v <= n -> beta + 1 - k <= 1 + n ->",
     "0 <= v <= n -> beta - k <= 1 + n ->"),
    ("Discrepancy", "1 <= beta -> 1 <= k < beta -> 0 <= v ->",
     "1 <= beta -> 1 <= k <= beta -> 0 <= v ->"),
    ("Discrepancy", "1 <= beta -> 1 <= k -> 1 <= cap -> 0 <= v <= n ->\n  (radius",
     "0 <= beta -> 1 <= k -> 1 <= cap -> 0 <= v <= n ->\n  (radius"),
    ("Discrepancy", "Z.min n (beta + cap) in\n  let v'", "Z.min n (beta + cap - 1) in\n  let v'"),
    ("Construction", "0 <= epsilon ->\n  valid joined", "-1 <= epsilon ->\n  valid joined"),
    ("Composition", "every well_formed s -> differ j x y ->\n  every (fun q => holds q j = true ->",
     "every well_formed s -> differ j x y ->\n  every (fun q => holds q j = false ->"),
    ("Smooth", "mu (z :: p) <= mu p + 1.              (* M3 *)", "mu (z :: p) <= mu p + 2."),
    ("Smooth", "forall t, decay * w t <= w (S t).", "forall t, decay * w t <= 2 * w (S t)."),
    ("CoreTail", "Hypothesis B_at_least_1 : 1 <= B.", "Hypothesis B_at_least_1 : 1 / 2 <= B."),
    ("CoreTail", "  alpha + B * ln (/ decay) <= epsilon ->\n  forall v",
     "  alpha + B / 2 * ln (/ decay) <= epsilon ->\n  forall v"),
    ("Screening", "Hypothesis one_fewer : forall c, may_stand (chance (S c)) (chance c).",
     "Hypothesis one_fewer : forall c, may_stand (chance c) (chance (S c))."),
    ("Screening", "ball (fst r) && (snd r <? k)%nat", "ball (fst r) && (snd r <=? k)%nat"),
    ("Histograms", "(INR n * INR records / epsilon) s ->", "(INR n / epsilon) s ->"),
    # a definition with a flaw: mechanisms that the paper or we nearly had
    ("Discrepancy", "then 2 + neighbours - beta else", "then 3 + neighbours - beta else"),
    ("Discrepancy", "tau - 1 - (neighbours - copies)", "tau - (neighbours - copies)"),
    ("Discrepancy", "then beta - neighbours else neighbours - beta + 1",
     "then beta - neighbours + 1 else neighbours - beta + 1"),
    ("Construction", "exp (- epsilon * (IZR n - 1)) / (1 + exp epsilon)",
     "exp (- epsilon * (IZR n - 1)) / 2"),
    ("Composition", "if holds q j then price_of q else 0.", "if holds q j then 0 else price_of q."),
    ("Smooth", "(after t x))) cap.\n\nLemma", "(after t x))) (pred cap).\n\nLemma"),
    ("Smooth", "(y <=? start + 2 * radius)", "(y <=? start + radius)"),
    ("CoreTail", "Definition corner : R := B + 1.", "Definition corner : R := B + 2."),
    ("Coins", "if value <? low bits then Some true\n  else if high bits <=? value then Some false\n"
     "  else match", "if value <=? low bits then Some true\n  else if high bits <=? value then "
     "Some false\n  else match"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "true", "false"), BROKEN)
def test_a_weaker_hypothesis_or_a_flawed_definition_does_not_compile(
    name: str, true: str, false: str, built: Path, tmp_path: Path
) -> None:
    before = check.FILES[: check.FILES.index(name)]
    for earlier in before:
        shutil.copy(built / f"{earlier}.vo", tmp_path)
    written = (built / f"{name}.v").read_text()
    assert written.count(true) == 1
    (tmp_path / f"{name}.v").write_text(written.replace(true, false))
    done = check.compile_file(tmp_path, name)
    assert done.returncode != 0
    # the proof fails, not the sentence: what was changed can still be read
    assert "Syntax error" not in done.stderr
    assert "was not found in the current environment" not in done.stderr


@pytest.fixture(scope="module")
def values(built: Path) -> Path:
    done = check.compile_file(built, "Extract")
    assert done.returncode == 0, done.stderr
    subprocess.run(
        ["ocamlfind", "ocamlopt", "-package", "", "law.mli", "law.ml", "values.ml", "-o", "values"],
        cwd=built,
        check=True,
        capture_output=True,
    )
    return built / "values"


def of(bound: int | None) -> int:
    return 255 if bound is None else bound


def test_python_computes_the_proved_functions_on_a_million_arguments(values: Path) -> None:
    most_beta, most_k, most_n = 22, 24, 45
    arguments = [values, "grid", str(most_beta), str(most_k), str(most_n)]
    extracted = subprocess.run(arguments, check=True, capture_output=True).stdout
    ours = bytearray()
    for beta in range(1, most_beta + 1):
        for n in range(most_n + 1):
            ours.append(law.novelty_discrepancy(n, beta=beta))
            for v in range(n + 1):
                ours.append(law.is_anomaly(v, n, beta=beta))
                for k in range(1, most_k + 1):
                    ours.append(of(law.discrepancy(v, n, beta=beta, k=k)))
                    ours.append(of(law.discrepancy(v, n, beta=beta, k=k, tight=True)))
                    if v == n:
                        at_zero = law.discrepancy(
                            v, n, beta=beta, k=k, tight=True, radius_is_zero=True
                        )
                        ours.append(of(at_zero))
    assert len(ours) > 1_000_000
    assert bytes(ours) == extracted


def test_python_computes_the_proved_functions_on_large_arguments(values: Path) -> None:
    chosen = random.Random(20)  # a fixed sample
    asked, expected = [], []
    for _ in range(50_000):
        size = 10 ** chosen.randint(1, 15)
        beta, k, cap = (chosen.randint(1, size) for _ in range(3))
        n = max(0, beta + chosen.randint(-k - 2, k + 2))
        zero, tight = chosen.random() < 0.3, chosen.random() < 0.5
        v = n if zero else chosen.choice([0, n, chosen.randint(0, n), min(n, chosen.randint(0, 3))])
        bound = law.discrepancy(v, n, beta=beta, k=k, radius_is_zero=zero, tight=tight)
        said = [bound, law.capped(bound, cap), law.novelty_discrepancy(n, beta=beta)]
        asked.append(f"{zero:d} {tight:d} {v} {n} {beta} {k} {cap}")
        expected.append(" ".join("none" if one is None else str(one) for one in said))
    done = subprocess.run(
        [values, "lines"], input="\n".join(asked), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == expected
