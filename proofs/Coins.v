(** * The lazy comparison behind every exact draw

    What is proved here
    - [decision_is_right]: when the loop decides, it decides what the whole uniform number would.
    - [law_of_the_loop]: of all strings of random bits of a length, the share on which the loop has said
      yes is at most y, the share on which it has said no is at most 1 - y, and what is still open is at
      most the width of the enclosure.
    - [exactly_the_stated_law]: if enclosures become fine, the loop ends with probability 1 and says yes
      with probability exactly y.

    What is assumed
    Random bits are fair and independent: every string of a length is as likely as every other. The
    enclosures hold: [low b <= y * 2^b <= high b]. That those of e^-x do is prose (noise/proof.md 2).

    Which Python this is about
    [whitecrow.noise.undercuts], by which all coins, tables and rounded draws are decided. *)

From Coq Require Import ZArith Reals Lra Lia List Bool.
From Whitecrow Require Import Databases.
Import ListNotations.
Local Open Scope Z_scope.

Section Loop.
Variables (low high : Z -> Z) (width : nat).

(** What the words of [width] bits are. *)
Definition size : nat := 2 ^ width.

Fixpoint below (n : nat) : list Z :=
  match n with O => [] | S m => Z.of_nat m :: below m end.

(** The loop, on the words that the source gives; [None] while it has not decided. *)
Fixpoint undercuts (words : list Z) (value bits : Z) : option bool :=
  if value <? low bits then Some true
  else if high bits <=? value then Some false
  else match words with
       | [] => None
       | word :: rest => undercuts rest (value * Z.of_nat size + word) (bits + Z.of_nat width)
       end.

(** Every string of [n] words. *)
Fixpoint strings (n : nat) : list (list Z) :=
  match n with
  | O => [[]]
  | S m => flat_map (fun word => map (cons word) (strings m)) (below size)
  end.

Definition says (answer : bool) (value bits : Z) (words : list Z) : bool :=
  match undercuts words value bits with Some b => Bool.eqb b answer | None => false end.

Definition undecided (value bits : Z) (words : list Z) : bool :=
  match undercuts words value bits with Some _ => false | None => true end.

Local Open Scope R_scope.

(** ** Sums *)

Fixpoint sum (f : Z -> R) (n : nat) : R :=
  match n with O => 0 | S m => f (Z.of_nat m) + sum f m end.

Lemma sum_le f g n : (forall c, f c <= g c) -> sum f n <= sum g n.
Proof. intros H; induction n as [|n IH]; simpl; [lra|]. specialize (H (Z.of_nat n)). lra. Qed.

Lemma sum_minus f g n : sum (fun c => f c - g c) n = sum f n - sum g n.
Proof. induction n as [|n IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma count_app {V} (p : V -> bool) x y : count p (x ++ y) = (count p x + count p y)%Z.
Proof. unfold count. rewrite filter_app, app_length. lia. Qed.

Lemma count_map {V W} (p : W -> bool) (f : V -> W) x : count p (map f x) = count (fun v => p (f v)) x.
Proof. induction x as [|a x IH]; [reflexivity|]. simpl map. rewrite !count_cons, IH. reflexivity. Qed.

Lemma count_strings p n m :
  IZR (count p (flat_map (fun word => map (cons word) (strings n)) (below m)))
    = sum (fun c => IZR (count (fun s => p (c :: s)) (strings n))) m.
Proof.
  induction m as [|m IH]; [reflexivity|]. simpl flat_map. simpl sum.
  rewrite count_app, plus_IZR, IH, count_map. reflexivity.
Qed.

Lemma scaled_sum a f n : sum (fun c => a * f c) n = a * sum f n.
Proof. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma constant_sum a n : sum (fun _ => a) n = INR n * a.
Proof. induction n as [|n IH]; cbn [sum]; [simpl; ring|]. rewrite IH, S_INR. ring. Qed.

(** How much of the interval from 0 to [most] lies below [u]. *)
Definition part (most u : R) : R := Rmin (Rmax u 0) most.

Ltac by_order :=
  unfold part, Rmin, Rmax; repeat match goal with
  | |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b)
  | H : context [Rle_dec ?a ?b] |- _ => destruct (Rle_dec a b)
  end; try lra.

