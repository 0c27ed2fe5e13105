(** * Smooth sensitivity of the number of outliers, add/remove

    What is proved here
    - [smooth_bound_is_above]: the bound S is at least the change of the number of outliers when one
      record comes or goes, seen from either side.
    - [smooth_bound_is_smooth]: S changes by a factor of at most 1/decay when one record comes or goes.
    - [window_contains_every_ball], [window_grows], [window_grows_by_one]: on a line, the most points in
      a window of twice the radius is admissible (M1 to M3 of count/proof.md).
    - [line_cap]: on a line the number of outliers never moves by more than 2 beta.
    - [line_smooth]: all of it together, on a line, without further hypotheses.

    What is assumed
    "Close" is symmetric and every record is close to itself. For the general theorems mu has the three
    properties (M1) to (M3) and does not depend on the order of records; cap bounds every change of the
    count; weights have [w 0 = 1] and [decay * w t <= w (t + 1)]. On the line records are whole numbers,
    which is no loss: finitely many doubles are whole numbers in a small enough unit. The arithmetic is
    exact; what rounding adds is in count/proof.md, section 5. Replace-one is prose.

    Which Python this is about
    [whitecrow.anomaly.smooth.smooth_bound] with relation "add_remove", up to [t = cap] as the code
    goes; [whitecrow.anomaly.ball_cover] in one column; [kissing.global_sensitivity] in one column. *)

From Coq Require Import ZArith Reals Lra Lia List Permutation Bool.
From Whitecrow Require Import Databases Construction.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Maxima of lists *)

Definition most (l : list Z) : Z := fold_right Z.max 0 l.

Lemma most_above l a : In a l -> a <= most l.
Proof. induction l as [|b l IH]; simpl; [tauto|]. intros [-> | H]; [|specialize (IH H)]; lia. Qed.

Lemma most_least l b : 0 <= b -> (forall a, In a l -> a <= b) -> most l <= b.
Proof.
  intros H0 H; induction l as [|a l IH]; simpl; [exact H0|].
  apply Z.max_lub; [apply H; left; reflexivity | apply IH; intros c Hc; apply H; right; exact Hc].
Qed.

Lemma most_nonnegative l : 0 <= most l.
Proof. induction l; simpl; lia. Qed.

Lemma permutation_filter {V} (p : V -> bool) x y :
  Permutation x y -> Permutation (filter p x) (filter p y).
Proof.
  induction 1 as [|a x y H IH | a b x | x y z H1 IH1 H2 IH2]; simpl.
  - constructor.
  - destruct (p a); [constructor|]; exact IH.
  - destruct (p a), (p b); try apply Permutation_refl. apply perm_swap.
  - eapply Permutation_trans; eassumption.
Qed.

Lemma filter_same {V} (p q : V -> bool) x :
  (forall y, In y x -> p y = q y) -> filter p x = filter q x.
Proof.
  induction x as [|a x IH]; simpl; intros H; [reflexivity|].
  rewrite (H a (or_introl eq_refl)), (IH (fun y Hy => H y (or_intror Hy))). reflexivity.
Qed.

Lemma count_in_filter {V} (p q : V -> bool) x :
  count p (filter q x) = count (fun y => q y && p y) x.
Proof.
  induction x as [|a x IH]; [reflexivity|]. cbn [filter].
  rewrite (count_cons (fun y => q y && p y)).
  destruct (q a); [rewrite count_cons|]; rewrite IH; unfold one; destruct (p a); cbn [andb]; lia.
Qed.

Lemma count_split {V} (p q : V -> bool) x :
  count p x = count (fun y => p y && q y) x + count (fun y => p y && negb (q y)) x.
Proof.
  induction x as [|a x IH]; [reflexivity|]. rewrite !count_cons, IH.
  unfold one; destruct (p a), (q a); cbn [andb negb]; lia.
Qed.

Lemma count_exists {V} (p : V -> bool) x : 0 < count p x -> exists y, In y x /\ p y = true.
Proof.
  induction x as [|a x IH]; [unfold count; simpl; lia|]. rewrite count_cons. unfold one.
  destruct (p a) eqn:E; intros H.
  - exists a; split; [left; reflexivity | exact E].
  - destruct IH as [y [Hy Py]]; [lia|]. exists y; split; [right|]; assumption.
Qed.

