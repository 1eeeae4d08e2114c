#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A relay in front of every peer of a pool: passes bytes on, and does to them what rules say.

usage: relay.py [--seed S] OWN_HOST:PORT=PEER_HOST:PORT ...      one for each peer, in id order

Rules come as JSON lines on stdin, at any time; {"do": "end", "name": N} ends one, {"do": "summary"}
prints what was done so far, the end of stdin ends the relay with a last summary. Rules are about
"peer": k, "pair": [a, b], "groups": [[..], [..]] or everything; "for_s" ends them by themselves.

  latency     ms, jitter_ms     each way; does not limit the rate
  rate        bps               each way; with "peer" for all of its connections together
  stall                         open connections stop moving, new ones work
  cut                           nothing moves or ends, new connections are silent; "end": "reset"
  deaf        peer              its door does not accept: dials hang
  reset       every_s           connections are reset
  loss        share             whole frames vanish, never handshakes; kinds, sender, times
  kill-after  bytes or share    of a frame's payload; then how: close, reset or stall; kinds, sender,
                                times (1), chance (1)
"""

import argparse
import asyncio
import json
import random
import socket
import struct
import sys
import time

import frames
import rules

READ_BYTES = 1 << 17
# Small, so that senders notice at once what is done to their bytes.
SOCKET_BUFFER_BYTES = 1 << 17
QUEUE_BYTES = 1 << 18
DELAYED_QUEUE_BYTES = 1 << 26
BACKLOG = 128


class Way:
    """One direction of a connection: what was read and not yet passed on."""

    def __init__(self, source, target, sender, receiver):
        self.source, self.target = source, target
        self.sender, self.receiver = sender, receiver
        self.splitter = frames.Splitter()
        self.queue = asyncio.Queue()
        self.queued_bytes = 0
        self.has_room = asyncio.Event()
        self.due = 0.0


class Connection:
    def __init__(self, client, door):
        self.client, self.door = client, door
        self.server = None
        self.dialler = None  # until its hello has come
        self.is_held = False
        self.over = asyncio.get_running_loop().create_future()
        self.born = time.monotonic()

    def end(self, how):
        if not self.over.done():
            self.over.set_result(how)


class Relay:
    """Runs in one event loop. `doors`: ((own host, port), (peer's host, port)) in id order."""

    def __init__(self, doors, seed=0):
        self.doors = list(doors)
        self.random = random.Random(seed)
        self.rules = []
        self.ended_rules = []
        self.connections = set()
        self.log = []  # (time.monotonic(), what, dialler, door)
        self.meter = {}
        self._tasks = set()
        self._listeners, self._accepting = [], []

    async def start(self):
        self._loop = asyncio.get_running_loop()
        self._changed = self._loop.create_future()
        for door, (own, _) in enumerate(self.doors):
            family = socket.AF_INET6 if ":" in own[0] else socket.AF_INET
            listener = socket.socket(family)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            listener.bind(own)
            listener.listen(BACKLOG)
            listener.setblocking(False)
            self._listeners.append(listener)
            self._accepting.append(self._spawn(self._accept(door)))

    async def close(self):
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for listener in self._listeners:
            listener.close()

    def addresses(self):
        return [listener.getsockname()[:2] for listener in self._listeners]

    # Rules

    def tell(self, words):
        """Starts a rule, or ends those of a name. Returns the rule."""
        if words.get("do") == "end":
            for rule in [rule for rule in self.rules if rule.name == words["name"]]:
                self._end_rule(rule)
            return None
        rule = rules.Rule(words)
        self.rules.append(rule)
        if "for_s" in words:
            self._loop.call_later(words["for_s"], self._end_rule, rule)
        if rule.kind == "stall":
            for connection in self._covered(rule):
                connection.is_held = rule
        elif rule.kind == "deaf":
            self._accepting[rule["peer"]].cancel()
            self._listeners[rule["peer"]].listen(0)
        elif rule.kind == "reset":
            self._spawn(self._reset_again_and_again(rule))
        return rule

    def _end_rule(self, rule):
        if rule not in self.rules:
            return
        self.rules.remove(rule)
        self.ended_rules.append(rule)
        if rule.kind == "cut" and rule.words.get("end") == "reset":
            for connection in self._covered(rule):
                connection.end("reset")
        if rule.kind == "deaf":
            self._listeners[rule["peer"]].listen(BACKLOG)
            self._accepting[rule["peer"]] = self._spawn(self._accept(rule["peer"]))
        for connection in self.connections:
            if connection.is_held is rule:
                connection.is_held = False
        self._changed.set_result(None)
        self._changed = self._loop.create_future()

    def _of(self, kind, a, b):
        return [rule for rule in self.rules if rule.kind == kind and rule.covers(a, b)]

    def _covered(self, rule):
        return [c for c in self.connections if rule.covers(c.dialler, c.door)]

    async def _reset_again_and_again(self, rule):
        while rule in self.rules:
            await asyncio.sleep(rule["every_s"])
            for connection in self._covered(rule) if rule in self.rules else ():
                rule.count()
                connection.end("reset")

    async def _may_move(self, connection):
        while connection.is_held or self._of("cut", connection.dialler, connection.door):
            await asyncio.shield(self._changed)

    # Connections

    def _spawn(self, work):
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _note(self, what, connection):
        self.log.append((time.monotonic(), what, connection.dialler, connection.door))

    async def _accept(self, door):
        while True:
            client, _ = await self._loop.sock_accept(self._listeners[door])
            self._spawn(self._serve(Connection(client, door)))

    async def _serve(self, connection):
        self.connections.add(connection)
        connection.client.setblocking(False)
        carrying = self._loop.create_task(self._carry(connection))
        how = "reset"
        try:
            await asyncio.wait({carrying, connection.over}, return_when=asyncio.FIRST_COMPLETED)
            how = connection.over.result() if connection.over.done() else "reset"
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)
            self.connections.discard(connection)
            self._note(how, connection)
            for end in (connection.client, connection.server):
                if end is not None and how == "reset":
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if end is not None:
                    end.close()

    async def _carry(self, connection):
        """Reads who dials, dials the peer, then moves bytes both ways until both ends have closed."""
        out = Way(connection.client, None, None, connection.door)
        try:
            while connection.dialler is None and not out.splitter.is_foreign:
                if not await self._read(out, connection):
                    break
            self._note("dialled", connection)
            await self._may_move(connection)
            connection.server = socket.socket(
                socket.AF_INET6 if ":" in self.doors[connection.door][1][0] else socket.AF_INET)
            connection.server.setblocking(False)
            connection.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            connection.server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            await self._loop.sock_connect(connection.server, self.doors[connection.door][1])
        except OSError:
            return connection.end("reset")
        for end in (connection.client, connection.server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._note("open", connection)
        out.target, out.sender = connection.server, connection.dialler
        back = Way(connection.server, connection.client, connection.door, connection.dialler)
        work = [self._read_all(out, connection), self._pass_on(out, connection),
                self._read_all(back, connection), self._pass_on(back, connection)]
        tasks = [self._loop.create_task(each) for each in work]
        try:
            await asyncio.gather(*tasks)
            connection.end("closed")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, way, connection):
        """Takes what has come into the queue; false at the end of the stream."""
        data = await self._loop.sock_recv(way.source, READ_BYTES)
        if not data:
            self._put(way, connection, None, way.splitter.rest(), False, False)
            self._put(way, connection, None, None, False, True)
            return False
        for message, piece, is_first, is_last in way.splitter.feed(data):
            if message and is_first and connection.dialler is None and message.kind == frames.HELLO:
                connection.dialler = way.sender = message.sender
            if message and is_first:
                message.is_dropped = self._is_lost(message, way)
            self._put(way, connection, message, piece, is_first, is_last)
        return True

    def _put(self, way, connection, message, piece, is_first, is_last):
        if message is not None and message.is_dropped:
            return
        delay = 0.0
        for rule in self._of("latency", connection.dialler, connection.door):
            delay += 0.001 * (rule["ms"] + rule.words.get("jitter_ms", 0) * self.random.uniform(-1, 1))
        way.due = max(way.due, time.monotonic() + delay)
        way.queued_bytes += len(piece or b"")
        way.queue.put_nowait((way.due, message, piece, is_first, is_last))

    async def _read_all(self, way, connection):
        try:
            while await self._read(way, connection):
                delayed = self._of("latency", connection.dialler, connection.door)
                while way.queued_bytes > (DELAYED_QUEUE_BYTES if delayed else QUEUE_BYTES):
                    way.has_room.clear()
                    await way.has_room.wait()
        except OSError:
            way.queue.put_nowait((way.due, None, None, False, False))

    async def _pass_on(self, way, connection):
        while True:
            due, message, piece, is_first, is_last = await way.queue.get()
            if (wait := due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            await self._may_move(connection)
            try:
                if piece is None and is_last:
                    way.target.shutdown(socket.SHUT_WR)
                    return
                if piece is None:
                    return connection.end("reset")
                if message is not None and is_first:
                    self._aim(message, way)
                await self._send(way, connection, message, piece)
            except OSError:
                await self._may_move(connection)
                return connection.end("reset")
            way.queued_bytes -= len(piece)
            way.has_room.set()
            if message is not None and is_last:
                self._count(way, "messages", message.name)

    async def _send(self, way, connection, message, piece):
        ending = message.ending if message is not None else None
        if ending is not None and message.passed + len(piece) > ending.cut_at(message):
            piece = piece[:ending.cut_at(message) - message.passed]
        else:
            ending = None
        limits = self._of("rate", way.sender, way.receiver)
        quantum = min([rule.quantum() for rule in limits], default=len(piece)) or 1
        for at in range(0, len(piece), quantum):
            part = piece[at:at + quantum]
            for rule in limits:
                await asyncio.sleep(rule.reserve(way.sender, way.receiver, len(part)))
            await self._may_move(connection)
            await self._loop.sock_sendall(way.target, part)
            self._meter(way)["bytes"] += len(part)
        if message is not None:
            message.passed += len(piece)
        if ending is not None:
            ending.cut = (way.sender, way.receiver, message.seq)
            await self._end_in_mid_message(ending, connection)

    async def _end_in_mid_message(self, rule, connection):
        how = rule.words.get("how", "close")
        self._note("ended in mid-message", connection)
        if how == "stall":
            connection.is_held = rule
            return await self._may_move(connection)
        connection.end("closed" if how == "close" else "reset")
        await self._loop.create_future()  # _serve() cancels this

    def _is_lost(self, message, way):
        for rule in self._of("loss", way.sender, way.receiver):
            if rule.takes(message, way.sender) and self.random.random() < rule["share"]:
                rule.count()
                self._count(way, "lost", message.name)
                return True
        return False

    def _aim(self, message, way):
        """Whether this message is one that will not get through."""
        for rule in self._of("kill-after", way.sender, way.receiver):
            is_meant = message.has_weights and rule.takes(message, way.sender)
            if is_meant and self.random.random() < rule.words.get("chance", 1):
                rule.count()
                message.ending = rule
                return

    def _meter(self, way):
        return self.meter.setdefault((way.sender, way.receiver), {"bytes": 0, "messages": {}, "lost": {}})

    def _count(self, way, what, name):
        counts = self._meter(way)[what]
        counts[name] = counts.get(name, 0) + 1

    def summary(self):
        counts = {}
        for _, what, _, _ in self.log:
            counts[what] = counts.get(what, 0) + 1
        return {"connections": counts, "open": len(self.connections),
                "ways": {f"{a}>{b}": meter for (a, b), meter in self.meter.items()},
                "rules": [rule.told() for rule in self.ended_rules + self.rules]}


def parse_address(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


async def serve(doors, seed):
    relay = Relay(doors, seed)
    await relay.start()
    print(json.dumps({"ready": relay.addresses()}), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines),
                                                       sys.stdin)
    while line := await lines.readline():
        try:
            words = json.loads(line)
            answer = relay.summary() if words.get("do") == "summary" else relay.tell(words) and {"ok": True}
            print(json.dumps(answer or {"ok": True}), flush=True)
        except (ValueError, KeyError, AttributeError) as error:
            print(json.dumps({"error": str(error)}), flush=True)
    print(json.dumps(relay.summary()), flush=True)
    await relay.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("doors", nargs="+")
    arguments = parser.parse_args()
    doors = [tuple(parse_address(end) for end in door.split("=")) for door in arguments.doors]
    asyncio.run(serve(doors, arguments.seed))


if __name__ == "__main__":
    main()
