"""The bundled campaigns: one from a published table, one simulated with known truth."""