(** ** The number of outliers, and bands of degrees *)

Section Smooth.
Context {V : Type} (near : V -> V -> bool) (beta : Z).

(** How many records are close to [y], itself included. *)
Definition around (x : list V) (y : V) : Z := count (near y) x.

Definition outliers (x : list V) : Z := count (fun y => around x y <=? beta) x.

(** The records whose number of others close to them lies between two bounds. *)
Definition in_band (low high : Z) (x : list V) (y : V) : bool :=
  (low <=? around x y - 1) && (around x y - 1 <=? high).

Definition band (low high : Z) (x : list V) : list V := filter (in_band low high x) x.

Variable mu : list V -> Z.

(** The bound on the local sensitivity after [t] steps: [a] records came and [t - a] went. *)
Definition term (centre : Z) (t a : nat) (x : list V) : Z :=
  let a' := Z.of_nat a in
  mu (band (centre - a') (centre + (Z.of_nat t - a')) x) + a'.

Definition terms (t : nat) (x : list V) : list Z :=
  1 :: flat_map (fun a => [term beta t a x; term (beta - 1) t a x]) (seq 0 (S t)).

Definition after (t : nat) (x : list V) : Z := most (terms t x).

(** ** What is assumed of closeness and of mu *)

Hypothesis near_itself : forall y, near y y = true.
Hypothesis near_symmetric : forall y z, near y z = near z y.
Hypothesis mu_order : forall p q, Permutation p q -> mu p = mu q.
Hypothesis mu_ball : forall p z, count (near z) p <= mu p.                     (* M1 *)
Hypothesis mu_grows : forall p z, mu p <= mu (z :: p).                         (* M2 *)
Hypothesis mu_grows_by_one : forall p z, mu (z :: p) <= mu p + 1.              (* M3 *)

Lemma mu_nonnegative p (z : V) : 0 <= mu p.
Proof. pose proof (mu_ball p z); pose proof (count_nonnegative (near z) p); lia. Qed.

Lemma mu_of_more p q x : (forall y, p y = true -> q y = true) -> mu (filter p x) <= mu (filter q x).
Proof.
  intros H.
  assert (more : forall extra base, mu base <= mu (extra ++ base)).
  { induction extra as [|e extra IH]; intros base; simpl; [lia|].
    specialize (IH base); pose proof (mu_grows (extra ++ base) e); lia. }
  assert (P : Permutation (filter q x) (filter (fun y => q y && negb (p y)) x ++ filter p x)).
  { induction x as [|a x IH]; simpl; [constructor|]. specialize (H a).
    destruct (p a), (q a); simpl; try (discriminate H; reflexivity).
    - apply Permutation_cons_app; exact IH.
    - constructor; exact IH.
    - exact IH. }
  rewrite (mu_order _ _ P). apply more.
Qed.

(** ** One record more *)

Lemma around_more z x y : around (z :: x) y = one (near y z) + around x y.
Proof. apply count_cons. Qed.

Lemma band_of_larger low high z x : mu (band low high x) <= mu (band low (high + 1) (z :: x)).
Proof.
  apply Z.le_trans with (mu (filter (in_band low (high + 1) (z :: x)) x)).
  - apply mu_of_more. intros y. unfold in_band. rewrite around_more. unfold one.
    destruct (near y z); rewrite !andb_true_iff, !Z.leb_le; lia.
  - unfold band; cbn [filter]. destruct (in_band low (high + 1) (z :: x) z); [apply mu_grows | lia].
Qed.

Lemma band_of_smaller low high z x : mu (band low high (z :: x)) <= mu (band (low - 1) high x) + 1.
Proof.
  apply Z.le_trans with (mu (filter (in_band low high (z :: x)) x) + 1).
  - unfold band; cbn [filter].
    destruct (in_band low high (z :: x) z); [apply mu_grows_by_one | lia].
  - apply Zplus_le_compat_r. apply mu_of_more. intros y. unfold in_band. rewrite around_more.
    unfold one. destruct (near y z); rewrite !andb_true_iff, !Z.leb_le; lia.
Qed.

Lemma term_in_terms t a x : (a <= t)%nat ->
  term beta t a x <= after t x /\ term (beta - 1) t a x <= after t x.
Proof.
  intros H; split; apply most_above; right; apply in_flat_map; exists a;
    (split; [apply in_seq; lia | simpl; auto]).
