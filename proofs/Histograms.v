(** * Noisy histograms, and whatever is computed from them

    What is proved here
    - [laplace_vector_private]: whole numbers with discrete Laplace noise: the probability of each
      vector of outputs changes by at most e to the l1 distance over the scale.
    - [one_record_moves_one_cell]: one record more or less moves a histogram by exactly 1 in one cell.
    - [histograms_private]: histograms asked for one after the other, each laid out from what the earlier
      ones released, lose the sum of 1/scale on every pair of neighbouring databases.
    - [histograms_share_the_price]: T histograms, each with scale T c / epsilon, lose epsilon for
      everyone who has at most c records.
    - [post_processing]: a function of what was released loses no more (any finite set of outputs that
      lead to one result).

    What is assumed
    Scales are positive. Each noisy number is drawn independently from exactly the discrete Laplace
    law (Coins.v and noise/proof.md). Gaussian noise, thresholds and replace-one are prose.

    Which Python this is about
    [whitecrow.learning.training.train] with [NoiseBudget("laplace", ...)], [learn.budget.NoiseBudget.histograms];
    [lookahead] where every cell is perturbed. *)

From Coq Require Import ZArith Reals Lra Lia List Permutation Bool.
From Whitecrow Require Import Databases Construction Composition.
Import ListNotations.
Local Open Scope R_scope.

(** ** One noisy number, and a vector of them *)

(** The probability of a noise of [k], up to the factor that makes the sum 1. *)
Definition laplace (scale factor : R) (k : Z) : R := factor * exp (- (IZR (Z.abs k) / scale)).

Fixpoint vector (scale factor : R) (true outputs : list Z) : R :=
  match true, outputs with
  | [], [] => 1
  | x :: xs, o :: os => laplace scale factor (o - x) * vector scale factor xs os
  | _, _ => 0
  end.

Fixpoint distance (x y : list Z) : Z :=
  match x, y with a :: x, b :: y => (Z.abs (a - b) + distance x y)%Z | _, _ => 0%Z end.

Lemma laplace_positive scale factor k : 0 < factor -> 0 < laplace scale factor k.
Proof. intros H; apply Rmult_lt_0_compat; [exact H | apply exp_pos]. Qed.

Lemma vector_nonnegative scale factor x : forall o, 0 < factor -> 0 <= vector scale factor x o.
Proof.
  induction x as [|a x IH]; intros [|b o] H; simpl; try lra.
  apply Rmult_le_pos; [left; apply laplace_positive, H | apply IH, H].
Qed.

Lemma laplace_shift scale factor o a b :
  0 < scale -> 0 < factor ->
  laplace scale factor (o - a)
    <= exp (IZR (Z.abs (a - b)) / scale) * laplace scale factor (o - b).
Proof.
  intros Hs Hf. unfold laplace. rewrite (Rmult_comm (exp _)), Rmult_assoc, <- exp_plus.
  apply Rmult_le_compat_l; [lra|]. apply exp_monotone.
  assert (T : (Z.abs (o - b) <= Z.abs (o - a) + Z.abs (a - b))%Z) by lia.
  apply IZR_le in T. rewrite plus_IZR in T.
  assert (I : 0 < / scale) by (apply Rinv_0_lt_compat, Hs). unfold Rdiv. nra.
Qed.

Theorem laplace_vector_private scale factor x :
  0 < scale -> 0 < factor -> forall y o, length x = length y ->
  vector scale factor x o <= exp (IZR (distance x y) / scale) * vector scale factor y o.