Lemma parts_add_up M u n : 0 <= M -> sum (fun c => part M (u - IZR c * M)) n = part (INR n * M) u.
Proof.
  intros HM; induction n as [|n IH].
  - simpl. rewrite Rmult_0_l. by_order.
  - cbn [sum]. rewrite IH, S_INR, <- INR_IZR_INZ.
    assert (0 <= INR n * M) by (apply Rmult_le_pos; [apply pos_INR | exact HM]).
    rewrite Rmult_plus_distr_r, Rmult_1_l. set (N := INR n * M) in *. by_order.
Qed.

Lemma part_bounds M u : 0 <= M -> 0 <= part M u <= M.
Proof. intros; split; by_order. Qed.

Lemma part_monotone M u v : 0 <= M -> u <= v -> 0 <= part M v - part M u <= v - u.
Proof. intros; split; by_order. Qed.

Lemma part_scales M N u : 0 <= M -> part (M * N) (M * u) = M * part N u.
Proof.
  intros [H | <-].
  - by_order; try nra; exfalso; nra.
  - rewrite !Rmult_0_l. by_order.
Qed.

(** ** The loop *)

Variable y : R.
Hypothesis y_is_a_probability : 0 <= y <= 1.
Hypothesis enclosed : forall b, (0 <= b)%Z ->
  IZR (low b) <= y * IZR (2 ^ b) /\ y * IZR (2 ^ b) <= IZR (high b).

Lemma size_is : Z.of_nat size = (2 ^ Z.of_nat width)%Z.
Proof. unfold size. rewrite Nat2Z.inj_pow. reflexivity. Qed.

Lemma next_position b :
  (0 <= b)%Z -> y * IZR (2 ^ (b + Z.of_nat width)) = INR size * (y * IZR (2 ^ b)).
Proof.
  intros Hb. rewrite INR_IZR_INZ, size_is, Z.pow_add_r, mult_IZR by lia. ring.
Qed.

Definition many (n : nat) : R := INR size ^ n.

Lemma many_nonnegative n : 0 <= many n.
Proof. apply pow_le, pos_INR. Qed.

Lemma all_strings n : IZR (count (fun _ => true) (strings n)) = many n.
Proof.
  induction n as [|n IH]; [reflexivity|]. cbn [strings]. rewrite count_strings, IH.
  unfold many; cbn [pow]; fold (many n). induction size as [|m IHm]; cbn [sum]; [simpl; ring|].
  rewrite IHm, S_INR. ring.
Qed.

Lemma some_strings p n : IZR (count p (strings n)) <= many n.
Proof. rewrite <- all_strings. apply IZR_le, count_le. reflexivity. Qed.

Lemma no_strings p n : (forall s, p s = false) -> IZR (count p (strings n)) = 0.
Proof.
  intros H. replace (count p (strings n)) with 0%Z; [reflexivity|].
  symmetry; unfold count. induction (strings n) as [|s l IH]; [reflexivity|].
  simpl filter. rewrite H. exact IH.
Qed.

Lemma at_once words value bits b :
  (if (value <? low bits)%Z then Some true
   else if (high bits <=? value)%Z then Some false else None) = Some b ->
  undercuts words value bits = Some b.
Proof.
  destruct words; cbn [undercuts]; destruct (value <? low bits)%Z, (high bits <=? value)%Z;
    intros H; try exact H; discriminate H.
Qed.

Lemma no_strings_at_all answer value bits :
  (low bits <= value)%Z -> (value < high bits)%Z ->
  IZR (count (says answer value bits) (strings 0)) = 0.
