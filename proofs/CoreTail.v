(** * Noise with a Laplace core and a power tail

    What is proved here
    - [shift_costs], [scale_costs]: moving the centre of the noise by d costs at most d over the scale;
      changing the scale from s to s' costs at most B |ln s - ln s'|.
    - [smooth_noise_private]: a number plus noise scaled by a smooth bound on its sensitivity keeps
      alpha + B ln(1/decay), density by density.
    - [rounded_noise_private]: so does what is released, the rounding to whole numbers: every cell of
      finite length has at most e^epsilon times the probability it has on the other side.

    What is assumed
    B >= 1. The noise has the density [K exp (h z)] for a constant K > 0, where [h] is minus |z| up to
    c = B + 1 and falls like c times a logarithm beyond. The bound S is smooth and above the change of
    the number (Smooth.v). That the sampler has this law is prose (noise/proof.md 8) on top of Coins.v.

    Which Python this is about
    [whitecrow.noise.core_tail] and [anomaly.calibration] with mechanism "smooth" (count/proof.md,
    Theorem 2). *)

From Coq Require Import Reals Lra.
From Whitecrow Require Import Construction.
Local Open Scope R_scope.

Section CoreTail.
Variable B : R.
Hypothesis B_at_least_1 : 1 <= B.

Definition corner : R := B + 1.

(** The logarithm of the density at distance [x] from the centre, up to a constant. *)
Definition fall (x : R) : R :=
  if Rle_dec x corner then - x else - corner - corner * ln (x / corner).

Definition h (z : R) : R := fall (Rabs z).

Lemma ln_below t : 0 < t -> ln t <= t - 1.
Proof. intros H. pose proof (exp_ineq1_le (ln t)). rewrite (exp_ln t H) in H0. lra. Qed.

Lemma ln_ratio x y : 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof.
  intros Hx Hy. unfold Rdiv. rewrite ln_mult, ln_Rinv; try assumption; [ring|].
  apply Rinv_0_lt_compat, Hy.
Qed.

Lemma between x a : Rabs x <= a -> - a <= x <= a.
Proof.
  intros H. pose proof (Rle_abs x). pose proof (Rle_abs (- x)). rewrite Rabs_Ropp in *. lra.
Qed.

(** ** Shifts *)

Lemma fall_is_1_lipschitz x y : 0 <= x <= y -> 0 <= fall x - fall y <= y - x.
Proof.
  intros [H0 H]. unfold fall, corner in *. set (c := B + 1) in *.
  assert (Hc : 2 <= c) by (unfold c; lra).
  destruct (Rle_dec x c) as [Cx | Tx], (Rle_dec y c) as [Cy | Ty]; try lra.
  - assert (P : 0 < y / c) by (apply Rdiv_lt_0_compat; lra).
    pose proof (ln_below (y / c) P) as L.
    assert (0 <= ln (y / c)).
    { rewrite <- ln_1. assert (1 < y / c) by (apply Rmult_lt_reg_r with c; [lra|]; unfold Rdiv;
        rewrite Rmult_assoc, Rinv_l; lra). left; apply ln_increasing; lra. }
    assert (c * ln (y / c) <= y - c).
    { apply Rle_trans with (c * (y / c - 1)); [apply Rmult_le_compat_l; lra | right; field; lra]. }
    assert (0 <= c * ln (y / c)) by (apply Rmult_le_pos; lra). lra.
  - rewrite !ln_ratio by lra.
    assert (M : ln x <= ln y) by (destruct H as [H | ->]; [left; apply ln_increasing; lra | lra]).
    pose proof (ln_below (y / x)) as L. rewrite ln_ratio in L by lra.
    assert (P : 0 < y / x) by (apply Rdiv_lt_0_compat; lra). specialize (L P).
    assert (c * (ln y - ln x) <= y - x).
    { apply Rle_trans with (c * (y / x - 1)); [apply Rmult_le_compat_l; lra|].
      apply Rmult_le_reg_r with x; [lra|].
      replace (c * (y / x - 1) * x) with (c * (y - x)) by (field; lra). nra. }
    assert (0 <= c * (ln y - ln x)) by (apply Rmult_le_pos; lra). lra.
Qed.

Theorem shift_costs u v : Rabs (h u - h v) <= Rabs (u - v).
Proof.
  unfold h. apply Rle_trans with (Rabs (Rabs u - Rabs v)); [|apply Rabs_triang_inv2].
  pose proof (Rabs_pos u). pose proof (Rabs_pos v).
  destruct (Rle_dec (Rabs u) (Rabs v)) as [L | G].
  - pose proof (fall_is_1_lipschitz (Rabs u) (Rabs v) ltac:(lra)).
    rewrite (Rabs_pos_eq (fall _ - _)) by lra.
    rewrite (Rabs_minus_sym (Rabs u)), (Rabs_pos_eq (Rabs v - _)) by lra. lra.
  - pose proof (fall_is_1_lipschitz (Rabs v) (Rabs u) ltac:(lra)).
    rewrite (Rabs_minus_sym (fall _)), (Rabs_pos_eq (fall _ - _)) by lra.
    rewrite (Rabs_pos_eq (Rabs u - _)) by lra. lra.
