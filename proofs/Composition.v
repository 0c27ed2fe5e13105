(** * Many questions, chosen one after the other

    What is proved here
    - [adaptive_composition]: whatever is asked next may depend on all earlier answers; the probability
      of a transcript changes by at most e to the sum of what its questions lose on this pair.
    - [composition_over_balls]: for [identify] and [screen] questions in any order, with any mixture of
      relations, records, beta, k and epsilon, the record [j] that came or went loses at most the sum
      of epsilon over the questions whose ball holds [j]; the others lose nothing. Only the questions
      whose ball holds it need to protect it.
    - [price_bounds_every_transcript]: if that sum never exceeds a total, neither does the loss, for
      transcripts and for sets of transcripts.
    - [largest_depth_bounds_every_point]: the ledger's way to the largest sum. If each ball's recorded
      depth bounds the sum at every point of that ball over itself and the balls asked before it, or
      is what was charged before plus its epsilon, the largest recorded depth bounds the sum at every
      point. [giving_back_keeps_depths]: this stays so when a ball is given back.
    - [group_privacy]: c changes lose at most c times what one change loses.

    What is assumed
    Answers have probabilities, and these are not negative. All questions look at one database under
    one reading. The depths themselves (how much balls overlap, in floating point) are computed by
    [whitecrow.place.depth] and tested, not proved here.

    Which Python this is about
    [whitecrow.place.overlap], the located part of the ledger's price; [privacy.compose] for the
    sum on one pair; [Card.contribution] for [group_privacy]. *)

From Coq Require Import ZArith Reals Lra Lia List Permutation Bool.
From Whitecrow Require Import Databases Discrepancy Construction.
Import ListNotations.
Local Open Scope R_scope.

(** ** Sessions: which question comes next may depend on every answer so far *)

Inductive session (Q A : Type) :=
| finished
| ask (question : Q) (next : A -> session Q A).
Arguments finished {Q A}. Arguments ask {Q A}.

Section Adaptive.
Context {Q A D : Type} (law : Q -> D -> A -> R).

(** The probability of the whole list of answers. *)
Fixpoint transcript (s : session Q A) (x : D) (answers : list A) : R :=
  match s, answers with
  | finished, [] => 1
  | ask q next, a :: rest => law q x a * transcript (next a) x rest
  | _, _ => 0
  end.

(** What a transcript loses where the question [q] loses [loss q]. *)
Fixpoint total (loss : Q -> R) (s : session Q A) (answers : list A) : R :=
  match s, answers with
  | ask q next, a :: rest => loss q + total loss (next a) rest
  | _, _ => 0
  end.

(** A property of every question that can be reached. *)
Fixpoint every (P : Q -> Prop) (s : session Q A) : Prop :=
  match s with
  | finished => True
  | ask q next => P q /\ forall a, every P (next a)
  end.

Definition never_negative (q : Q) : Prop := forall x a, 0 <= law q x a.

Definition loses (loss : Q -> R) (x y : D) (q : Q) : Prop :=
  forall a, law q x a <= exp (loss q) * law q y a.

Lemma transcript_nonnegative s : every never_negative s -> forall x t, 0 <= transcript s x t.
Proof.
  induction s as [|q next IH]; intros H x [|a t]; simpl; try lra.
  destruct H as [Hq H]. apply Rmult_le_pos; [apply Hq | apply IH, H].
Qed.

Theorem adaptive_composition loss x y s :
  every never_negative s -> every (loses loss x y) s ->
  forall t, transcript s x t <= exp (total loss s t) * transcript s y t.
Proof.
  induction s as [|q next IH]; intros N L [|a t]; simpl; rewrite ?exp_0; try lra.
  destruct N as [Nq N], L as [Lq L]. specialize (IH a (N a) (L a) t).
  rewrite exp_plus.
  apply Rle_trans with ((exp (loss q) * law q y a) * (exp (total loss (next a) t) * transcript (next a) y t)).
  - apply Rmult_le_compat; [apply Nq | apply transcript_nonnegative, N | apply Lq | exact IH].
  - right; ring.
Qed.

(** A set of transcripts. *)
Fixpoint sum_of (f : list A -> R) (among : list (list A)) : R :=
  match among with [] => 0 | t :: rest => f t + sum_of f rest end.

Theorem price_bounds_every_transcript loss x y s price :
  every never_negative s -> every (loses loss x y) s ->
  (forall t, total loss s t <= price) ->
  (forall t, transcript s x t <= exp price * transcript s y t) /\
  (forall among, sum_of (transcript s x) among <= exp price * sum_of (transcript s y) among).
Proof.
  intros N L B.
  assert (P : forall t, transcript s x t <= exp price * transcript s y t).
  { intros t. eapply Rle_trans; [apply (adaptive_composition loss x y); assumption|].
    apply Rmult_le_compat_r; [apply transcript_nonnegative, N | apply exp_monotone, B]. }
  split; [exact P|]. induction among as [|t rest IH]; simpl; [lra|]. specialize (P t). lra.