Proof.
  intros Ge Gt. cbn [strings]. rewrite count_cons. unfold says; cbn [undercuts].
  rewrite (proj2 (Z.ltb_ge _ _) Ge), (proj2 (Z.leb_gt _ _) Gt). reflexivity.
Qed.

(** Of the strings of one length, those on which the loop has said this. *)
Lemma share answer n : forall value bits, (0 <= bits)%Z ->
  let below_y := part 1 (y * IZR (2 ^ bits) - IZR value) in
  IZR (count (says answer value bits) (strings n))
    <= many n * (if answer then below_y else 1 - below_y).
Proof.
  induction n as [|n IH]; intros value bits Hb; cbv zeta;
    destruct (enclosed bits Hb) as [L H];
    destruct (Z.ltb_spec value (low bits)) as [Lt | Ge].
  1, 3: (* it says yes at once *)
    assert (IZR value + 1 <= IZR (low bits)) by (rewrite <- plus_IZR; apply IZR_le; lia);
    replace (part 1 (y * IZR (2 ^ bits) - IZR value)) with 1 by by_order;
    destruct answer; [rewrite Rmult_1_r; apply some_strings|];
    rewrite no_strings; [lra|]; intros s; unfold says; rewrite at_once with (b := true);
    [reflexivity | rewrite (proj2 (Z.ltb_lt _ _) Lt); reflexivity].
  all: destruct (Z.leb_spec (high bits) value) as [Le | Gt].
  1, 3: (* it says no at once *)
    apply IZR_le in Le as Le';
    replace (part 1 (y * IZR (2 ^ bits) - IZR value)) with 0 by by_order;
    destruct answer; [|rewrite Rminus_0_r, Rmult_1_r; apply some_strings];
    rewrite no_strings; [lra|]; intros s; unfold says; rewrite at_once with (b := false);
    [reflexivity | rewrite (proj2 (Z.ltb_ge _ _) Ge), (proj2 (Z.leb_le _ _) Le); reflexivity].
  - (* no words are left *)
    rewrite no_strings_at_all; [|exact Ge | exact Gt].
    pose proof (part_bounds 1 (y * IZR (2 ^ bits) - IZR value)). unfold many; simpl pow.
    destruct answer; lra.
  - (* one more word is read *)
    cbn [strings]. rewrite count_strings.
    assert (R : forall c s, says answer value bits (c :: s)
              = says answer (value * Z.of_nat size + c) (bits + Z.of_nat width) s).
    { intros c s; unfold says; cbn [undercuts].
      rewrite (proj2 (Z.ltb_ge _ _) Ge), (proj2 (Z.leb_gt _ _) Gt). reflexivity. }
    set (u := y * IZR (2 ^ bits) - IZR value).
    eapply Rle_trans; [apply sum_le with
      (g := fun c => many n * (if answer then part 1 (INR size * u - IZR c * 1)
                               else 1 - part 1 (INR size * u - IZR c * 1)))|].
    + intros c. rewrite (count_same _ _ _ (R c)).
      eapply Rle_trans; [apply IH; lia|]. cbv zeta. right.
      rewrite next_position by exact Hb. rewrite plus_IZR, mult_IZR, <- INR_IZR_INZ.
      replace (INR size * (y * IZR (2 ^ bits)) - (IZR value * INR size + IZR c))
        with (INR size * u - IZR c * 1) by (unfold u; ring). reflexivity.
    + unfold many; cbn [pow]; fold (many n).
      assert (A : sum (fun c => part 1 (INR size * u - IZR c * 1)) size = INR size * part 1 u).
      { rewrite parts_add_up by lra. rewrite Rmult_1_r, <- (Rmult_1_r (INR size)) at 1.
        rewrite <- part_scales by apply pos_INR. reflexivity. }
      destruct answer.
      * rewrite (scaled_sum (many n)). rewrite A. right; ring.
      * rewrite (scaled_sum (many n)), sum_minus, A, constant_sum. right; ring.