Qed.

(** ** Scales *)

Definition k (x : R) : R := ln x + fall x.

Lemma k_in_the_core x y : 0 < x <= y -> y <= corner ->
  - B * (ln y - ln x) <= k y - k x <= B * (ln y - ln x).
Proof.
  intros [H0 H] C. unfold k, fall. destruct (Rle_dec x corner), (Rle_dec y corner); try lra.
  assert (M : 0 <= ln y - ln x)
    by (destruct H as [H | ->]; [pose proof (ln_increasing x y H0 H); lra | lra]).
  pose proof (ln_below (x / y)) as L. rewrite ln_ratio in L by lra.
  assert (P : 0 < x / y) by (apply Rdiv_lt_0_compat; lra). specialize (L P).
  assert (D : y - x <= y * (ln y - ln x)).
  { apply Rle_trans with (y * (1 - x / y)); [right; field; lra | apply Rmult_le_compat_l; lra]. }
  assert (y * (ln y - ln x) <= corner * (ln y - ln x)) by (apply Rmult_le_compat_r; lra).
  unfold corner in *. nra.
Qed.

Lemma k_in_the_tail x y : corner <= x <= y ->
  - B * (ln y - ln x) <= k y - k x <= B * (ln y - ln x).
Proof.
  intros [C H]. assert (Hc : 2 <= corner) by (unfold corner; lra).
  assert (T : forall z, corner <= z -> fall z = - corner - corner * (ln z - ln corner)).
  { intros z Hz. unfold fall. destruct (Rle_dec z corner) as [L | G].
    - replace z with corner by lra. ring.
    - rewrite ln_ratio by lra. reflexivity. }
  assert (M : 0 <= ln y - ln x)
    by (destruct H as [H | ->]; [pose proof (ln_increasing x y ltac:(lra) H); lra | lra]).
  unfold k. rewrite !T by lra. unfold corner in *. nra.
Qed.

Lemma k_changes_slowly x y : 0 < x <= y ->
  - B * (ln y - ln x) <= k y - k x <= B * (ln y - ln x).
Proof.
  intros [H0 H]. assert (Hc : 2 <= corner) by (unfold corner; lra).
  destruct (Rle_dec y corner) as [Cy | Ty]; [apply k_in_the_core; lra|].
  destruct (Rle_dec corner x) as [Tx | Cx]; [apply k_in_the_tail; lra|].
  pose proof (k_in_the_core x corner ltac:(lra) ltac:(lra)).
  pose proof (k_in_the_tail corner y ltac:(lra)). lra.
Qed.

Theorem scale_costs w s t : 0 < s -> 0 < t ->
  Rabs ((- ln s + h (w / s)) - (- ln t + h (w / t))) <= B * Rabs (ln s - ln t).
Proof.
  intros Hs Ht. destruct (Req_dec w 0) as [-> | N].
  - unfold Rdiv; rewrite !Rmult_0_l.
    replace (- ln s + h 0 - (- ln t + h 0)) with (- (ln s - ln t)) by ring.
    rewrite Rabs_Ropp. pose proof (Rabs_pos (ln s - ln t)). nra.
  - assert (W : 0 < Rabs w) by (apply Rabs_pos_lt, N).
    assert (E : forall s, 0 < s -> - ln s + h (w / s) = k (Rabs w / s) - ln (Rabs w)).
    { intros r Hr. unfold h, k, Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ r))
        by (left; apply Rinv_0_lt_compat, Hr). fold (Rabs w / r). rewrite ln_ratio by lra. ring. }
    rewrite !E by assumption.
    replace (k (Rabs w / s) - ln (Rabs w) - (k (Rabs w / t) - ln (Rabs w)))
      with (k (Rabs w / s) - k (Rabs w / t)) by ring.
    assert (Ps : 0 < Rabs w / s) by (apply Rdiv_lt_0_compat; lra).
    assert (Pt : 0 < Rabs w / t) by (apply Rdiv_lt_0_compat; lra).
    assert (D : ln s - ln t = ln (Rabs w / t) - ln (Rabs w / s)) by (rewrite !ln_ratio by lra; ring).
    rewrite D. destruct (Rle_dec (Rabs w / s) (Rabs w / t)) as [L | G].
    + pose proof (k_changes_slowly _ _ (conj Ps L)) as K.
      assert (M : 0 <= ln (Rabs w / t) - ln (Rabs w / s)) by (destruct L as [L | ->];
        [pose proof (ln_increasing _ _ Ps L); lra | lra]).
      rewrite (Rabs_pos_eq (ln _ - _)) by exact M. apply Rabs_le. lra.
    + assert (L : Rabs w / t <= Rabs w / s) by lra.
      pose proof (k_changes_slowly _ _ (conj Pt L)) as K.
      assert (M : 0 <= ln (Rabs w / s) - ln (Rabs w / t)) by (destruct L as [L | ->];
        [pose proof (ln_increasing _ _ Pt L); lra | lra]).
      rewrite Rabs_minus_sym with (x := ln _), (Rabs_pos_eq (ln _ - _)) by exact M.
      apply Rabs_le. lra.
