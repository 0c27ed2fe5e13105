(** * Construction 1: answer, and sometimes the opposite

    What is proved here
    - [construction_1_private]: with any bound that is [valid] (Discrepancy.v) on a graph, each output
      has at one end of an edge at most e^epsilon times the probability it has at the other.
    - [identify_sensitively_private]: [identify] as it is asked (both forms of the bound, radius 0,
      cap) is (epsilon, k)-sensitively private.
    - [identify_differentially_private]: for k >= beta it is epsilon-differentially private.
    - [screen_differentially_private]: [screen] is epsilon-differentially private.
    - [flip_is_two_coins]: the probability of a wrong answer is the product of the two that the code
      draws.
    - [is_a_law]: what is called a law here is one: no negative numbers, and they add up to 1.

    What is assumed
    What Discrepancy.v assumes, epsilon >= 0 and a cap of at least 1. That the two coins have exactly
    the stated probabilities is the subject of Coins.v.

    Which Python this is about
    [whitecrow.identify.mechanism.release], [whitecrow.screen.mechanism.release],
    [whitecrow.anomaly.law.flip]. The real numbers are those of Coq's standard library. *)

From Coq Require Import ZArith Reals Lra Lia List Permutation Bool.
From Whitecrow Require Import Databases Discrepancy.
Local Open Scope R_scope.

(** ** The law *)

(** The probability that an answer at this distance is wrong. *)
Definition wrong (epsilon : R) (bound : option Z) : R :=
  match bound with
  | None => 0
  | Some n => exp (- epsilon * (IZR n - 1)) / (1 + exp epsilon)
  end.

(** The probability of an output where the truth and the bound are these. *)
Definition chance (epsilon : R) (truth : bool) (bound : option Z) (output : bool) : R :=
  if Bool.eqb output truth then 1 - wrong epsilon bound else wrong epsilon bound.

(** The probability of a set of outputs. *)
Definition event (law : bool -> R) (among : bool -> bool) : R :=
  (if among true then law true else 0) + (if among false then law false else 0).

(** [private epsilon joined law]: the promise, on the pairs that [joined] names. *)
Definition private {D} (epsilon : R) (joined : D -> D -> Prop) (law : D -> bool -> R) : Prop :=
  forall x y, joined x y ->
  (forall output, law x output <= exp epsilon * law y output) /\
  (forall among, event (law x) among <= exp epsilon * event (law y) among).

(** ** Arithmetic *)

Lemma exp_at_least_1 e : 0 <= e -> 1 <= exp e.
Proof.
  intros [H | H]; [rewrite <- exp_0; left; apply exp_increasing, H | rewrite <- H, exp_0; lra].
Qed.

Lemma exp_monotone a b : a <= b -> exp a <= exp b.
Proof. intros [H | H]; [left; apply exp_increasing, H | rewrite H; lra]. Qed.

Lemma wrong_positive e n : 0 < wrong e (Some n).
Proof.
  unfold wrong; apply Rdiv_lt_0_compat; [apply exp_pos | pose proof (exp_pos e); lra].
Qed.

Lemma wrong_at_most e n : 0 <= e -> (1 <= n)%Z -> wrong e (Some n) * (1 + exp e) <= 1.
Proof.
  intros He Hn; unfold wrong. pose proof (exp_pos e).
  replace (exp (- e * (IZR n - 1)) / (1 + exp e) * (1 + exp e)) with (exp (- e * (IZR n - 1)))
    by (field; lra).
  apply Rle_trans with (exp 0); [apply exp_monotone | rewrite exp_0; lra].
  apply IZR_le in Hn. nra.
Qed.

Lemma wrong_next e m n :
  0 <= e -> (Z.abs (m - n) <= 1)%Z -> wrong e (Some m) <= exp e * wrong e (Some n).
Proof.
  intros He H; unfold wrong. pose proof (exp_pos e).
  unfold Rdiv; rewrite <- Rmult_assoc, <- exp_plus. apply Rmult_le_compat_r.
  - left; apply Rinv_0_lt_compat; lra.
  - apply exp_monotone. assert (Hm : (n - m <= 1)%Z) by lia.
    apply IZR_le in Hm; rewrite minus_IZR in Hm. nra.
Qed.

Lemma right_next E s t :
  1 <= E -> 0 < s -> s * (1 + E) <= 1 -> s <= E * t -> 1 - t <= E * (1 - s).
Proof. intros HE Hs Hs1 Hst. assert (E * (E * s - t) <= E * (E - 1)) by nra. nra. Qed.

(** ** The theorem *)

Lemma event_from_outputs epsilon (law other : bool -> R) :
  (forall output, law output <= exp epsilon * other output) ->
  forall among, event law among <= exp epsilon * event other among.
Proof.
  intros H among; unfold event; pose proof (H true); pose proof (H false).
  destruct (among true), (among false); lra.
Qed.

Theorem construction_1_private {D} (joined : D -> D -> Prop) answer bound epsilon :
  0 <= epsilon ->
  valid joined answer bound ->
  private epsilon joined (fun x => chance epsilon (answer x) (bound x)).
Proof.
  intros He H x y J; specialize (H x y J).
  pose proof (exp_at_least_1 _ He) as HE.
  enough (P : forall output, chance epsilon (answer x) (bound x) output
                   <= exp epsilon * chance epsilon (answer y) (bound y) output)
    by (split; [exact P | apply event_from_outputs, P]).
  intros output; unfold chance; destruct (bound x) as [m|], (bound y) as [n|]; simpl in H;
    try contradiction.
  - destruct H as [Hm [Hn [Hmn Hg]]].
    pose proof (wrong_positive epsilon m). pose proof (wrong_positive epsilon n).
    pose proof (wrong_at_most epsilon m He Hm). pose proof (wrong_at_most epsilon n He Hn).
    pose proof (wrong_next epsilon m n He Hmn).
    assert (Hnm : (Z.abs (n - m) <= 1)%Z) by lia.
    pose proof (wrong_next epsilon n m He Hnm).
    destruct (Bool.bool_dec (answer x) (answer y)) as [Eq | Ne].
    + rewrite Eq. destruct (Bool.eqb output (answer y)); [|assumption].
      apply right_next; assumption.
    + destruct (Hg Ne); subst m n.
      assert (W : wrong epsilon (Some 1%Z) * (1 + exp epsilon) = 1).
      { unfold wrong; replace (- epsilon * (1 - 1)) with 0 by ring; rewrite exp_0; field; lra. }
      destruct output, (answer x), (answer y); cbn [Bool.eqb]; try congruence; nra.
  - rewrite H. destruct (Bool.eqb output (answer y)); simpl; nra.
Qed.

Theorem is_a_law epsilon truth bound :
  0 <= epsilon -> (forall n, bound = Some n -> (1 <= n)%Z) ->
  (forall output, 0 <= chance epsilon truth bound output) /\
  chance epsilon truth bound true + chance epsilon truth bound false = 1.
Proof.
  intros He Hn. pose proof (exp_at_least_1 _ He).
  assert (0 <= wrong epsilon bound <= 1).
  { destruct bound as [n|]; [|simpl; lra].
    pose proof (wrong_positive epsilon n). pose proof (wrong_at_most epsilon n He (Hn n eq_refl)).
    nra. }
  unfold chance; split; [intros []|]; destruct truth; cbn [Bool.eqb]; lra.
Qed.

Theorem flip_is_two_coins epsilon n :
  wrong epsilon (Some n)
    = exp (- (epsilon * (IZR n - 1))) * (exp (- epsilon) / (1 + exp (- epsilon))).
Proof.
  unfold wrong. rewrite Ropp_mult_distr_l, (exp_Ropp epsilon). pose proof (exp_pos epsilon).
  field; lra.
Qed.

(** ** Identify and screen *)

Section Questions.
Context {V : Type} (rel : relation V).

Definition identify_law (radius_is_zero tight : bool) (i : V) (beta k cap : Z) (epsilon : R)
    (x : list V) : bool -> R :=
  chance epsilon (identify_answer rel i beta x)
    (capped (identify_bound rel radius_is_zero tight i beta k x) cap).

Definition screen_law (i : V) (beta cap : Z) (epsilon : R) (x : list V) : bool -> R :=
  chance epsilon (screen_answer rel i beta x) (capped (screen_bound rel i beta x) cap).

Theorem identify_sensitively_private radius_is_zero tight i beta k cap epsilon :
  proper rel ->
  (1 <= beta)%Z -> (1 <= k)%Z -> (1 <= cap)%Z -> 0 <= epsilon ->
  (radius_is_zero = true -> forall a b, close rel a b = same rel a b) ->
  private epsilon (edge rel beta k) (identify_law radius_is_zero tight i beta k cap epsilon).
Proof.
  intros P Hb Hk Hc He Hr. apply construction_1_private; [exact He|].
  apply capped_valid; [exact Hc|]. apply discrepancy_valid; assumption.
Qed.

Theorem identify_differentially_private radius_is_zero tight i beta k cap epsilon :
  proper rel ->
  (1 <= beta)%Z -> (1 <= k)%Z -> (beta <= k)%Z -> (1 <= cap)%Z -> 0 <= epsilon ->
  (radius_is_zero = true -> forall a b, close rel a b = same rel a b) ->
  private epsilon neighbouring (identify_law radius_is_zero tight i beta k cap epsilon).
Proof.
  intros P Hb Hk Hbk Hc He Hr x y N.
  apply (identify_sensitively_private radius_is_zero tight i beta k cap epsilon P Hb Hk Hc He Hr).
  apply every_pair_is_an_edge; assumption.
Qed.

Theorem screen_differentially_private i beta cap epsilon :
  (1 <= cap)%Z -> 0 <= epsilon ->
  private epsilon neighbouring (screen_law i beta cap epsilon).
Proof.
  intros Hc He. apply construction_1_private; [exact He|].
  apply capped_valid; [exact Hc|]. apply novelty_valid.
Qed.

End Questions.
