"""The fast algorithms on arrays: no problem, no measurement, no solver. `algorithms` states problems and calls them.

| room             | what it solves                                                          |
|------------------|-------------------------------------------------------------------------|
| `nearest_tree`   | nearest non-negative integers on a tree that add up, the root's sum given |
| `quadratic_flow` | flows of least quadratic cost through a network, real or integer          |

`losses` are those of differences, of which objectives consist; `isotonic_kernel` pools adjacent violators.
"""