Qed.

(** ** The mechanism *)

Variable K : R.
Hypothesis K_positive : 0 < K.

(** The density at [v] of a number [q] with noise of this scale. *)
Definition density (q scale v : R) : R := K / scale * exp (h ((v - q) / scale)).

Lemma density_as_exp q scale v : 0 < scale ->
  density q scale v = K * exp (- ln scale + h ((v - q) / scale)).
Proof.
  intros H. unfold density. rewrite exp_plus, exp_Ropp, exp_ln by exact H. field. lra.
Qed.

Theorem smooth_noise_private q q' S S' alpha decay epsilon :
  0 < alpha -> 0 < decay <= 1 -> 0 < S -> 0 < S' ->
  Rabs (q - q') <= S ->
  decay * S <= S' -> decay * S' <= S ->
  alpha + B * ln (/ decay) <= epsilon ->
  forall v, density q (S / alpha) v <= exp epsilon * density q' (S' / alpha) v.
Proof.
  intros Ha Hd HS HS' Hq H1 H2 He v.
  assert (P : 0 < S / alpha) by (apply Rdiv_lt_0_compat; lra).
  assert (P' : 0 < S' / alpha) by (apply Rdiv_lt_0_compat; lra).
  rewrite !density_as_exp by assumption.
  replace (exp epsilon * (K * exp (- ln (S' / alpha) + h ((v - q') / (S' / alpha)))))
    with (K * exp (epsilon + (- ln (S' / alpha) + h ((v - q') / (S' / alpha)))))
    by (rewrite exp_plus; ring).
  apply Rmult_le_compat_l; [lra|]. apply exp_monotone.
  (* first the centre moves, then the scale changes *)
  pose proof (shift_costs ((v - q) / (S / alpha)) ((v - q') / (S / alpha))) as A.
  assert (A' : Rabs ((v - q) / (S / alpha) - (v - q') / (S / alpha)) <= alpha).
  { replace ((v - q) / (S / alpha) - (v - q') / (S / alpha)) with ((q' - q) * (alpha / S))
      by (field; lra).
    assert (I : 0 < alpha / S) by (apply Rdiv_lt_0_compat; lra).
    rewrite Rabs_mult, Rabs_minus_sym, (Rabs_pos_eq (alpha / S)) by lra.
    apply Rle_trans with (S * (alpha / S)); [apply Rmult_le_compat_r; lra | right; field; lra]. }
  pose proof (scale_costs (v - q') (S / alpha) (S' / alpha) P P') as C.
  assert (C' : Rabs (ln (S / alpha) - ln (S' / alpha)) <= ln (/ decay)).
  { rewrite !ln_ratio by lra. replace (ln S - ln alpha - (ln S' - ln alpha)) with (ln S - ln S') by ring.
    assert (Q : forall a b, 0 < a -> 0 < b -> decay * a <= b -> ln a - ln b <= ln (/ decay)).
    { intros a b Pa Pb L. rewrite ln_Rinv by lra.
      assert (ln (decay * a) <= ln b) by (destruct L as [L | ->];
        [left; apply ln_increasing; [apply Rmult_lt_0_compat; lra | exact L] | lra]).
      rewrite ln_mult in H by lra. lra. }
    apply Rabs_le. pose proof (Q S S' HS HS' H1). pose proof (Q S' S HS' HS H2). lra. }
  assert (C'' : B * Rabs (ln (S / alpha) - ln (S' / alpha)) <= B * ln (/ decay))
    by (apply Rmult_le_compat_l; lra).
  pose proof (Rle_trans _ _ _ A A') as A2. pose proof (Rle_trans _ _ _ C C'') as C2.
  apply between in A2. apply between in C2. lra.
Qed.

(** What is released is rounded: the probability of a number is that of an interval. *)
Theorem rounded_noise_private q q' S S' alpha decay epsilon left right
    (here : Riemann_integrable (density q (S / alpha)) left right)
    (there : Riemann_integrable (density q' (S' / alpha)) left right) :
  0 < alpha -> 0 < decay <= 1 -> 0 < S -> 0 < S' ->
  Rabs (q - q') <= S ->
  decay * S <= S' -> decay * S' <= S ->
  alpha + B * ln (/ decay) <= epsilon ->
  left <= right ->
  RiemannInt here <= exp epsilon * RiemannInt there.
Proof.
  intros Ha Hd HS HS' Hq H1 H2 He Hlr.
  set (more := RiemannInt_P10 (exp epsilon - 1) there there).
  assert (E : RiemannInt more = exp epsilon * RiemannInt there).
  { unfold more. rewrite (RiemannInt_P13 there there). ring. }
  rewrite <- E. apply RiemannInt_P19; [exact Hlr|]. intros v _. cbv beta.
  pose proof (smooth_noise_private q q' S S' alpha decay epsilon Ha Hd HS HS' Hq H1 H2 He v). lra.
Qed.

End CoreTail.
