"""What to ask next: the plan of HITs, by each design."""
