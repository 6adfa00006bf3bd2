"""Numbers printed in the papers, as data: one file per paper."""
