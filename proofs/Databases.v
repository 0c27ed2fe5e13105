(** * Databases, neighbours and the sensitive graph

    What is proved here
    - [sensitive_iff_count]: Lemma 1 of identify/proof.md. A record is k-sensitive exactly if at
      least beta + 1 - k records are close to it.
    - [edge_iff_count]: two databases are joined in the sensitive graph exactly if the record in
      which they differ has that many close records in the larger one.
    - [every_pair_is_an_edge]: for k >= beta every pair of neighbouring databases is an edge, which
      is differential privacy.

    What is assumed
    A database is a list of records in any order. "Close" and "same place" are any two fixed yes/no
    functions of a pair of records that are [proper], below: every record is close to itself, and
    records of one place are close to the same records. Nothing else is asked: no metric, no
    symmetry, no bound on the number of records or on their values.

    Which Python this is about
    [neighbours] and [copies] are the two counts that [whitecrow.identify.facts.gather] takes from an
    engine. That an engine returns these counts is tested, not proved here. *)

From Coq Require Import ZArith Lia List Permutation Bool.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Relations between records *)

Record relation (V : Type) := { close : V -> V -> bool; same : V -> V -> bool }.
Arguments close {V}. Arguments same {V}.

Record proper {V} (rel : relation V) : Prop := {
  close_to_itself : forall i, close rel i i = true;
  same_as_itself : forall i, same rel i i = true;
  one_place : forall i j, same rel i j = true -> forall z, close rel i z = close rel j z }.

Lemma same_is_close {V} (rel : relation V) :
  proper rel -> forall i j, same rel i j = true -> close rel i j = true.
Proof.
  intros P i j H. rewrite (one_place _ P i j H). apply (close_to_itself _ P).
Qed.

(** ** Databases *)

Definition count {V} (p : V -> bool) (x : list V) : Z := Z.of_nat (length (filter p x)).

Definition one (b : bool) : Z := if b then 1 else 0.

Lemma count_cons {V} (p : V -> bool) j x : count p (j :: x) = one (p j) + count p x.
Proof. unfold count, one; simpl; destruct (p j); simpl length; lia. Qed.

Lemma count_nonnegative {V} (p : V -> bool) x : 0 <= count p x.
Proof. unfold count; lia. Qed.

Lemma count_permutation {V} (p : V -> bool) x y : Permutation x y -> count p x = count p y.
Proof. induction 1; rewrite ?count_cons; lia. Qed.

Lemma count_le {V} (p q : V -> bool) x :
  (forall z, p z = true -> q z = true) -> count p x <= count q x.
Proof.
  intros H; induction x as [|j x IH]; [unfold count; simpl; lia|].
  rewrite !count_cons; specialize (H j); unfold one; destruct (p j), (q j); try lia;
    discriminate H; reflexivity.
Qed.

Lemma count_same {V} (p q : V -> bool) x : (forall z, p z = q z) -> count p x = count q x.
Proof. intros H; apply Z.le_antisymm; apply count_le; intros z; rewrite H; auto. Qed.

(** The database [y] is [x] with the record [j] added. *)
Definition adds {V} (j : V) (x y : list V) : Prop := Permutation y (j :: x).

(** The record [j] was added or removed. *)
Definition differ {V} (j : V) (x y : list V) : Prop := adds j x y \/ adds j y x.

Definition neighbouring {V} (x y : list V) : Prop := exists j, differ j x y.

Lemma count_adds {V} (p : V -> bool) j x y : adds j x y -> count p y = one (p j) + count p x.
Proof. intros H; rewrite <- count_cons; apply count_permutation; exact H. Qed.

(** [within n x y]: at most [n] insertions or removals lead from [x] to [y]. *)
Inductive within {V} : nat -> list V -> list V -> Prop :=
| here : forall n x y, Permutation x y -> within n x y
| further : forall n x y z, within n x y -> neighbouring y z -> within (S n) x z.

(** ** Sensitive records *)

Section Sensitive.
Context {V : Type} (rel : relation V).

Definition copies (i : V) (x : list V) : Z := count (same rel i) x.
Definition neighbours (i : V) (x : list V) : Z := count (close rel i) x.

