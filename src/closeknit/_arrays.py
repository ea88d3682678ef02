"""Short names for the array types that signatures use most."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Double precision.
Array: TypeAlias = NDArray[np.float64]
#: Single precision.
Singles: TypeAlias = NDArray[np.float32]
#: Indices or counts, of whatever width.
Integers: TypeAlias = NDArray[np.integer[Any]]
#: True or False per entry.
Flags: TypeAlias = NDArray[np.bool_]
