"""Whether what `emulator.clock.internals` makes of asyncio's private parts works on this Python."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from emulator.clock.internals import Alarm, KeyedQueue, SteppingLoop


class _Probe(SteppingLoop):
    """An unpaced loop that is the owner of one alarm, and what it holds in a queue."""

    pending = 0

    def __init__(self, number: int = 1) -> None:
        super().__init__()
        self.loop = self
        self.number = number
        self.unpaced = True

    def count_off(self) -> None:
        self.pending -= 1

    def advance(self) -> bool:
        self.stop()  # nothing is left to run
        return False


def private_parts_work() -> bool:
    """Whether a task can sleep on an `Alarm`, and a `KeyedQueue` wakes who waits for it, on this Python."""
    # In a thread of its own, since the package may be imported in a loop that runs, as in a notebook.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_probe).result()


def _probe() -> bool:
    probe = _Probe()
    probe.set_exception_handler(lambda *_: None)  # of tasks that a changed asyncio leaves behind
    try:
        return _passes(probe)
    except Exception:  # whatever a changed asyncio makes of them
        return False
    finally:
        for task in asyncio.all_tasks(probe):
            task.cancel()
        probe.run_forever()
        probe.close()


def _passes(probe: _Probe) -> bool:
    alarm = Alarm(probe)
    log: list[object] = []

    async def main() -> None:
        queue: KeyedQueue[_Probe] = KeyedQueue(1)
        getting = probe.create_task(queue.get())
        alarm.set(5.0)
        await alarm
        log.append(probe.now)
        queue.put_nowait(probe)
        log.append(await getting is probe)
        queue.put_nowait(probe)
        putting = probe.create_task(queue.put(probe))
        alarm.set(7.0)
        await alarm
        log.append(queue.take_first(1) == [probe.number])
        await putting
        log.append(queue.qsize())
        await alarm

    task = probe.create_task(main())
    probe.run_forever()
    task.cancel()
    probe.run_forever()
    return log == [5.0, True, True, 1] and task.cancelled() and not probe.pending