(** [i] can be made present and normal (more than beta close records) by at most k changes. *)
Definition sensitive (beta k : Z) (x : list V) (i : V) : Prop :=
  exists y, within (Z.to_nat k) x y /\ 1 <= copies i y /\ beta < neighbours i y.

(** The sensitive graph: the record that came or went is sensitive for one of the two. *)
Definition edge (beta k : Z) (x y : list V) : Prop :=
  exists j, differ j x y /\ (sensitive beta k x j \/ sensitive beta k y j).

Hypothesis is_proper : proper rel.

Lemma neighbours_within i n x y : within n x y -> neighbours i y <= neighbours i x + Z.of_nat n.
Proof.
  induction 1 as [n x y H | n x y z H IH [j D]].
  - unfold neighbours; rewrite (count_permutation _ _ _ H); lia.
  - assert (neighbours i z <= neighbours i y + 1).
    { unfold neighbours; destruct D as [D | D]; rewrite (count_adds _ _ _ _ D);
        unfold one; destruct (close rel i j); lia. }
    lia.
Qed.

Fixpoint insert_copies (n : nat) (i : V) (x : list V) : list V :=
  match n with O => x | S n => i :: insert_copies n i x end.

Lemma insert_copies_within n i x : within n x (insert_copies n i x).
Proof.
  induction n as [|n IH]; simpl.
  - constructor; apply Permutation_refl.
  - apply further with (insert_copies n i x); [exact IH|].
    exists i; left; apply Permutation_refl.
Qed.

Lemma insert_copies_count p n (i : V) x :
  p i = true -> count p (insert_copies n i x) = Z.of_nat n + count p x.
Proof.
  intros H; induction n as [|n IH]; [simpl insert_copies; lia|].
  cbn [insert_copies]; rewrite count_cons, IH, H; unfold one; lia.
Qed.

Theorem sensitive_iff_count beta k x i :
  1 <= k -> (sensitive beta k x i <-> beta + 1 - k <= neighbours i x).
Proof.
  intros Hk; split.
  - intros [y [W [_ B]]]. apply (neighbours_within i) in W. lia.
  - intros B. exists (insert_copies (Z.to_nat k) i x); split; [apply insert_copies_within|].
    unfold copies, neighbours; split; rewrite insert_copies_count.
    + pose proof (count_nonnegative (same rel i) x); lia.
    + apply (same_as_itself _ is_proper).
    + unfold neighbours in B; lia.
    + apply (close_to_itself _ is_proper).
Qed.

Lemma larger_has_more j x y : adds j x y -> neighbours j y = 1 + neighbours j x.
Proof.
  intros H; unfold neighbours; rewrite (count_adds _ _ _ _ H), (close_to_itself _ is_proper).
  reflexivity.
Qed.

Theorem edge_iff_count beta k x y :
  1 <= k ->
  (edge beta k x y <->
   exists j, (adds j x y /\ beta + 1 - k <= neighbours j y)
          \/ (adds j y x /\ beta + 1 - k <= neighbours j x)).
Proof.
  intros Hk; split; intros [j H]; exists j.
  - destruct H as [[D | D] H]; [left | right]; (split; [exact D|]);
      pose proof (larger_has_more _ _ _ D); rewrite !sensitive_iff_count in H by exact Hk;
      destruct H; lia.
  - destruct H as [[D B] | [D B]]; (split; [unfold differ; tauto|]);
      rewrite !sensitive_iff_count by exact Hk; tauto.
Qed.

Theorem every_pair_is_an_edge beta k x y :
  1 <= k -> beta <= k -> neighbouring x y -> edge beta k x y.
Proof.
  intros Hk Hb [j D]. apply edge_iff_count; [exact Hk|]. exists j.
  destruct D as [D | D]; [left | right]; (split; [exact D|]);
    rewrite (larger_has_more _ _ _ D).
  - pose proof (count_nonnegative (close rel j) x); unfold neighbours; lia.
  - pose proof (count_nonnegative (close rel j) y); unfold neighbours; lia.
Qed.

End Sensitive.
