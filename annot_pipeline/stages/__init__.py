"""What each stage does: fetches its inputs from the store, calls a step or a query.

The bridge between disk (storage, exports) and tables (steps), which do not know each other.
What does not belong here: what a table holds (steps, sql), and which stages there are
(pipeline).
"""
