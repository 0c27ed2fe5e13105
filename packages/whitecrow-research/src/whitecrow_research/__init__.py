"""Research on top of whitecrow: the papers redone. The product imports nothing from here."""
