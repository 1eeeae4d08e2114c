# SPDX-License-Identifier: Apache-2.0
"""Messages of gossip/wire/format.md, as far as somebody between two peers must know them."""

import struct

HEADER_BYTES = 60
TRAILER_BYTES = 4
VOTE_BYTES, PULSE_BYTES = 8, 12
HELLO, WELCOME, REFUSED, BYE, JOIN = range(32, 37)
NAMES = {0: "push", 1: "ack", 2: "request", 3: "reply", 4: "busy", 5: "returned", 6: "chunk", 7: "ping",
         8: "pong", 9: "finished", 10: "left", 11: "fetch", 12: "model", HELLO: "hello", WELCOME: "welcome",
         REFUSED: "refused", BYE: "bye", JOIN: "join"}
MOST_BYTES = 1 << 40  # more than any model: a header that says so is none


def body_bytes(header):
    """What follows a header, trailer included. The only place that knows the layout of lengths."""
    pulses, votes = struct.unpack_from("<BH", header, 5)
    payload, = struct.unpack_from("<Q", header, 48)
    return VOTE_BYTES * votes + PULSE_BYTES * pulses + payload + TRAILER_BYTES


class Message:
    """One message on its way: what its header says, and how much of it has passed."""

    def __init__(self, header):
        self.kind, = struct.unpack_from("<B", header, 3)
        self.sender, = struct.unpack_from("<I", header, 8)
        self.seq, = struct.unpack_from("<Q", header, 16)
        self.payload_bytes, = struct.unpack_from("<Q", header, 48)
        self.size = HEADER_BYTES + body_bytes(header)
        self.passed = 0
        self.is_dropped = False
        self.ending = None  # the rule that ends its connection in mid-message

    @property
    def name(self):
        return NAMES.get(self.kind, str(self.kind))

    @property
    def is_frame(self):
        """Of a protocol; what opens and closes connections is none."""
        return self.kind < HELLO

    @property
    def has_weights(self):
        return self.is_frame and self.payload_bytes > 0


def is_header(data):
    return data[:2] == b"hs" and HEADER_BYTES + body_bytes(data) < MOST_BYTES


class Splitter:
    """Cuts a stream at the ends of its messages. Bytes that are none pass uncut, with message None."""

    def __init__(self):
        self.head = bytearray()
        self.message = None
        self.left = 0
        self.is_foreign = False

    def feed(self, data):
        """Yields (message, piece, whether it is its first piece, whether it is its last)."""
        data = memoryview(data)
        while data:
            if self.is_foreign:
                yield None, bytes(data), False, False
                return
            if self.message is None:
                data = data[self._take_header(data):]
                if self.message is None and not self.is_foreign:
                    return  # half a header: the rest is still to come
                piece, self.head = bytes(self.head), bytearray()
                yield self.message, piece, True, False
                continue
            piece, data = data[:self.left], data[self.left:]
            self.left -= len(piece)
            message, is_last = self.message, self.left == 0
            if is_last:
                self.message = None
            yield message, bytes(piece), False, is_last

    def rest(self):
        """Of a header that was cut off by the end of the stream."""
        return bytes(self.head)

    def _take_header(self, data):
        taken = min(len(data), HEADER_BYTES - len(self.head))
        self.head += data[:taken]
        if len(self.head) < HEADER_BYTES:
            return taken
        if is_header(self.head):
            self.message = Message(self.head)
            self.left = self.message.size - HEADER_BYTES
        else:
            self.is_foreign = True
        return taken


def message(kind, sender, to=0, payload=b"", seq=0):
    """A whole message as bytes, for tests. Nobody between two peers looks at its checksums."""
    header = struct.pack("<2sBBBBHIIQQQdQI", b"hs", 2, kind, 0, 0, 0, sender, to, seq, 0, 0, 0.0,
                         len(payload), 0)
    return header + payload + bytes(TRAILER_BYTES)
