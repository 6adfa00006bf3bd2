"""What reads a published folder as values, with intervals of its counts and statistics."""
