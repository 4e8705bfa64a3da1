"""Tables: Arrow tables in, (tables, facts) out. Names become codes, one method is called,
the result becomes the tables of `contracts`.

What does not belong here: files, SQL engines, Dagster (and mathematics, which is in methods).
"""
