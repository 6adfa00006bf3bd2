"""The benchmark of the field, experiment B1: other authors' mechanisms beside the releases of this toolkit.

All spend the same epsilon, hide one member of a group, and know regions, K and every region's number of groups.
docs/study/field.md shows who wins where, and how an arm or a data set is added: a file, and a line of a list.

Files: `experiment` is B1; `arms` lists the competitors, those of this toolkit are in `releases/`, one file each, those
of other authors in `experiments/others/rivals/`; `data/` has the data sets, one file each, and their list; `standings`
ranks arms; `tables` writes the tables that pages quote.
"""
