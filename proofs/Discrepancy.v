(** * The bound lambda on the steps to the other answer

    What is proved here
    - [discrepancy_valid]: the bound of [identify], in both its forms (equation (5) of the paper and
      the tighter one), at radius 0 and elsewhere, for every k and every beta of at least 1, is at
      least 1, changes by at most 1 along every edge of the sensitive graph, and is 1 at both ends of
      an edge on which the answer changes. Where it is "none", it is so on both sides, and the answer
      is the same.
    - [capped_valid]: cutting any such bound at a constant c >= 1 keeps all of that.
    - [counting_stops_early]: the cut bound and the answer need the copies up to beta and the
      neighbours up to beta + c only.
    - [novelty_valid]: the bound of [screen] has these properties on every pair of neighbouring
      databases.
    - [tight_is_larger]: the tighter form is never below equation (5).

    What is assumed
    A proper relation (Databases.v), beta >= 1, k >= 1, and, where the flag for radius 0 is set, that
    close means same place.

    Which Python this is about
    [is_anomaly], [discrepancy], [capped], [novelty_discrepancy] are the functions of these names in
    [whitecrow.anomaly.law]. They are executable; tests/proofs compares them with Python's. *)

From Coq Require Import ZArith Lia List Permutation Bool.
From Whitecrow Require Import Databases.
Import ListNotations.
Local Open Scope Z_scope.

(** ** The executable definitions *)

Definition is_anomaly (copies neighbours beta : Z) : bool :=
  (1 <=? copies) && (neighbours <=? beta).

Definition distance_between_copies (copies beta k : Z) : option Z :=
  if copies <? beta - k then None
  else if copies <=? beta then Some (beta + 1 - copies) else Some (copies - beta).

Definition discrepancy_elsewhere (tight : bool) (copies neighbours beta k : Z) : Z :=
  let tau := beta + 1 - k in
  if copies =? 0 then
    if beta <=? neighbours then 2 + neighbours - beta else Z.max 1 (tau - neighbours)
  else if beta <? neighbours then neighbours - beta
  else
    let missing := if tight then tau - 1 - (neighbours - copies) else tau - neighbours in
    Z.min (beta + 1 - neighbours) (copies + Z.max 0 missing).

Definition discrepancy (radius_is_zero tight : bool) (copies neighbours beta k : Z) : option Z :=
  if radius_is_zero && (k <? beta) then distance_between_copies copies beta k
  else Some (discrepancy_elsewhere tight copies neighbours beta k).

Definition capped (bound : option Z) (cap : Z) : option Z :=
  match bound with None => None | Some n => Some (Z.min n cap) end.

Definition would_be_anomaly (neighbours beta : Z) : bool := neighbours <? beta.

Definition novelty_discrepancy (neighbours beta : Z) : Z :=
  if neighbours <? beta then beta - neighbours else neighbours - beta + 1.

(** ** What a bound must be *)

(** Of two values of the bound at the ends of one edge, with the answers there. *)
Definition agree (left right : option Z) (answer_left answer_right : bool) : Prop :=
  match left, right with
  | None, None => answer_left = answer_right
  | Some m, Some n =>
      1 <= m /\ 1 <= n /\ Z.abs (m - n) <= 1 /\ (answer_left <> answer_right -> m = 1 /\ n = 1)
  | _, _ => False
  end.

Definition valid {D} (joined : D -> D -> Prop) (answer : D -> bool) (bound : D -> option Z) : Prop :=
  forall x y, joined x y -> agree (bound x) (bound y) (answer x) (answer y).

Lemma agree_symmetric m n a b : agree m n a b -> agree n m b a.
Proof.
  destruct m, n; simpl; auto. intros [? [? [? H]]].
  split; [lia | split; [lia | split; [lia |]]].
  intros E; destruct (H (not_eq_sym E)); lia.
Qed.

(** ** The cap *)

Theorem capped_valid {D} (joined : D -> D -> Prop) answer bound cap :
  1 <= cap -> valid joined answer bound -> valid joined answer (fun x => capped (bound x) cap).
Proof.
  intros Hc H x y J; specialize (H x y J); destruct (bound x), (bound y); simpl in *; auto.
  destruct H as [? [? [? H]]]. split; [lia | split; [lia | split; [lia |]]].
  intros E; destruct (H E); lia.
Qed.

(** ** Identify *)

(** Splits every comparison in sight and leaves linear arithmetic. *)
Ltac by_cases :=
  repeat (match goal with
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b)
  | |- context [?a <? ?b] => destruct (Z.ltb_spec a b)
  | |- context [?a =? ?b] => destruct (Z.eqb_spec a b)
  end; try (exfalso; lia)); cbn [andb].