Qed.

Lemma after_least t x b :
  1 <= b -> (forall a, (a <= t)%nat -> term beta t a x <= b /\ term (beta - 1) t a x <= b) ->
  after t x <= b.
Proof.
  intros H1 H; apply most_least; [lia|]. intros v [<- | Hv]; [exact H1|].
  apply in_flat_map in Hv; destruct Hv as [a [Ha Hv]]. apply in_seq in Ha.
  destruct (H a); [lia|]. simpl in Hv; destruct Hv as [<- | [<- | []]]; assumption.
Qed.

Lemma after_at_least_1 t x : 1 <= after t x.
Proof. apply most_above; left; reflexivity. Qed.

Lemma step_up t z x : after t x <= after (S t) (z :: x).
Proof.
  apply after_least; [apply after_at_least_1|]. intros a Ha.
  destruct (term_in_terms (S t) a (z :: x)) as [H1 H2]; [lia|].
  assert (grow : forall c, term c t a x <= term c (S t) a (z :: x)).
  { intros c; unfold term; cbv zeta. apply Zplus_le_compat_r.
    replace (c + (Z.of_nat (S t) - Z.of_nat a)) with (c + (Z.of_nat t - Z.of_nat a) + 1) by lia.
    apply band_of_larger. }
  pose proof (grow beta); pose proof (grow (beta - 1)); lia.
Qed.

Lemma step_down t z x : after t (z :: x) <= after (S t) x.
Proof.
  apply after_least; [apply after_at_least_1|]. intros a Ha.
  destruct (term_in_terms (S t) (S a) x) as [H1 H2]; [lia|].
  assert (grow : forall c, term c t a (z :: x) <= term c (S t) (S a) x).
  { intros c; unfold term; cbv zeta.
    replace (c - Z.of_nat (S a)) with (c - Z.of_nat a - 1) by lia.
    replace (c + (Z.of_nat (S t) - Z.of_nat (S a))) with (c + (Z.of_nat t - Z.of_nat a)) by lia.
    pose proof (band_of_smaller (c - Z.of_nat a) (c + (Z.of_nat t - Z.of_nat a)) z x). lia. }
  pose proof (grow beta); pose proof (grow (beta - 1)); lia.
Qed.

(** ** Any order of records *)

Lemma around_order x y z : Permutation x y -> around x z = around y z.
Proof. apply count_permutation. Qed.

Lemma outliers_order x y : Permutation x y -> outliers x = outliers y.
Proof.
  intros H; unfold outliers. rewrite (count_permutation _ _ _ H). apply count_same.
  intros z; rewrite (around_order _ _ z H); reflexivity.
Qed.

Lemma after_order t x y : Permutation x y -> after t x = after t y.
Proof.
  intros H; unfold after, terms; do 2 f_equal.
  assert (E : forall c a, term c t a x = term c t a y).
  { intros c a; unfold term; cbv zeta; f_equal. apply mu_order. unfold band.
    assert (F : forall low high, filter (in_band low high x) x = filter (in_band low high y) x).
    { intros low high; apply filter_same. intros w _; unfold in_band.
      rewrite (around_order _ _ w H); reflexivity. }
    rewrite F. apply permutation_filter, H. }
  apply flat_map_ext; intros a; rewrite !E; reflexivity.
Qed.

(** ** The count moves by at most what the bands say *)

(** Those that become normal when [z] comes. *)
Definition turned (z : V) (x : list V) : Z :=
  count (fun y => (around x y =? beta) && near y z) x.

Lemma outliers_more z x :
  outliers (z :: x) = one (around (z :: x) z <=? beta) + outliers x - turned z x.
Proof.
  unfold outliers at 1. rewrite count_cons.
  enough (E : count (fun y => around (z :: x) y <=? beta) x + turned z x = outliers x) by lia.
  unfold turned, outliers.
  assert (G : forall l, count (fun y => around (z :: x) y <=? beta) l
      + count (fun y => (around x y =? beta) && near y z) l = count (fun y => around x y <=? beta) l).
  { induction l as [|y l IH]; [reflexivity|]. rewrite !count_cons.
    enough (one (around (z :: x) y <=? beta) + one ((around x y =? beta) && near y z)
            = one (around x y <=? beta)) by lia.
    rewrite around_more. unfold one. destruct (near y z);
      destruct (Z.leb_spec (around x y) beta); destruct (Z.eqb_spec (around x y) beta);
      cbn [andb]; try (destruct (Z.leb_spec (1 + around x y) beta); lia);
      destruct (Z.leb_spec (0 + around x y) beta); lia. }
  apply G.
