"""Places on the Earth as points of the unit sphere, the same to the last bit on every machine."""

from __future__ import annotations

import math

import numpy as np

EARTH_RADIUS_KM = 6371.0088
"""The mean radius of the Earth (IUGG), used by the haversine metric."""


def on_sphere(latitude: float, longitude: float) -> tuple[float, float, float]:
    """Return the point of the unit sphere at a latitude and a longitude in degrees.

    Sine and cosine are computed here, by additions and multiplications in a fixed order, because
    the ones of a library differ in the last bit from machine to machine and from batch to batch.
    """
    sine, cosine = sine_cosine(latitude)
    east, north = sine_cosine(longitude)
    return cosine * north, cosine * east, sine


def sine_cosine(degrees: float) -> tuple[float, float]:
    """Return sine and cosine of an angle in degrees, to about one part in 10^16.

    The angle is brought to at most 45 degrees exactly; from there the Taylor series are used.
    """
    turned = np.fmod(degrees, 360.0)
    quarter = math.floor(turned / 90.0 + 0.5)
    t = (turned - 90.0 * quarter) * (math.pi / 180.0)
    s = t * t
    sine, cosine = 1.0, 1.0
    for k in range(16, 0, -2):
        sine = 1.0 - sine * s / (k * (k + 1.0))
        cosine = 1.0 - cosine * s / (k * (k - 1.0))
    sine *= t
    side = int(quarter) % 4
    if side == 0:
        return sine, cosine
    if side == 1:
        return cosine, -sine
    if side == 2:
        return -sine, -cosine
    return -cosine, sine
