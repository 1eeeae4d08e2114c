# SPDX-License-Identifier: Apache-2.0
"""What a relay may be told to do to traffic: which traffic a rule is about, and its numbers."""

import time

# Seconds of rate that a bucket may catch up with, when the event loop was late.
CATCH_UP_S = 0.05
NEEDED = {"latency": {"ms"}, "rate": {"bps"}, "stall": set(), "cut": set(), "deaf": {"peer"},
          "reset": {"every_s"}, "loss": {"share"}, "kill-after": set()}
ALLOWED = {"latency": {"jitter_ms"}, "loss": {"kinds", "times", "sender"}, "cut": {"end"},
           "kill-after": {"bytes", "share", "kinds", "times", "sender", "how", "chance"}}
COMMON = {"do", "name", "peer", "pair", "groups", "for_s"}
ENDS = {"close", "reset", "stall"}


class Rule:
    """`peer`: everything of that peer; `pair`: two; `groups`: what crosses; none of them: everything."""

    def __init__(self, words):
        self.kind = words.get("do")
        if self.kind not in NEEDED:
            raise ValueError(f"no rule is called {self.kind!r}; there are {', '.join(NEEDED)}")
        unknown = set(words) - COMMON - NEEDED[self.kind] - ALLOWED.get(self.kind, set())
        missing = NEEDED[self.kind] - set(words)
        if unknown or missing:
            raise ValueError(f"{self.kind}: unknown {sorted(unknown)}, missing {sorted(missing)}")
        if len({"peer", "pair", "groups"} & set(words)) > 1:
            raise ValueError(f"{self.kind}: peer, pair and groups are alternatives")
        self.words = words
        self.name = words.get("name", self.kind)
        self.hits = 0
        self.cut = None  # sender, receiver and sequence number of the last message ended in its middle
        self.left = words.get("times", 1 if self.kind == "kill-after" else None)
        self.since = time.monotonic()
        self._free_at = {}
        if self.kind == "kill-after" and ("bytes" in words) == ("share" in words):
            raise ValueError("kill-after: bytes or share")
        if words.get("how", "close") not in ENDS:
            raise ValueError(f"kill-after: how is one of {sorted(ENDS)}")

    def __getitem__(self, key):
        return self.words[key]

    def covers(self, a, b):
        """Whether traffic between the two is meant, whoever of them sends."""
        if "peer" in self.words:
            return self.words["peer"] in (a, b)
        if "pair" in self.words:
            return {a, b} == set(self.words["pair"])
        if "groups" in self.words:
            one, other = self.words["groups"]
            return (a in one and b in other) or (b in one and a in other)
        return True

    def takes(self, message, sender):
        """For rules about single messages: counts down, and says whether this one is meant."""
        if self.left == 0 or not message.is_frame:
            return False
        if "sender" in self.words and self.words["sender"] != sender:
            return False
        if "kinds" in self.words and message.name not in self.words["kinds"]:
            return False
        return True

    def count(self):
        self.hits += 1
        if self.left:
            self.left -= 1

    def cut_at(self, message):
        """Bytes of a message after which its connection ends."""
        share = self.words.get("share")
        wanted = self.words.get("bytes", 0) if share is None else int(share * message.payload_bytes)
        return min(message.size - 1, message.size - message.payload_bytes + wanted)

    def quantum(self):
        """Bytes that go at once: 10 ms worth, so that small messages need not wait for long."""
        return max(1024, min(1 << 16, int(self.words["bps"] / 8 * 0.01)))

    def reserve(self, sender, receiver, size):
        """Takes room for `size` bytes on the way; returns how long to wait until it is there."""
        peer = self.words.get("peer")
        if peer is None:
            way = (sender, receiver)
        else:
            way = "in" if receiver == peer else "out"  # one link, whoever is at its other end
        now = time.monotonic()
        begin = max(self._free_at.get(way, now), now - CATCH_UP_S)
        self._free_at[way] = begin + size * 8 / self.words["bps"]
        return self._free_at[way] - now

    def told(self):
        return {**self.words, "hits": self.hits, "age_s": round(time.monotonic() - self.since, 3)}