Qed.

End Adaptive.

(** ** Questions about places *)

Inductive place_question (V : Type) :=
| Identify (rel : relation V) (radius_is_zero tight : bool) (i : V) (beta k cap : Z) (epsilon : R)
| Screen (rel : relation V) (i : V) (beta cap : Z) (epsilon : R).
Arguments Identify {V}. Arguments Screen {V}.

Section Places.
Context {V : Type}.

Definition place_law (q : place_question V) (x : list V) : bool -> R :=
  match q with
  | Identify rel zero tight i beta k cap epsilon => identify_law rel zero tight i beta k cap epsilon x
  | Screen rel i beta cap epsilon => screen_law rel i beta cap epsilon x
  end.

Definition well_formed (q : place_question V) : Prop :=
  match q with
  | Identify rel zero tight i beta k cap epsilon =>
      proper rel /\ (1 <= beta)%Z /\ (1 <= k)%Z /\ (1 <= cap)%Z /\ 0 <= epsilon /\
      (zero = true -> forall a b, close rel a b = same rel a b)
  | Screen rel i beta cap epsilon => (1 <= cap)%Z /\ 0 <= epsilon
  end.

(** Whether the record lies in the question's ball. *)
Definition holds (q : place_question V) (j : V) : bool :=
  match q with Identify rel _ _ i _ _ _ _ | Screen rel i _ _ _ => close rel i j end.

Definition price_of (q : place_question V) : R :=
  match q with Identify _ _ _ _ _ _ _ epsilon | Screen _ _ _ _ epsilon => epsilon end.

(** Whether the question's promise covers this record on this pair. *)
Definition covers (j : V) (x y : list V) (q : place_question V) : Prop :=
  match q with
  | Identify rel _ _ _ beta k _ _ => sensitive rel beta k x j \/ sensitive rel beta k y j
  | Screen _ _ _ _ _ => True
  end.

Definition located_loss (j : V) (q : place_question V) : R := if holds q j then price_of q else 0.

Lemma count_outside (p : V -> bool) j x y : differ j x y -> p j = false -> count p x = count p y.
Proof.
  intros [D | D] H; rewrite (count_adds _ _ _ _ D), H; unfold one; lia.
Qed.

Lemma nothing_lost_outside q j x y :
  well_formed q -> differ j x y -> holds q j = false ->
  forall output, place_law q x output = place_law q y output.
Proof.
  intros W D H output; destruct q as [rel zero tight i beta k cap epsilon | rel i beta cap epsilon];
    simpl in *.
  - destruct W as [P _].
    unfold identify_law, identify_answer, identify_bound, copies, neighbours.
    rewrite (count_outside (close rel i) j x y D H), (count_outside (same rel i) j x y D);
      [reflexivity|].
    destruct (same rel i j) eqn:S; [|reflexivity].
    rewrite (same_is_close _ P _ _ S) in H; discriminate H.
  - unfold screen_law, screen_answer, screen_bound, neighbours.
    rewrite (count_outside (close rel i) j x y D H); reflexivity.
Qed.

Lemma located_question_loses q j x y :
  well_formed q -> differ j x y -> (holds q j = true -> covers j x y q) ->
  loses place_law (located_loss j) x y q.
Proof.
  intros W D C output; unfold located_loss; destruct (holds q j) eqn:H.
  - specialize (C eq_refl).
    destruct q as [rel zero tight i beta k cap epsilon | rel i beta cap epsilon];
      cbn [place_law price_of covers well_formed] in *.
    + destruct W as [P [Hb [Hk [Hc [He Hr]]]]].
      apply identify_sensitively_private; try assumption. exists j; split; assumption.
    + destruct W as [Hc He]. apply screen_differentially_private; try assumption.
      exists j; exact D.
  - rewrite exp_0, Rmult_1_l. right; apply nothing_lost_outside with j; assumption.
Qed.

Lemma place_law_nonnegative q : well_formed q -> never_negative place_law q.
Proof.
  intros W x output.
  destruct q as [rel zero tight i beta k cap epsilon | rel i beta cap epsilon];
    cbn [place_law well_formed] in *.
  - destruct W as [P [Hb [Hk [Hc [He Hr]]]]]. unfold identify_law.
    apply is_a_law; [exact He|]. intros n E.
    pose proof (copies_are_neighbours rel P i x) as C.
    unfold identify_bound, discrepancy in E.
    destruct (zero && (k <? beta)%Z) eqn:Z0; cbn [capped] in E.
    + unfold distance_between_copies in E.
      destruct (Z.ltb_spec (copies rel i x) (beta - k)); [discriminate E|].
      destruct (Z.leb_spec (copies rel i x) beta); cbn [capped] in E; injection E as <-; lia.
    + injection E as <-.
      pose proof (unchanged tight _ _ beta k Hb Hk C) as U; simpl in U. lia.
  - destruct W as [Hc He]. unfold screen_law. apply is_a_law; [exact He|]. intros n E.
    unfold screen_bound in E; cbn [capped] in E; injection E as <-.
    unfold novelty_discrepancy; destruct (Z.ltb_spec (neighbours rel i x) beta); lia.
Qed.

Lemma every_and (P R : place_question V -> Prop) (s : session (place_question V) bool) :
  (forall q, P q -> R q) -> every P s -> every R s.
Proof.
  intros H; induction s as [|q next IH]; simpl; [auto|]. intros [Hq Hs]; split; auto.
Qed.

Theorem composition_over_balls j x y s :
  every well_formed s -> differ j x y ->
  every (fun q => holds q j = true -> covers j x y q) s ->
  forall t, transcript place_law s x t
              <= exp (total (located_loss j) s t) * transcript place_law s y t.
Proof.
  intros W D C. apply adaptive_composition.
  - exact (every_and _ _ s place_law_nonnegative W).
  - induction s as [|q next IH]; simpl in *; [exact I|].
    destruct W as [Wq W], C as [Cq C]. split.
    + apply located_question_loses; assumption.
    + intros a; apply IH; [apply W | apply C].
Qed.

End Places.

(** ** The price: the largest sum at any point *)

Section Depth.
Context {V : Type}.

(** A ball that was asked about, what it costs, and the depth that the ledger keeps for it. *)
Record ball := { inside : V -> bool; cost : R; depth : R }.

(** Newest first. *)
Fixpoint weight (z : V) (balls : list ball) : R :=
  match balls with
  | [] => 0
  | b :: earlier => (if inside b z then cost b else 0) + weight z earlier
  end.

Fixpoint price (balls : list ball) : R :=
  match balls with [] => 0 | b :: earlier => Rmax (depth b) (price earlier) end.

Fixpoint depths_hold (balls : list ball) : Prop :=
  match balls with
  | [] => True
  | b :: earlier =>
      0 <= cost b /\
      ((forall z, inside b z = true -> weight z balls <= depth b)
       \/ price earlier + cost b <= depth b) /\
      depths_hold earlier
  end.

Theorem largest_depth_bounds_every_point balls :
  depths_hold balls -> forall z, weight z balls <= price balls.
Proof.
  induction balls as [|b earlier IH]; intros H z; [simpl; lra|].
  cbn [depths_hold] in H; destruct H as [Hc [Hd He]]. specialize (IH He z).
  cbn [price]. pose proof (Rmax_l (depth b) (price earlier)).
  pose proof (Rmax_r (depth b) (price earlier)).
  destruct Hd as [Hd | Hd]; [specialize (Hd z)|]; cbn [weight] in *;
    destruct (inside b z); [specialize (Hd eq_refl) | | |]; lra.
Qed.

(** Giving a ball back: the depths of the others, as recorded, still bound what they did. *)
Inductive given_back : list ball -> list ball -> Prop :=
| back_newest : forall b earlier, given_back (b :: earlier) earlier
| back_earlier : forall b before after, given_back before after -> given_back (b :: before) (b :: after).

Fixpoint points_hold (balls : list ball) : Prop :=
  match balls with
  | [] => True
  | b :: earlier =>
      0 <= cost b /\ (forall z, inside b z = true -> weight z balls <= depth b) /\ points_hold earlier
  end.

Theorem giving_back_keeps_depths before after :
  given_back before after -> points_hold before ->
  points_hold after /\ forall z, weight z after <= weight z before.
Proof.
  induction 1 as [b earlier | b before after H IH].
  - cbn [points_hold weight]; intros [Hc [_ He]]; split; [exact He|].
    intros z; destruct (inside b z); lra.
  - cbn [points_hold]; intros [Hc [Hd He]]. destruct (IH He) as [Ha Hw].
    repeat split; try assumption.
    + intros z Hz; specialize (Hd z Hz); specialize (Hw z); cbn [weight] in *.
      rewrite Hz in *; lra.
    + intros z; specialize (Hw z); cbn [weight]; destruct (inside b z); lra.
Qed.

End Depth.

(** ** Several records of one person *)

Section Group.
Context {D A : Type} (law : D -> A -> R) (joined : D -> D -> Prop) (loss : R).

Inductive path : nat -> D -> D -> Prop :=
| nowhere : forall x, path 0 x x
| one_more : forall n x y z, path n x y -> joined y z -> path (S n) x z.

Theorem group_privacy :
  (forall x y a, joined x y -> law x a <= exp loss * law y a) ->
  forall n x y, path n x y -> forall a, law x a <= exp (INR n * loss) * law y a.
Proof.
  intros H n x y P; induction P as [x | n x y z P IH J]; intros a.
  - simpl INR; rewrite Rmult_0_l, exp_0; lra.
  - rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus.
    eapply Rle_trans; [apply IH|]. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [left; apply exp_pos | apply H, J].
Qed.

End Group.