Qed.

Lemma turned_in_smaller z x : turned z x <= mu (band (beta - 1) (beta - 1) x).
Proof.
  eapply Z.le_trans; [|apply mu_ball with (z := z)]. unfold turned, band.
  rewrite count_in_filter. apply count_le. intros y H.
  apply andb_true_iff in H; destruct H as [E N]. apply Z.eqb_eq in E.
  unfold in_band. rewrite <- (near_symmetric y z), N, E.
  rewrite !andb_true_iff, !Z.leb_le; lia.
Qed.

Lemma turned_in_larger z x : turned z x <= mu (band beta beta (z :: x)).
Proof.
  eapply Z.le_trans; [|apply mu_ball with (z := z)]. unfold turned, band.
  rewrite count_in_filter, count_cons.
  apply Z.le_trans with
    (count (fun y => in_band beta beta (z :: x) y && near z y) x).
  - apply count_le. intros y H.
    apply andb_true_iff in H; destruct H as [E N]. apply Z.eqb_eq in E.
    unfold in_band. rewrite around_more, <- (near_symmetric y z), N, E. unfold one.
    rewrite !andb_true_iff, !Z.leb_le; lia.
  - unfold one; destruct (_ && _); lia.
Qed.

Lemma change_from_smaller z x : Z.abs (outliers (z :: x) - outliers x) <= after 0 x.
Proof.
  rewrite outliers_more. pose proof (turned_in_smaller z x). pose proof (after_at_least_1 0 x).
  destruct (term_in_terms 0 0 x) as [_ T]; [lia|]. unfold term in T; cbn [Z.of_nat] in T.
  replace (beta - 1 - 0) with (beta - 1) in T by lia.
  replace (beta - 1 + (0 - 0)) with (beta - 1) in T by lia.
  pose proof (count_nonnegative (fun y => (around x y =? beta) && near y z) x).
  fold (turned z x) in H1. unfold one; destruct (around (z :: x) z <=? beta); lia.
Qed.

Lemma change_from_larger z x : Z.abs (outliers (z :: x) - outliers x) <= after 0 (z :: x).
Proof.
  rewrite outliers_more. pose proof (turned_in_larger z x). pose proof (after_at_least_1 0 (z :: x)).
  destruct (term_in_terms 0 0 (z :: x)) as [T _]; [lia|]. unfold term in T; cbn [Z.of_nat] in T.
  replace (beta - 0) with beta in T by lia. replace (beta + (0 - 0)) with beta in T by lia.
  pose proof (count_nonnegative (fun y => (around x y =? beta) && near y z) x).
  fold (turned z x) in H1. unfold one; destruct (around (z :: x) z <=? beta); lia.
Qed.

(** ** The smooth bound *)

Local Open Scope R_scope.

Variables (cap : nat) (w : nat -> R) (decay : R).

Fixpoint largest (f : nat -> R) (last : nat) : R :=
  match last with O => f O | S t => Rmax (f (S t)) (largest f t) end.

(** The maximum over t = 0 .. cap of the weight times the bound after t steps, cut at the cap. *)
Definition smooth_bound (x : list V) : R :=
  largest (fun t => w t * IZR (Z.min (Z.of_nat cap) (after t x))) cap.

Lemma largest_above f last t : (t <= last)%nat -> f t <= largest f last.
Proof.
  induction last as [|last IH]; intros H; simpl.
  - replace t with O by lia. lra.
  - destruct (Nat.eq_dec t (S last)) as [-> | N]; [apply Rmax_l|].
    eapply Rle_trans; [apply IH; lia | apply Rmax_r].
Qed.

Lemma largest_least f last b : (forall t, (t <= last)%nat -> f t <= b) -> largest f last <= b.
Proof.
  induction last as [|last IH]; intros H; simpl; [apply H; lia|].
  apply Rmax_lub; [apply H; lia | apply IH; intros t Ht; apply H; lia].
Qed.

