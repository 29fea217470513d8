"""What the readers of robot files share: XML, rotations, right angles, names of steps."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trajopt.errors import FileError
from trajopt.mechanics.joints import skew

RIGHT_ANGLE = 1e-10  # files have 1.57079632679 for pi/2


def read_xml(path: Path) -> ElementTree.Element:
    """Return the root of an XML file."""
    try:
        return ElementTree.parse(path).getroot()
    except OSError as error:
        raise FileError(
            f"cannot read the robot '{path}'",
            got=error.strerror,
            expected="the path of a URDF or an MJCF file",
        ) from error
    except ElementTree.ParseError as error:
        raise FileError(
            f"'{path}' is not a robot file", got=str(error), expected="a URDF or an MJCF file"
        ) from error


def is_mjcf(path: Path) -> bool:
    """Whether a file is MJCF rather than URDF, by its root."""
    root = read_xml(path).tag
    if root not in ("robot", "mujoco"):
        raise FileError(
            f"'{path}' is not a robot file",
            got=f"<{root}>",
            expected="<robot> of a URDF, or <mujoco> of an MJCF file",
        )
    return root == "mujoco"


def from_roll_pitch_yaw(angles: Sequence[float]) -> np.ndarray:
    """Return the rotation about the fixed axes x, then y, then z, (3, 3)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def from_quaternion(q: Sequence[float]) -> np.ndarray:
    """Return the rotation of a quaternion (w, x, y, z) of any length, (3, 3)."""
    w, x, y, z = np.asarray(q, float) / np.linalg.norm(q)
    K = skew(np.array([x, y, z]))
    return np.asarray(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)


def about_axis(axis: Sequence[float], angle: float) -> np.ndarray:
    """Return the rotation about an axis, (3, 3)."""
    K = skew(np.asarray(axis, float) / np.linalg.norm(axis))
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def with_right_angles(rotation: np.ndarray) -> np.ndarray:
    """Return a rotation whose entries near 0, 1 and -1 are exactly that."""
    near = np.round(rotation)
    return np.where(np.abs(rotation - near) < RIGHT_ANGLE, near, rotation)