Qed.

(** Those on which it has not decided. *)
Lemma still_open n : forall value bits, (0 <= bits)%Z ->
  let last := (bits + Z.of_nat n * Z.of_nat width)%Z in
  IZR (count (undecided value bits) (strings n))
    <= part (many n) (IZR (high last) - IZR value * many n)
       - part (many n) (IZR (low last) - IZR value * many n).
Proof.
  induction n as [|n IH]; intros value bits Hb; cbv zeta.
  all: set (last := (bits + _)%Z).
  all: assert (Hl : (0 <= last)%Z) by (unfold last; lia).
  all: destruct (enclosed last Hl) as [L H].
  all: assert (LH : IZR (low last) <= IZR (high last)) by lra.
  - unfold many; simpl pow. assert (last = bits) as -> by (unfold last; lia).
    rewrite Rmult_1_r. cbn [strings]. rewrite count_cons. unfold undecided; cbn [undercuts].
    destruct (Z.ltb_spec value (low bits)) as [Lt | Ge];
      [|destruct (Z.leb_spec (high bits) value) as [Le | Gt]]; unfold one, count; simpl filter;
      simpl length; cbn [Z.of_nat Z.add].
    1, 2: pose proof (part_monotone 1 (IZR (low bits) - IZR value) (IZR (high bits) - IZR value));
      lra.
    apply IZR_le in Ge. assert (IZR value + 1 <= IZR (high bits))
      by (rewrite <- plus_IZR; apply IZR_le; lia). by_order.
  - pose proof (many_nonnegative n) as Mn. pose proof (many_nonnegative (S n)) as Ms.
    assert (N : (forall s, undecided value bits s = false) \/
                (low bits <= value < high bits)%Z).
    { unfold undecided. destruct (Z.ltb_spec value (low bits)) as [Lt | Ge];
        [left; intros s; rewrite at_once with (b := true); [reflexivity|]
        |destruct (Z.leb_spec (high bits) value) as [Le | Gt];
         [left; intros s; rewrite at_once with (b := false); [reflexivity|] | right; lia]].
      - rewrite (proj2 (Z.ltb_lt _ _) Lt); reflexivity.
      - rewrite (proj2 (Z.ltb_ge _ _) Ge), (proj2 (Z.leb_le _ _) Le); reflexivity. }
    destruct N as [N | [Ge Gt]].
    + rewrite no_strings by exact N.
      pose proof (part_monotone (many (S n)) (IZR (low last) - IZR value * many (S n))
        (IZR (high last) - IZR value * many (S n)) Ms). lra.
    + cbn [strings]. rewrite count_strings.
      assert (R : forall c s, undecided value bits (c :: s)
                = undecided (value * Z.of_nat size + c) (bits + Z.of_nat width) s).
      { intros c s; unfold undecided; cbn [undercuts].
        rewrite (proj2 (Z.ltb_ge _ _) Ge), (proj2 (Z.leb_gt _ _) Gt). reflexivity. }
      eapply Rle_trans; [apply sum_le with (g := fun c =>
        part (many n) ((IZR (high last) - IZR value * many (S n)) - IZR c * many n)
        - part (many n) ((IZR (low last) - IZR value * many (S n)) - IZR c * many n))|].
      * intros c. rewrite (count_same _ _ _ (R c)).
        eapply Rle_trans; [apply IH; lia|]. cbv zeta. right.
        replace (bits + Z.of_nat width + Z.of_nat n * Z.of_nat width)%Z with last
          by (unfold last; lia).
        rewrite plus_IZR, mult_IZR, <- INR_IZR_INZ. unfold many; cbn [pow]; fold (many n).
        f_equal; f_equal; ring.
      * rewrite sum_minus, !parts_add_up by exact Mn. unfold many; cbn [pow]; fold (many n).
        right; reflexivity.
Qed.

(** ** From the beginning *)

