"""Why a cell of a release is what it is: judgments, weights, fates, places, chain."""
