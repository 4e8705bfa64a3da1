"""A local page of items, judges and raw rows of releases, to look at and to decide (`annot serve`).

What does not belong here: what a release is (storage), why an item changed (audit), accounts.
"""
