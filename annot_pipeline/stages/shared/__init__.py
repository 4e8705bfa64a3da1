"""Forms of tables that several subjects read; what one subject alone needs is in its folder."""