Ltac agreement :=
  first [reflexivity | split; [lia | split; [lia | split; [lia |]]];
         intros E; first [exfalso; apply E; reflexivity | lia]].

(** Some other close record comes: copies stay, neighbours grow by 1. *)
Lemma other_comes tight v n beta k :
  1 <= beta -> 1 <= k -> 0 <= v <= n ->
  agree (Some (discrepancy_elsewhere tight v n beta k))
        (Some (discrepancy_elsewhere tight v (1 + n) beta k))
        (is_anomaly v n beta) (is_anomaly v (1 + n) beta).
Proof.
  intros; unfold agree, discrepancy_elsewhere, is_anomaly; destruct tight; by_cases; agreement.
Qed.

(** A copy comes, and the larger database has tau close records. *)
Lemma copy_comes tight v n beta k :
  1 <= beta -> 1 <= k -> 0 <= v <= n -> beta + 1 - k <= 1 + n ->
  agree (Some (discrepancy_elsewhere tight v n beta k))
        (Some (discrepancy_elsewhere tight (1 + v) (1 + n) beta k))
        (is_anomaly v n beta) (is_anomaly (1 + v) (1 + n) beta).
Proof.
  intros; unfold agree, discrepancy_elsewhere, is_anomaly; destruct tight; by_cases; agreement.
Qed.

(** The same at radius 0; without [k < beta] presence itself would be within reach. *)
Lemma copy_comes_at_radius_zero v beta k :
  1 <= beta -> 1 <= k < beta -> 0 <= v -> beta + 1 - k <= 1 + v ->
  agree (distance_between_copies v beta k) (distance_between_copies (1 + v) beta k)
        (is_anomaly v v beta) (is_anomaly (1 + v) (1 + v) beta).
Proof.
  intros; unfold agree, distance_between_copies, is_anomaly; by_cases; agreement.
Qed.

Lemma unchanged tight v n beta k :
  1 <= beta -> 1 <= k -> 0 <= v <= n ->
  agree (Some (discrepancy_elsewhere tight v n beta k))
        (Some (discrepancy_elsewhere tight v n beta k))
        (is_anomaly v n beta) (is_anomaly v n beta).
Proof.
  intros; unfold agree, discrepancy_elsewhere; destruct tight; by_cases; agreement.
Qed.

Lemma unchanged_at_radius_zero v beta k :
  1 <= beta -> 1 <= k -> 0 <= v ->
  agree (distance_between_copies v beta k) (distance_between_copies v beta k)
        (is_anomaly v v beta) (is_anomaly v v beta).
Proof.
  intros; unfold agree, distance_between_copies; by_cases; agreement.
Qed.

Section Identify.
Context {V : Type} (rel : relation V).

Definition identify_answer (i : V) (beta : Z) (x : list V) : bool :=
  is_anomaly (copies rel i x) (neighbours rel i x) beta.

Definition identify_bound (radius_is_zero tight : bool) (i : V) (beta k : Z) (x : list V) :=
  discrepancy radius_is_zero tight (copies rel i x) (neighbours rel i x) beta k.

Hypothesis is_proper : proper rel.

Lemma copies_are_neighbours i x : 0 <= copies rel i x <= neighbours rel i x.
Proof.
  split; [apply count_nonnegative|]. apply count_le. intros j; apply same_is_close, is_proper.
Qed.

Theorem discrepancy_valid radius_is_zero tight i beta k :
  1 <= beta -> 1 <= k ->
  (radius_is_zero = true -> forall a b, close rel a b = same rel a b) ->
  valid (edge rel beta k) (identify_answer i beta) (identify_bound radius_is_zero tight i beta k).
