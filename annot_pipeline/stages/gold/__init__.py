"""Tables that describe a release: judges, items, judgments, lineage, changes, costs."""
