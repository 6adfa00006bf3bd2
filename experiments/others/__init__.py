"""The methods of others that experiments compare with: AIM, Markov trees, persons alone, made households, rivals."""
