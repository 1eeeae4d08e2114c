# SPDX-License-Identifier: Apache-2.0
"""A relay for programs that have no event loop: it runs in a thread of its own."""

import asyncio
import threading

import relay


class RelayThread:
    """A relay with an event loop of its own, for whoever has none."""

    def __init__(self, doors, seed=0):
        self._relay = relay.Relay(doors, seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._relay.start())

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _call(self, function, *args):
        async def work():
            return function(*args)
        return self._run(work())

    def tell(self, **words):
        return self._call(self._relay.tell, words)

    def addresses(self):
        return self._relay.addresses()

    def summary(self):
        return self._call(self._relay.summary)

    def log(self):
        return self._call(lambda: list(self._relay.log))

    def close(self):
        if self._thread.is_alive():
            self._run(self._relay.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
