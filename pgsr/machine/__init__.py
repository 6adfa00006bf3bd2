"""The machine: memory, threads, compiled loops, processes of their own, files that appear whole. No counts, no noise.

| file          | what it does                                                                     |
|---------------|----------------------------------------------------------------------------------|
| `memory`      | refuses what does not fit, before it is allocated                                  |
| `parallel`    | shares the rows of a loop among threads; `blocks` cuts them to what a cache holds  |
| `compilation` | compiles loops once, apart from time limits                                       |
| `isolation`   | runs a function in a process of its own, with hard limits                          |
| `partitions`  | keeps the arrays of parts of a nation in a folder; `whole_files` writes files whole  |
| `extras`      | imports what only extras of pgsr bring, or names the extra; versions of packages   |
| `checkout`    | gives the folders models/ and experiments/ one name each                           |
"""
