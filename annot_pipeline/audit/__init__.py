"""For those who audit: why a cell is what it is, what changed and why, and a proof for every file.

What does not belong here: how a release is made (commands.publish), how it is shown (report, cli).
"""