Definition yes (n : nat) : R := IZR (count (says true 0 0) (strings n)) / many n.
Definition no (n : nat) : R := IZR (count (says false 0 0) (strings n)) / many n.
Definition open (n : nat) : R := IZR (count (undecided 0 0) (strings n)) / many n.
Definition gap (n : nat) : R :=
  let bits := (Z.of_nat n * Z.of_nat width)%Z in IZR (high bits - low bits) / many n.

Lemma many_positive n : 0 < many n.
Proof.
  apply pow_lt, lt_0_INR. unfold size. apply Nat.neq_0_lt_0, Nat.pow_nonzero. lia.
Qed.

Lemma everything n : yes n + no n + open n = 1.
Proof.
  unfold yes, no, open. pose proof (many_positive n).
  assert (E : IZR (count (says true 0 0) (strings n)) + IZR (count (says false 0 0) (strings n))
    + IZR (count (undecided 0 0) (strings n)) = many n).
  { rewrite <- all_strings, <- !plus_IZR. f_equal. induction (strings n) as [|s l IH]; [reflexivity|].
    rewrite !count_cons. rewrite <- IH. unfold says, undecided, one.
    destruct (undercuts s 0 0) as [[]|]; simpl Bool.eqb; cbv iota; lia. }
  unfold Rdiv. rewrite <- !Rmult_plus_distr_r, E. field. lra.
Qed.

Theorem law_of_the_loop n : yes n <= y /\ no n <= 1 - y /\ 0 <= open n <= gap n.
Proof.
  pose proof (many_positive n) as P. unfold yes, no, open, gap.
  assert (D : forall a b, a <= many n * b -> a / many n <= b).
  { intros a b H. apply Rmult_le_reg_l with (many n); [exact P|].
    replace (many n * (a / many n)) with a by (field; lra). exact H. }
  assert (B : part 1 (y * IZR (2 ^ 0) - 0) = y).
  { change (2 ^ 0)%Z with 1%Z. rewrite Rmult_1_r, Rminus_0_r. by_order. }
  pose proof (share true n 0 0 ltac:(lia)) as Y. pose proof (share false n 0 0 ltac:(lia)) as N.
  pose proof (still_open n 0 0 ltac:(lia)) as O. cbv zeta in Y, N, O. rewrite B in Y, N.
  split; [apply D, Y|]. split; [apply D, N|]. split.
  - apply Rmult_le_pos; [apply IZR_le, count_nonnegative | left; apply Rinv_0_lt_compat, P].
  - cbv zeta. apply D. replace (many n * (IZR _ / many n)) with
      (IZR (high (Z.of_nat n * Z.of_nat width) - low (Z.of_nat n * Z.of_nat width)))
      by (field; lra).
    rewrite Z.add_0_l in O. rewrite minus_IZR.
    destruct (enclosed (Z.of_nat n * Z.of_nat width)) as [L H]; [lia|].
    rewrite !Rmult_0_l, !Rminus_0_r in O.
    pose proof (part_monotone (many n) (IZR (low (Z.of_nat n * Z.of_nat width)))
      (IZR (high (Z.of_nat n * Z.of_nat width)))). lra.
Qed.

Theorem exactly_the_stated_law :
  Un_cv gap 0 -> Un_cv yes y /\ Un_cv open 0.
Proof.
  intros G; split; intros e He; destruct (G e He) as [N H]; exists N; intros n Hn;
    specialize (H n Hn); unfold R_dist in *;
    destruct (law_of_the_loop n) as [Y [No [O1 O2]]]; pose proof (everything n);
    rewrite Rminus_0_r in *; apply Rabs_def2 in H; apply Rabs_def1; lra.
Qed.

(** The number that a value and the words after it make. *)
Definition named (words : list Z) (value : Z) : Z :=
  fold_left (fun so_far word => so_far * Z.of_nat size + word)%Z words value.