Proof.
  intros Hb Hk Hr x y E. apply (edge_iff_count rel is_proper) in E; [|exact Hk].
  assert (up : forall j x y, adds j x y -> beta + 1 - k <= neighbours rel j y ->
    agree (identify_bound radius_is_zero tight i beta k x)
          (identify_bound radius_is_zero tight i beta k y)
          (identify_answer i beta x) (identify_answer i beta y)).
  { clear x y E. intros j x y D Hj.
    pose proof (copies_are_neighbours i x) as C.
    pose proof (count_adds (same rel i) _ _ _ D) as Cv.
    pose proof (count_adds (close rel i) _ _ _ D) as Cn.
    fold (copies rel i y) (copies rel i x) in Cv.
    fold (neighbours rel i y) (neighbours rel i x) in Cn.
    assert (Hsame : same rel i j = true -> close rel i j = true /\
                    beta + 1 - k <= neighbours rel i y).
    { intros S; split; [apply (same_is_close _ is_proper _ _ S)|].
      unfold neighbours in Hj |- *.
      rewrite (count_same (close rel i) (close rel j)); [exact Hj|].
      apply (one_place _ is_proper _ _ S). }
    unfold identify_bound, identify_answer, discrepancy; rewrite Cv, Cn in *.
    destruct (radius_is_zero && (k <? beta)) eqn:Z0.
    - apply andb_true_iff in Z0; destruct Z0 as [Z0 Zk].
      apply Z.ltb_lt in Zk.
      assert (Eq : forall z, copies rel i z = neighbours rel i z).
      { intros z; unfold copies, neighbours; apply count_same; intros w.
        symmetry; apply Hr, Z0. }
      rewrite (Hr Z0 i j) in *. rewrite <- (Eq x) in *.
      unfold one in *; destruct (same rel i j); [destruct (Hsame eq_refl)|].
      + apply copy_comes_at_radius_zero; lia.
      + rewrite Z.add_0_l. apply unchanged_at_radius_zero; lia.
    - unfold one in *; destruct (same rel i j); [destruct (Hsame eq_refl) as [S1 S2]; rewrite S1 in *|
        destruct (close rel i j)]; rewrite ?Z.add_0_l in *.
      + apply copy_comes; lia.
      + apply other_comes; lia.
      + apply unchanged; lia. }
  destruct E as [j [[D Hj] | [D Hj]]]; [|apply agree_symmetric]; eapply up; eassumption.
Qed.

End Identify.

Theorem counting_stops_early radius_is_zero tight v n beta k cap :
  1 <= beta -> 1 <= k -> 1 <= cap -> 0 <= v <= n ->
  (radius_is_zero = true -> v = n) ->
  let n' := Z.min n (beta + cap) in
  let v' := if radius_is_zero then n' else Z.min v beta in
  capped (discrepancy radius_is_zero tight v' n' beta k) cap
    = capped (discrepancy radius_is_zero tight v n beta k) cap
  /\ is_anomaly v' n' beta = is_anomaly v n beta.
Proof.
  intros Hb Hk Hc Hv Hr; unfold discrepancy, distance_between_copies, discrepancy_elsewhere, is_anomaly.
  destruct radius_is_zero; simpl andb; cbv zeta iota beta;
    [specialize (Hr eq_refl); subst n|]; destruct tight; by_cases; cbn [capped]; split;
    first [reflexivity | f_equal; lia].
Qed.

Theorem tight_is_larger v n beta k :
  0 <= v <= n ->
  discrepancy_elsewhere false v n beta k <= discrepancy_elsewhere true v n beta k.
Proof. intros; unfold discrepancy_elsewhere; by_cases; lia. Qed.

(** ** Screen *)

Section Screen.
Context {V : Type} (rel : relation V).

Definition screen_answer (i : V) (beta : Z) (x : list V) : bool :=
  would_be_anomaly (neighbours rel i x) beta.

Definition screen_bound (i : V) (beta : Z) (x : list V) : option Z :=
  Some (novelty_discrepancy (neighbours rel i x) beta).

Lemma one_more_neighbour n beta :
  agree (Some (novelty_discrepancy n beta)) (Some (novelty_discrepancy (1 + n) beta))
        (would_be_anomaly n beta) (would_be_anomaly (1 + n) beta).
Proof.
  unfold agree, novelty_discrepancy, would_be_anomaly; by_cases; agreement.
Qed.

(** No property of the relation is needed, and nothing of beta. *)
Theorem novelty_valid i beta :
  valid neighbouring (screen_answer i beta) (screen_bound i beta).
Proof.
  assert (up : forall j x y, adds j x y ->
    agree (screen_bound i beta x) (screen_bound i beta y)
          (screen_answer i beta x) (screen_answer i beta y)).
  { intros j x y D. unfold screen_bound, screen_answer, neighbours.
    rewrite (count_adds (close rel i) _ _ _ D). unfold one; destruct (close rel i j).
    - apply one_more_neighbour.
    - rewrite Z.add_0_l. unfold agree, novelty_discrepancy; by_cases; agreement. }
  intros x y [j [D | D]]; [|apply agree_symmetric]; eapply up; eassumption.
Qed.

Theorem screen_stops_early n beta cap :
  1 <= cap -> 0 <= n ->
  let n' := Z.min n (beta + cap) in
  capped (Some (novelty_discrepancy n' beta)) cap = capped (Some (novelty_discrepancy n beta)) cap
  /\ would_be_anomaly n' beta = would_be_anomaly n beta.
Proof.
  intros; subst n'; unfold capped, novelty_discrepancy, would_be_anomaly; by_cases; split;
    first [reflexivity | f_equal; lia].
Qed.

End Screen.
