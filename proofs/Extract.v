(** * The definitions as programs

    Writes [law.ml]: the functions of Discrepancy.v as OCaml, over Coq's own binary integers, so that
    nothing is replaced by a machine number on the way. tests/proofs compares its values with those
    of [whitecrow.anomaly.law]. *)

From Coq Require Import ZArith.
From Coq Require Extraction ExtrOcamlBasic.
From Whitecrow Require Import Discrepancy.

Extraction Language OCaml.
Extraction "law.ml" discrepancy capped is_anomaly novelty_discrepancy would_be_anomaly.