Proof.
  intros Hs Hf; induction x as [|a x IH]; intros [|b y] [|c o] L; simpl in *; try discriminate L;
    try lra.
  - unfold Rdiv; rewrite Rmult_0_l, exp_0. lra.
  - injection L as L. rewrite plus_IZR.
    replace ((IZR (Z.abs (a - b)) + IZR (distance x y)) / scale)
      with (IZR (Z.abs (a - b)) / scale + IZR (distance x y) / scale) by (field; lra).
    rewrite exp_plus.
    apply Rle_trans with ((exp (IZR (Z.abs (a - b)) / scale) * laplace scale factor (c - b))
      * (exp (IZR (distance x y) / scale) * vector scale factor y o)).
    + apply Rmult_le_compat;
        [left; apply laplace_positive, Hf | apply vector_nonnegative, Hf
        | apply laplace_shift; assumption | apply IH, L].
    + right; ring.
Qed.

(** ** Histograms *)

Section Histograms.
Context {V : Type}.

(** A histogram: how many cells there are, and in which one a record falls. *)
Record histogram := { cells : nat; cell : V -> nat; scale : R; factor : R }.

Definition counts (h : histogram) (x : list V) : list Z :=
  map (fun c => count (fun v => Nat.eqb (cell h v) c) x) (seq 0 (cells h)).

Definition histogram_law (h : histogram) (x : list V) (outputs : list Z) : R :=
  vector (scale h) (factor h) (counts h x) outputs.

Definition sound (h : histogram) : Prop := 0 < scale h /\ 0 < factor h.

Lemma distance_symmetric x : forall y, distance x y = distance y x.
Proof. induction x as [|a x IH]; intros [|b y]; simpl; try reflexivity. rewrite IH. lia. Qed.

Lemma distance_of_maps (f g : nat -> Z) place n : forall start,
  (forall c, (start <= c)%nat -> c <> place -> f c = g c) -> (Z.abs (f place - g place) <= 1)%Z ->
  (distance (map f (seq start n)) (map g (seq start n)) <= if (place <? start)%nat then 0 else 1)%Z.
Proof.
  induction n as [|n IH]; intros start H H1; cbn [seq map distance].
  - destruct (place <? start)%nat; lia.
  - specialize (IH (S start) (fun c Hc => H c ltac:(lia)) H1).
    destruct (Nat.eq_dec start place) as [-> | N].
    + rewrite (proj2 (Nat.ltb_ge place place)) by lia.
      rewrite (proj2 (Nat.ltb_lt place (S place))) in IH by lia. lia.
    + rewrite (H start) by lia. destruct (Nat.ltb_spec place start);
        destruct (Nat.ltb_spec place (S start)); lia.
Qed.

Theorem one_record_moves_one_cell h j x y :
  adds j x y -> (distance (counts h x) (counts h y) <= 1)%Z.
Proof.
  intros A. unfold counts. eapply Z.le_trans; [apply distance_of_maps with (place := cell h j)|].
  - intros c _ N. rewrite (count_adds _ _ _ _ A).
    rewrite (proj2 (Nat.eqb_neq (cell h j) c)) by congruence. reflexivity.
  - rewrite (count_adds _ _ _ _ A), Nat.eqb_refl. unfold one. lia.
  - destruct (_ <? _)%nat; simpl; lia.
Qed.

Lemma histogram_loses h x y :
  sound h -> neighbouring x y -> loses histogram_law (fun h => 1 / scale h) x y h.
Proof.
  intros [Hs Hf] [j D] o. unfold histogram_law.
  eapply Rle_trans; [apply laplace_vector_private with (y := counts h y); try assumption|].
  - unfold counts. rewrite !map_length. reflexivity.
  - apply Rmult_le_compat_r; [apply vector_nonnegative, Hf|]. apply exp_monotone.
    assert (L : (distance (counts h x) (counts h y) <= 1)%Z).
    { destruct D as [D | D]; [|rewrite distance_symmetric]; eapply one_record_moves_one_cell, D. }
    apply IZR_le in L. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Hs | exact L].
Qed.

(** Which histogram comes next, its cells and its scale may follow from what was released. *)
Theorem histograms_private (s : session histogram (list Z)) x y :
  every sound s -> neighbouring x y ->
  forall t, transcript histogram_law s x t
              <= exp (total (fun h => 1 / scale h) s t) * transcript histogram_law s y t.
