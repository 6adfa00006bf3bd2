"""The cheapest flow that M_H is where sizes are coupled by more than the root's total."""
