"""What checks a published folder, for which nobody needs the data: conditions, replay, the law of the noise."""
