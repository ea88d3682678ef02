"""Frames, the maps that are sent to a viewer, and messages as bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frame", "MessageError", "pack", "quantize", "unpack"]

Array32 = NDArray[np.float32]

_LENGTH = struct.Struct("<I")
#: Bytes of the part of a message that is words.
_MAX_HEADER = 2**16


class MessageError(Exception):
    """A malformed message; its sender is disconnected.

    Examples
    --------
    >>> from closeknit.explore import MessageError
    >>> from closeknit.explore.frames import unpack
    >>> try:
    ...     unpack(b"nonsense")
    ... except MessageError as error:
    ...     print(error)
    wrong length
    """


@dataclass(frozen=True, eq=False)
class Frame:
    """The map at one moment.

    Attributes
    ----------
    number : int
        Counts frames, from 1; every map shown has a number of its own.
    positions : ndarray of shape (n_points, 2)
    iteration : int
        Since the last restart.
    objective : float
        E⁺ + λE⁻ of the model, NaN before the first iteration.
    divergence : float or None
        KL(P‖Q), for models that have one.
    kept : float or None
        Share of neighbours kept, of a sample; measured about once a second.
    lam : float or None
        The λ of the stage, smaller than the model's while the attraction is exaggerated.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.explore import Frame
    >>> Frame(1, np.zeros((2, 2), np.float32), iteration=7).numbers()["iteration"]
    7
    """

    number: int
    positions: Array32
    iteration: int = 0
    objective: float = float("nan")
    divergence: float | None = None
    kept: float | None = None
    lam: float | None = None

    def numbers(self) -> dict[str, Any]:
        """All but the positions, as JSON can hold it.

        Examples
        --------
        >>> Frame(1, np.zeros((2, 2), np.float32), iteration=7).numbers()["iteration"]
        7
        """
        finite = self.objective if np.isfinite(self.objective) else None
        return {
            "frame": self.number,
            "iteration": self.iteration,
            "objective": finite,
            "divergence": self.divergence,
            "kept": self.kept,
            "lam": self.lam,
        }


def quantize(positions: Array32) -> tuple[dict[str, Any], NDArray[np.uint16]]:
    """Positions in 16 bits, and the box they lie in.

    Parameters
    ----------
    positions : ndarray of shape (n_points, 2)

    Returns
    -------
    box : dict
        ``low`` and ``high``, a number per axis.
    steps : ndarray of shape (n_points, 2)
        ``low + steps / 65535 × (high − low)`` is the position, to half a step.

    Examples
    --------
    >>> box, steps = quantize(np.array([[0, 1], [2, 1]], np.float32))
    >>> box, steps.tolist()
    ({'low': [0.0, 1.0], 'high': [2.0, 2.0]}, [[0, 0], [65535, 0]])
    """
    low, high = positions.min(axis=0), positions.max(axis=0)
    span = np.where(high > low, high - low, np.float32(1.0))
    steps = (positions - low) * (np.float32(65535.0) / span) + np.float32(0.5)
    box = {"low": low.tolist(), "high": (low + span).tolist()}
    return box, np.minimum(steps, np.float32(65535.0)).astype(np.uint16)


def pack(header: dict[str, Any], payload: Any = b"") -> bytes:
    """A message: the length of the header, the header as JSON, and bytes from a multiple of 8 on.

    Examples
    --------
    >>> unpack(pack({"type": "ack", "frame": 3}, b"12"))
    ({'type': 'ack', 'frame': 3}, b'12')
    """
    words = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    words += b" " * (-(len(words) + 4) % 8)
    return b"".join([_LENGTH.pack(len(words)), words, memoryview(payload).cast("B")])


def unpack(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Take a message apart, or raise `MessageError`."""
    if len(message) < 4:
        raise MessageError("too short")
    (length,) = _LENGTH.unpack_from(message)
    if length > _MAX_HEADER or 4 + length > len(message):
        raise MessageError("wrong length")
    try:
        header = json.loads(message[4 : 4 + length].decode())
    except (ValueError, RecursionError):
        raise MessageError("not JSON") from None
    if not isinstance(header, dict):
        raise MessageError("not an object")
    return header, message[4 + length :]
