(** * Any number of answers at one price

    What is proved here
    - [screening_one_more]: for any adaptive strategy of any length, the a-th moment of the likelihood
      ratio of a database with one more record over the one without is at most z^-k.
    - [screening_one_fewer]: the same the other way round.

    What is assumed
    Chances lie strictly between 0 and 1, and those at neighbouring counts keep the two inequalities
    [may_stand] for the order a and the weight z; [whitecrow.screening.law.keeps] decides them. From
    the moment to epsilon and delta is prose (screening/proof.md 3). Which records lie in a ball is a
    fixed predicate of the question.

    Which Python this is about
    [whitecrow.screening.mechanism.Counters] (who is active, what a flag changes) and
    [whitecrow.screening.mechanism.answered] (the answer's chance depends on the count of active
    records alone). *)

From Coq Require Import Reals Lra Lia List Bool PeanoNat.
Import ListNotations.
Local Open Scope R_scope.

Section Screening.
Context {P : Type}.
Variables (chance : nat -> R) (a k : nat) (z : R).

(** A record and its counter; the data are a list of them. *)
Definition world := list (P * nat).

Definition active_in (ball : P -> bool) (r : P * nat) : bool := ball (fst r) && (snd r <? k)%nat.

Definition count (ball : P -> bool) (w : world) : nat := length (filter (active_in ball) w).

(** After "anomaly" every active record of the ball adds 1 to its counter. *)
Definition flag_one (ball : P -> bool) (r : P * nat) : P * nat :=
  if active_in ball r then (fst r, S (snd r)) else r.

Definition flag (ball : P -> bool) (w : world) : world := map (flag_one ball) w.

(** Which ball comes next may depend on every answer so far. *)
Inductive strategy :=
| stop
| ask (ball : P -> bool) (normal anomaly : strategy).

(** The a-th moment, under [u], of the chance of the answers under [v] over that under [u]. *)
Definition part (p q : R) : R := p * (q / p) ^ a.

Fixpoint moment (s : strategy) (u v : world) : R :=
  match s with
  | stop => 1
  | ask ball normal anomaly =>
      let p := chance (count ball u) in
      let q := chance (count ball v) in
      part (1 - p) (1 - q) * moment normal u v
      + part p q * moment anomaly (flag ball u) (flag ball v)
  end.

Definition may_stand (p q : R) : Prop := part (1 - p) (1 - q) + part p q * z <= 1.

Hypothesis chances : forall c, 0 < chance c < 1.
Hypothesis weight : 0 < z <= 1.
Hypothesis one_more : forall c, may_stand (chance c) (chance (S c)).
Hypothesis one_fewer : forall c, may_stand (chance (S c)) (chance c).

Lemma part_positive p q : 0 < p -> 0 < q -> 0 <= part p q.
Proof.
  intros Hp Hq. unfold part. apply Rmult_le_pos; [lra |].
  apply pow_le. apply Rlt_le, Rdiv_lt_0_compat; lra.
Qed.

Lemma part_same p : 0 < p -> part p p = p.
Proof.
  intros Hp. unfold part. replace (p / p) with 1 by (field; lra). rewrite pow1. lra.
Qed.

(** What may still be lost by a record that counted [n] flags. *)
Definition left_for (n : nat) : R := (/ z) ^ (k - n).

Lemma left_positive n : 0 < left_for n.
Proof. apply pow_lt, Rinv_0_lt_compat. lra. Qed.

Lemma left_step n : (n < k)%nat -> left_for (S n) = z * left_for n.
Proof.
  intros H. unfold left_for. replace (k - n)%nat with (S (k - S n)) by lia. simpl.
  rewrite <- Rmult_assoc, Rinv_r by lra. lra.
Qed.

Lemma count_more ball x n w :
  count ball ((x, n) :: w) =
  if active_in ball (x, n) then S (count ball w) else count ball w.
Proof. unfold count. simpl. destruct (active_in ball (x, n)); reflexivity. Qed.

Lemma active_below ball x n : active_in ball (x, n) = true -> (n < k)%nat.
Proof.
  unfold active_in. simpl. intros H. apply andb_prop in H. apply Nat.ltb_lt, H.
Qed.

(** One question: what is gained by either answer, weighed, is no more than what was left. *)
Lemma weighed p q n normal anomaly :
  0 < p < 1 -> 0 < q < 1 -> (n < k)%nat -> may_stand p q ->
  normal <= left_for n -> anomaly <= left_for (S n) ->
  part (1 - p) (1 - q) * normal + part p q * anomaly <= left_for n.
Proof.
  intros Hp Hq Hn H Hnormal Hanomaly.
  assert (P1 : 0 <= part (1 - p) (1 - q)) by (apply part_positive; lra).
  assert (P2 : 0 <= part p q) by (apply part_positive; lra).
  pose proof (left_positive n) as L.
  rewrite left_step in Hanomaly by exact Hn. unfold may_stand in H.
  apply Rle_trans with (part (1 - p) (1 - q) * left_for n + part p q * (z * left_for n)).
  - apply Rplus_le_compat; apply Rmult_le_compat_l; assumption.
  - replace (part (1 - p) (1 - q) * left_for n + part p q * (z * left_for n))
      with ((part (1 - p) (1 - q) + part p q * z) * left_for n) by ring.
    rewrite <- (Rmult_1_l (left_for n)) at 2. apply Rmult_le_compat_r; lra.
Qed.

Lemma alike p n normal anomaly :
  0 < p < 1 -> normal <= left_for n -> anomaly <= left_for n ->
  part (1 - p) (1 - p) * normal + part p p * anomaly <= left_for n.
Proof.
  intros Hp Hnormal Hanomaly. rewrite !part_same by lra.
  apply Rle_trans with ((1 - p) * left_for n + p * left_for n); [| lra].
  apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Lemma flag_more ball x n w :
  flag ball ((x, n) :: w) =
  (if active_in ball (x, n) then (x, S n) else (x, n)) :: flag ball w.
Proof. unfold flag. simpl. unfold flag_one at 1. destruct (active_in ball (x, n)); reflexivity. Qed.

Lemma left_at_least_one n : 1 <= left_for n.
Proof.
  unfold left_for. apply pow_R1_Rle. rewrite <- Rinv_1 at 1. apply Rinv_le_contravar; lra.
Qed.

Theorem screening_one_more s : forall w x n, moment s w ((x, n) :: w) <= left_for n.
Proof.
  induction s as [|ball normal IHn anomaly IHa]; intros w x n; cbn [moment].
  - apply left_at_least_one.
  - rewrite count_more, flag_more. destruct (active_in ball (x, n)) eqn:E.
    + apply weighed; auto. apply active_below with ball x; exact E.
    + apply alike; auto.
Qed.

Theorem screening_one_fewer s : forall w x n, moment s ((x, n) :: w) w <= left_for n.
Proof.
  induction s as [|ball normal IHn anomaly IHa]; intros w x n; cbn [moment].
  - apply left_at_least_one.
  - rewrite count_more, flag_more. destruct (active_in ball (x, n)) eqn:E.
    + apply weighed; auto. apply active_below with ball x; exact E.
    + apply alike; auto.
Qed.

End Screening.
