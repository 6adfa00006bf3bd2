"""The methods of others that experiments compare with: made households, rivals."""
