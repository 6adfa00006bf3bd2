"""What is known of households with members: their public domain, the linked tables, populations."""
