"""Messages of Protocol Buffers, written and read by hand: enough for what the tests make, and independent of Kino's code."""
import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uint(number, value):
    return varint(number << 3) + varint(value)


def data(number, value):
    value = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def real(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def fields(message):
    """(number, value) of a message; values are ints or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        elif tag & 7 == 2:
            size = number()
            yield tag >> 3, message[at:at + size]
            at += size
        else:
            size = {1: 8, 5: 4}[tag & 7]
            yield tag >> 3, int.from_bytes(message[at:at + size], "little")
            at += size
