"""The cheapest flow that M_H is where sizes are coupled by more than the root's total; arrays in, arrays out.

The derivation is docs/derivations/m_h_levels.md. Files: `part` is what is looked at; `selection` chooses cells and
makes them arcs, `questions` asks a part of the hierarchy, `whole_network` makes one network of all, `solution` repeats
that until no cell is left to add. In memory there is one part, the whole; `pgsr.nation` has parts on disk or on a
cluster.
"""
