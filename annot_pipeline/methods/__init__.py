"""Mathematics: integer codes and numpy arrays in, frozen results out.

One method, one module. What does not belong here: names, tables, files, clocks,
Dagster, global randomness. numpy and scipy are all that these modules import.
"""