Hypothesis decay_below_1 : 0 < decay <= 1.
Hypothesis first_weight : w 0%nat = 1.
Hypothesis weights_positive : forall t, 0 <= w t.
Hypothesis weights_fall_slowly : forall t, decay * w t <= w (S t).
Hypothesis cap_bounds : forall z x, (Z.abs (outliers (z :: x) - outliers x) <= Z.of_nat cap)%Z.

Theorem smooth_bound_is_above z x y :
  adds z x y ->
  IZR (Z.abs (outliers y - outliers x)) <= smooth_bound x /\
  IZR (Z.abs (outliers y - outliers x)) <= smooth_bound y.
Proof.
  intros A. unfold adds in A. rewrite (outliers_order _ _ A). unfold smooth_bound.
  pose proof (cap_bounds z x). pose proof (change_from_smaller z x).
  pose proof (change_from_larger z x).
  split; (eapply Rle_trans; [|apply largest_above with (t := O); lia]); cbv beta;
    rewrite first_weight, Rmult_1_l; apply IZR_le; [|rewrite (after_order _ _ _ A)]; lia.
Qed.

Lemma after_at_least_steps x t (z : V) : (Z.of_nat t <= after t x)%Z.
Proof.
  destruct (term_in_terms t t x) as [T _]; [lia|]. unfold term in T; cbv zeta in T.
  pose proof (mu_nonnegative (band (beta - Z.of_nat t) (beta + (Z.of_nat t - Z.of_nat t)) x) z). lia.
Qed.

Lemma smooth_one_way x y (z : V) :
  (forall t, (after t x <= after (S t) y)%Z) -> smooth_bound x <= smooth_bound y / decay.