Lemma named_bounds words : forall value,
  Forall (fun word => (0 <= word < Z.of_nat size)%Z) words ->
  let scale := (Z.of_nat size ^ Z.of_nat (length words))%Z in
  (value * scale <= named words value <= (value + 1) * scale - 1)%Z.
Proof.
  induction words as [|word words IH]; intros value F; cbv zeta.
  - simpl. lia.
  - inversion F as [|? ? Hw Fw]; subst. specialize (IH (value * Z.of_nat size + word)%Z Fw).
    cbv zeta in IH. unfold named in *; cbn [fold_left length].
    rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
    set (scale := (Z.of_nat size ^ Z.of_nat (length words))%Z) in *.
    assert (0 <= scale)%Z by (apply Z.pow_nonneg; lia). nia.
Qed.

Lemma cell words value v :
  Forall (fun word => (0 <= word < Z.of_nat size)%Z) words ->
  IZR (named words value) <= v * INR size ^ length words < IZR (named words value) + 1 ->
  IZR value <= v < IZR value + 1.
Proof.
  intros F V. pose proof (named_bounds words value F) as [A B].
  pose proof (many_positive (length words)) as P. unfold many in P.
  rewrite INR_IZR_INZ, pow_IZR in *. set (scale := (Z.of_nat size ^ Z.of_nat (length words))%Z) in *.
  apply IZR_le in A. rewrite mult_IZR in A.
  assert (B' : (named words value + 1 <= (value + 1) * scale)%Z) by lia.
  apply IZR_le in B'. rewrite plus_IZR, mult_IZR, plus_IZR in B'.
  split; [apply Rmult_le_reg_r with (IZR scale) | apply Rmult_lt_reg_r with (IZR scale)]; lra.
Qed.

(** A decision holds for every number that begins with the bits that were read. *)
Theorem decision_is_right words : forall value bits b,
  (0 <= bits)%Z -> Forall (fun word => (0 <= word < Z.of_nat size)%Z) words ->
  undercuts words value bits = Some b ->
  forall v, (* the number drawn, times 2^bits: it lies in the cell that all words name *)
  IZR (named words value) <= v * INR size ^ length words < IZR (named words value) + 1 ->
  if b then v < y * IZR (2 ^ bits) else y * IZR (2 ^ bits) <= v.
Proof.
  induction words as [|word words IH]; intros value bits b Hb F U v V;
    pose proof (cell _ _ _ F V) as C; cbn [undercuts] in U; destruct (enclosed bits Hb) as [L H].
  - destruct (Z.ltb_spec value (low bits)) as [Lt | Ge].
    + injection U as <-. assert (IZR value + 1 <= IZR (low bits))
        by (rewrite <- plus_IZR; apply IZR_le; lia). lra.
    + destruct (Z.leb_spec (high bits) value) as [Le | Gt]; [|discriminate U].
      injection U as <-. apply IZR_le in Le. lra.
  - destruct (Z.ltb_spec value (low bits)) as [Lt | Ge].
    + injection U as <-. assert (IZR value + 1 <= IZR (low bits))
        by (rewrite <- plus_IZR; apply IZR_le; lia). lra.
    + destruct (Z.leb_spec (high bits) value) as [Le | Gt].
      * injection U as <-. apply IZR_le in Le. lra.
      * inversion F as [|? ? Hw Fw]; subst.
        assert (Hb' : (0 <= bits + Z.of_nat width)%Z) by lia.
        specialize (IH _ _ _ Hb' Fw U (v * INR size)).
        rewrite next_position in IH by exact Hb.
        assert (P : 0 < INR size) by (rewrite <- pow_1; apply (many_positive 1)).
        destruct b; (eapply Rmult_lt_reg_l || eapply Rmult_le_reg_l); try exact P.
        all: rewrite (Rmult_comm _ v); apply IH; rewrite Rmult_assoc, tech_pow_Rmult; exact V.
Qed.

End Loop.
