(* Prints values of the extracted functions.

   values grid BETA K N     one byte a value, 255 for "none", in the order of the loops below
   values lines             one line of numbers in, one line of values out, for chosen arguments *)

open Law

let rec positive n =
  if n = 1 then XH else if n land 1 = 1 then XI (positive (n / 2)) else XO (positive (n / 2))

let z n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

let rec number = function XH -> 1 | XO p -> 2 * number p | XI p -> (2 * number p) + 1

let int = function Z0 -> 0 | Zpos p -> number p | Zneg p -> -number p

let byte = function None -> print_char '\255' | Some n -> print_char (Char.chr (int n))

let grid most_beta most_k most_n =
  for beta = 1 to most_beta do
    for n = 0 to most_n do
      byte (Some (novelty_discrepancy (z n) (z beta)));
      for v = 0 to n do
        byte (Some (z (if is_anomaly (z v) (z n) (z beta) then 1 else 0)));
        for k = 1 to most_k do
          byte (discrepancy false false (z v) (z n) (z beta) (z k));
          byte (discrepancy false true (z v) (z n) (z beta) (z k));
          if v = n then byte (discrepancy true true (z v) (z n) (z beta) (z k))
        done
      done
    done
  done

let lines () =
  try
    while true do
      Scanf.scanf " %d %d %d %d %d %d %d" (fun zero tight v n beta k cap ->
          let bound = discrepancy (zero = 1) (tight = 1) (z v) (z n) (z beta) (z k) in
          let text = function None -> "none" | Some n -> string_of_int (int n) in
          Printf.printf "%s %s %d\n" (text bound)
            (text (capped bound (z cap)))
            (int (novelty_discrepancy (z n) (z beta))))
    done
  with End_of_file | Scanf.Scan_failure _ -> ()

let () =
  match Array.to_list Sys.argv with
  | [ _; "grid"; beta; k; n ] -> grid (int_of_string beta) (int_of_string k) (int_of_string n)
  | [ _; "lines" ] -> lines ()
  | _ -> exit 2