Proof.
  intros W N. apply adaptive_composition.
  - clear N; induction s as [|h next IH]; simpl in *; [exact I|]. destruct W as [[_ Hf] W].
    split; [intros z o; apply vector_nonnegative, Hf | intros a; apply IH, W].
  - induction s as [|h next IH]; simpl in *; [exact I|]. destruct W as [Wh W].
    split; [apply histogram_loses; assumption | intros a; apply IH, W].
Qed.

(** At most [n] histograms, each of the scale that a part of the price buys. *)
Fixpoint at_most (n : nat) (least : R) (s : session histogram (list Z)) : Prop :=
  match s, n with
  | finished, _ => True
  | ask _ _, O => False
  | ask h next, S m => least <= scale h /\ forall a, at_most m least (next a)
  end.

Lemma total_at_most least s : 0 < least -> every sound s -> forall n t,
  at_most n least s -> total (fun h => 1 / scale h) s t <= INR n / least.
Proof.
  intros Hl; induction s as [|h next IH]; intros W n t A.
  - simpl. apply Rmult_le_pos; [apply pos_INR | left; apply Rinv_0_lt_compat, Hl].
  - destruct n as [|m]; simpl in A; [contradiction|]. destruct A as [Ah A], W as [[Hs _] W].
    assert (P : 0 <= INR (S m) / least)
      by (apply Rmult_le_pos; [apply pos_INR | left; apply Rinv_0_lt_compat, Hl]).
    destruct t as [|a t]; [exact P|].
    cbn [total]. specialize (IH a (W a) m t (A a)).
    rewrite S_INR. unfold Rdiv in *. rewrite Rmult_plus_distr_r.
    assert (/ scale h <= / least) by (apply Rinv_le_contravar; lra). lra.
Qed.

Theorem histograms_share_the_price (s : session histogram (list Z)) (n records : nat) epsilon x y :
  (1 <= n)%nat -> (1 <= records)%nat -> 0 < epsilon -> every sound s ->
  at_most n (INR n * INR records / epsilon) s ->
  path neighbouring records x y ->
  forall t, transcript histogram_law s x t <= exp epsilon * transcript histogram_law s y t.
Proof.
  intros Hn Hr He W A P t. apply le_INR in Hn, Hr. simpl INR in Hn, Hr.
  assert (L : 0 < INR n * INR records / epsilon)
    by (apply Rmult_lt_0_compat; [nra | apply Rinv_0_lt_compat, He]).
  pose proof (group_privacy (fun x t => transcript histogram_law s x t) neighbouring
    (INR n / (INR n * INR records / epsilon))) as G.
  replace epsilon with (INR records * (INR n / (INR n * INR records / epsilon))) at 1
    by (field; lra).
  apply G; [|exact P]. clear x y P t. intros x y t N.
  eapply Rle_trans; [apply histograms_private; [exact W | exact N]|].
  apply Rmult_le_compat_r.
  - apply transcript_nonnegative. clear - W. induction s as [|h next IH]; simpl in *; [exact I|].
    destruct W as [[_ Hf] W]. split; [intros z o; apply vector_nonnegative, Hf | auto].
  - apply exp_monotone, total_at_most; assumption.
Qed.

End Histograms.

(** ** Post-processing *)

(** Whatever is made of the outputs: the outputs that lead to one result are a set of outputs. *)
Theorem post_processing {A B : Type} (same_result : B -> B -> bool) (make : A -> B)
    (one other : A -> R) loss (outputs : list A) (result : B) :
  (forall a, one a <= exp loss * other a) ->
  let leading := filter (fun a => same_result (make a) result) outputs in
  fold_right (fun a sum => one a + sum) 0 leading
    <= exp loss * fold_right (fun a sum => other a + sum) 0 leading.
Proof.
  intros H leading; induction leading as [|a rest IH]; simpl; [lra|]. specialize (H a). lra.
Qed.
