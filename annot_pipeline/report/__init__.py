"""What a release says of itself: data card, Croissant metadata, report.

Built from the manifest and gold tables alone. Everything that comes from exports is escaped.
"""