Proof.
  intros H. unfold smooth_bound at 1. set (S' := smooth_bound y). apply largest_least. intros t Ht.
  assert (P : 0 < / decay) by (apply Rinv_0_lt_compat; lra).
  apply Rmult_le_reg_l with decay; [lra|].
  replace (decay * (S' / decay)) with S' by (field; lra).
  pose proof (weights_positive t) as Wt.
  destruct (Nat.eq_dec t cap) as [-> | N].
  - (* at the last step both are at the cap *)
    pose proof (after_at_least_steps y cap z) as Hy.
    assert (L : w cap * IZR (Z.min (Z.of_nat cap) (after cap y)) <= S').
    { apply (largest_above (fun t => w t * IZR (Z.min (Z.of_nat cap) (after t y)))); lia. }
    rewrite Z.min_l in L by exact Hy.
    assert (M : IZR (Z.min (Z.of_nat cap) (after cap x)) <= IZR (Z.of_nat cap))
      by (apply IZR_le; lia).
    assert (0 <= IZR (Z.of_nat cap)) by (apply IZR_le; lia).
    assert (0 <= IZR (Z.min (Z.of_nat cap) (after cap x)))
      by (apply IZR_le; pose proof (after_at_least_1 cap x); lia).
    pose proof (Rmult_le_compat_l _ _ _ Wt M). pose proof (Rmult_le_pos _ _ Wt H1). nra.
  - assert (L : w (S t) * IZR (Z.min (Z.of_nat cap) (after (S t) y)) <= S').
    { apply (largest_above (fun t => w t * IZR (Z.min (Z.of_nat cap) (after t y)))); lia. }
    specialize (H t). pose proof (weights_fall_slowly t) as F.
    assert (M : IZR (Z.min (Z.of_nat cap) (after t x)) <= IZR (Z.min (Z.of_nat cap) (after (S t) y)))
      by (apply IZR_le; lia).
    assert (0 <= IZR (Z.min (Z.of_nat cap) (after t x)))
      by (apply IZR_le; pose proof (after_at_least_1 t x); lia).
    pose proof (Rmult_le_compat_l _ _ _ (weights_positive (S t)) M).
    pose proof (Rmult_le_compat_r _ _ _ H0 F). lra.
Qed.

Theorem smooth_bound_is_smooth z x y :
  adds z x y ->
  smooth_bound x <= smooth_bound y / decay /\ smooth_bound y <= smooth_bound x / decay.
Proof.
  intros A. unfold adds in A. split; apply (smooth_one_way _ _ z); intros t.
  - rewrite (after_order (S t) _ _ A). apply step_up.
  - rewrite (after_order t _ _ A). apply step_down.
Qed.

End Smooth.

(** ** On a line *)

Section Line.
Variable radius : Z.
Hypothesis radius_nonnegative : 0 <= radius.

Definition within_radius (a b : Z) : bool := Z.abs (a - b) <=? radius.

Definition from (start : Z) (y : Z) : bool := (start <=? y) && (y <=? start + 2 * radius).

(** The most points in a window of twice the radius that begins at a point. *)
Definition window (p : list Z) : Z := most (map (fun start => count (from start) p) p).

Lemma smallest (p : list Z) (q : Z -> bool) :
  0 < count q p -> exists s, In s p /\ q s = true /\ forall y, In y p -> q y = true -> s <= y.
Proof.
  induction p as [|a p IH]; [unfold count; simpl; lia|]. rewrite count_cons. intros H.
  destruct (Z.eq_dec (count q p) 0) as [E | N].
  - unfold one in H. destruct (q a) eqn:Qa; [|lia].
    exists a; split; [left; reflexivity|]. split; [exact Qa|]. intros y [<- | Hy] Qy; [lia|].
    exfalso. clear - E Hy Qy. induction p as [|b p IH]; [destruct Hy|].
    rewrite count_cons in E. pose proof (count_nonnegative q p). unfold one in E.
    destruct Hy as [<- | Hy]; [rewrite Qy in E; lia|]. apply IH; [destruct (q b); lia | exact Hy].
  - pose proof (count_nonnegative q p). destruct IH as [s [Hs [Qs Ms]]]; [lia|].
    destruct (q a) eqn:Qa.
    + destruct (Z.le_gt_cases a s).
      * exists a; split; [left; reflexivity|]. split; [exact Qa|].
        intros y [<- | Hy] Qy; [lia|]. specialize (Ms y Hy Qy). lia.
      * exists s; split; [right; exact Hs|]. split; [exact Qs|].
        intros y [<- | Hy] Qy; [lia|]. apply Ms; assumption.
    + exists s; split; [right; exact Hs|]. split; [exact Qs|].
      intros y [<- | Hy] Qy; [congruence|]. apply Ms; assumption.
Qed.

Lemma count_le_in {V} (p q : V -> bool) x :
  (forall z, In z x -> p z = true -> q z = true) -> count p x <= count q x.
Proof.
  induction x as [|a x IH]; intros H; [unfold count; simpl; lia|].
  rewrite !count_cons. specialize (IH (fun z Hz => H z (or_intror Hz))).
  specialize (H a (or_introl eq_refl)). unfold one. destruct (p a), (q a); try lia;
    discriminate H; reflexivity.
Qed.

(** A window may begin anywhere. *)
Lemma window_anywhere p start : count (from start) p <= window p.
Proof.
  destruct (Z.eq_dec (count (from start) p) 0) as [-> | N]; [apply most_nonnegative|].
  pose proof (count_nonnegative (from start) p).
  destruct (smallest p (from start)) as [s [Hs [Qs Ms]]]; [lia|].
  apply Z.le_trans with (count (from s) p).
  - apply count_le_in. intros y Hy Qy. specialize (Ms y Hy Qy).
    unfold from in *. rewrite !andb_true_iff, !Z.leb_le in *. lia.
  - apply most_above, in_map_iff. exists s; split; [reflexivity | exact Hs].
Qed.

Theorem window_contains_every_ball p z : count (within_radius z) p <= window p.
Proof.
  eapply Z.le_trans; [|apply window_anywhere with (start := z - radius)].
  apply count_le. intros y. unfold within_radius, from. rewrite andb_true_iff, !Z.leb_le. lia.
Qed.

Theorem window_grows p z : window p <= window (z :: p).
Proof.
  apply most_least; [apply most_nonnegative|]. intros a Ha. apply in_map_iff in Ha.
  destruct Ha as [s [<- Hs]]. eapply Z.le_trans; [|apply window_anywhere with (start := s)].
  rewrite count_cons. unfold one; destruct (from s z); lia.
Qed.

Theorem window_grows_by_one p z : window (z :: p) <= window p + 1.
Proof.
  apply most_least; [pose proof (most_nonnegative (map (fun s => count (from s) p) p)); unfold window; lia|].
  intros a Ha. apply in_map_iff in Ha. destruct Ha as [s [<- _]].
  rewrite count_cons. pose proof (window_anywhere p s). unfold one; destruct (from s z); lia.
Qed.

Lemma window_order p q : Permutation p q -> window p = window q.
Proof.
  assert (one_way : forall p q, Permutation p q -> window p <= window q).
  { clear p q; intros p q H. apply most_least; [apply most_nonnegative|]. intros a Ha.
    apply in_map_iff in Ha. destruct Ha as [s [<- _]].
    rewrite (count_permutation _ _ _ H). apply window_anywhere. }
  intros H; apply Z.le_antisymm; apply one_way; [exact H | apply Permutation_sym, H].
Qed.

Variable beta : Z.
Hypothesis beta_positive : 1 <= beta.

(** Those with exactly beta records around them, on one side of a point, are close to each other. *)
Lemma one_side (side : Z -> bool) z x :
  (forall a b, side a = true -> side b = true -> within_radius a z = true ->
               within_radius b z = true -> within_radius a b = true) ->
  count (fun y => ((around within_radius x y =? beta) && within_radius y z) && side y) x <= beta.
Proof.
  intros H. set (p := fun y => _). destruct (Z.eq_dec (count p x) 0) as [-> | N]; [lia|].
  pose proof (count_nonnegative p x). destruct (count_exists p x) as [y [_ Py]]; [lia|].
  subst p; cbv beta in *. rewrite !andb_true_iff, Z.eqb_eq in Py. destruct Py as [[E C] S].
  apply Z.le_trans with (around within_radius x y); [|lia]. apply count_le. intros v Pw.
  cbv beta in Pw. rewrite !andb_true_iff in Pw. destruct Pw as [[_ Cw] Sw]. apply H; assumption.
Qed.

Theorem line_cap z x :
  Z.abs (outliers within_radius beta (z :: x) - outliers within_radius beta x) <= 2 * beta.
Proof.
  rewrite outliers_more.
  assert (T : turned within_radius beta z x <= 2 * beta).
  { unfold turned. rewrite (count_split _ (fun y => z <=? y)).
    pose proof (one_side (fun y => z <=? y) z x) as R.
    pose proof (one_side (fun y => negb (z <=? y)) z x) as L.
    unfold within_radius in R, L |- *.
    enough (count (fun y => ((around within_radius x y =? beta) && (Z.abs (y - z) <=? radius))
                            && (z <=? y)) x <= beta
            /\ count (fun y => ((around within_radius x y =? beta) && (Z.abs (y - z) <=? radius))
                            && negb (z <=? y)) x <= beta) by (unfold within_radius in *; lia).
    split; [apply R | apply L]; intros a b; rewrite ?negb_true_iff, ?Z.leb_gt, ?Z.leb_le; lia. }
  pose proof (count_nonnegative (fun y => (around within_radius x y =? beta) && within_radius y z) x)
    as P. fold (turned within_radius beta z x) in P.
  unfold one; destruct (_ <=? _); lia.
Qed.

Theorem line_smooth (w : nat -> R) (decay : R) z x y :
  (0 < decay <= 1)%R -> w 0%nat = 1%R -> (forall t, (0 <= w t)%R) ->
  (forall t, (decay * w t <= w (S t))%R) ->
  adds z x y ->
  let bound := smooth_bound within_radius beta window (Z.to_nat (2 * beta)) w in
  let change := IZR (Z.abs (outliers within_radius beta y - outliers within_radius beta x)) in
  (change <= bound x /\ change <= bound y /\
   bound x <= bound y / decay /\ bound y <= bound x / decay)%R.
Proof.
  intros Hd H0 Hw Hf A bound change.
  assert (near_itself : forall a, within_radius a a = true)
    by (intros a; unfold within_radius; apply Z.leb_le; lia).
  assert (near_symmetric : forall a b, within_radius a b = within_radius b a)
    by (intros a b; unfold within_radius; f_equal; lia).
  destruct (smooth_bound_is_above within_radius beta window near_symmetric window_order
    window_contains_every_ball (Z.to_nat (2 * beta)) w H0) with (z := z) (x := x) (y := y)
    as [Ax Ay]; [|exact A|].
  { intros a b. rewrite Z2Nat.id by lia. apply line_cap. }
  destruct (smooth_bound_is_smooth within_radius beta window window_order
    window_contains_every_ball window_grows window_grows_by_one (Z.to_nat (2 * beta)) w decay
    Hd Hw Hf z x y A) as [Sx Sy].
  repeat split; assumption.
Qed.

End Line.
