"""Types of arrays, as annotations name them; the shapes stand in docstrings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.str_]
