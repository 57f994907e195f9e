"""Platform-independent hashes of bytes: FarmHash's 64-bit fingerprint, and SipHash-2-4 with a key."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _right(value: int, by: int) -> int:
    """Rotates a 64-bit value right."""
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _shifted(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _both(u: int, v: int, mul: int) -> int:
    a = _shifted((u ^ v) * mul)
    return _shifted((v & _MASK ^ a) * mul) * mul & _MASK


def farm(data: bytes) -> int:
    """Computes FarmHash's Fingerprint64."""
    size = len(data)
    mul = _K2 + size * 2
    if size > 64:
        return _long(data)
    if size > 32:
        return _up_to_64(data, mul)
    if size > 16:
        return _both(*_ends(data, _word(data, 0) * _K1, mul), mul)
    if size >= 8:
        a, b = _word(data, 0) + _K2, _word(data, size - 8)
        return _both(_right(b, 37) * mul + a & _MASK, (_right(a, 25) + b) * mul & _MASK, mul)
    if size >= 4:
        return _both(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), mul)
    if not size:
        return _K2
    y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
    return _shifted(y * _K2 & _MASK ^ z * _K0 & _MASK) * _K2 & _MASK


def _ends(data: bytes, a: int, mul: int) -> tuple[int, int]:
    b, c, d = _word(data, 8), _word(data, len(data) - 8) * mul, _word(data, len(data) - 16) * _K2
    return _right(a + b, 43) + _right(c, 30) + d & _MASK, a + _right(b + _K2, 18) + c & _MASK


def _up_to_64(data: bytes, mul: int) -> int:
    size, a = len(data), _word(data, 0) * _K2
    y, other = _ends(data, a, mul)
    z = _both(y, other, mul)
    e, f = _word(data, 16) * mul, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * mul, (z + _word(data, size - 24)) * mul
    return _both(_right(e + f, 43) + _right(g, 30) + h & _MASK, e + _right(f + a, 18) + g & _MASK, mul)


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(data, at + 8 * i) for i in range(4))
    a += w
    b = _right(b + a + z, 21)
    c = a
    a += x + y
    return a + z & _MASK, b + _right(a, 44) + c & _MASK


def _long(data: bytes) -> int:
    size = len(data)
    x, y = 81 * _K2 + _word(data, 0), 81 * _K1 + 113
    z = _shifted(y * _K2 + 113) * _K2
    v, w = (0, 0), (0, 0)
    for at in range(0, (size - 1) // 64 * 64, 64):
        x, y, z, v, w = _round(data, at, (x, y, z), v, w, _K1, 1)
    mul, rest = _K1 + ((z & 0xFF) << 1), (size - 1) & 63
    first = w[0] + rest
    v = (v[0] + first, v[1])
    w = (first + v[0], w[1])
    x, y, z, v, w = _round(data, size - 64, (x, y, z), v, w, mul, 9)
    return _both(_both(v[0], w[0], mul) + _shifted(y) * _K0 + z & _MASK, _both(v[1], w[1], mul) + x & _MASK, mul)


def _round(
    data: bytes, at: int, state: tuple[int, int, int], v: tuple[int, int], w: tuple[int, int], mul: int, times: int
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """Mixes 64 bytes into the state; the last block uses another factor."""
    x, y, z = state
    x = _right(x + y + v[0] + _word(data, at + 8), 37) * mul & _MASK
    y = _right(y + v[1] + _word(data, at + 48), 42) * mul & _MASK
    x ^= w[1] * times & _MASK
    y += v[0] * times + _word(data, at + 40)
    z = _right(z + w[0], 33) * mul & _MASK
    v, w = _weak(data, at, v[1] * mul, x + w[0]), _weak(data, at + 32, z + w[1], y + _word(data, at + 16))
    return z, y & _MASK, x, v, w


def sip(data: bytes, key: tuple[int, int]) -> int:
    """Computes SipHash-2-4 with a key of two 64-bit numbers."""
    k0, k1 = key
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = v[0] + v[1] & _MASK
            v[1] = _right(v[1], 64 - 13) ^ v[0]
            v[0] = _right(v[0], 32)
            v[2] = v[2] + v[3] & _MASK
            v[3] = _right(v[3], 64 - 16) ^ v[2]
            v[0] = v[0] + v[3] & _MASK
            v[3] = _right(v[3], 64 - 21) ^ v[0]
            v[2] = v[2] + v[1] & _MASK
            v[1] = _right(v[1], 64 - 17) ^ v[2]
            v[2] = _right(v[2], 32)

    whole = len(data) // 8 * 8
    for word in [*(_word(data, at) for at in range(0, whole, 8)), _word(data, whole) | (len(data) & 0xFF) << 56]:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def joined(first: int, second: int) -> int:
    """Combines two fingerprints; the order matters."""
    mul = 0xC6A4A7935BD1E995
    result = (first ^ mul ^ _shifted(second * mul) * mul & _MASK) * mul & _MASK
    return _shifted(_shifted(result) * mul)
