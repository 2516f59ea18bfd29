"""Where jobs run: on all cores of this machine, on a Dask cluster, or on Ray, all by joblib."""

import logging
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from typing import Any, Literal, get_args

from emulator.errors import MissingExtraError, SweepError
from emulator.signals import ENDING, held_back
from emulator.sweeps.jobs import Job, Row, run_job

Backend = Literal["local", "dask", "ray"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

_PATIENCE = 10  # seconds for a cluster to answer
_WATCH = 1  # seconds between looks whether a parent is alive
_WAVE = 4  # jobs for each worker, where results come only with the last of a call


def processes(jobs: int | None) -> int:
    """How many local processes `jobs` asks for; None is one for each core."""
    from joblib import cpu_count  # noqa: PLC0415

    return int(jobs or cpu_count())


class JobsLostError(Exception):
    """A process was lost with the jobs that it had; the message says how."""


def run_jobs(
    work: Sequence[Job], *, backend: Backend, address: str | None, jobs: int | None
) -> Generator[tuple[Job, list[Row]]]:
    """Run jobs in parallel; yields each with its rows as it ends, in any order.

    SweepError if the cluster cannot be reached, MissingExtraError if the backend's package is not there,
    JobsLostError if a process was killed or had too little memory.
    """
    from joblib import parallel_config  # noqa: PLC0415

    with _configured(backend, address, jobs) as settings, parallel_config(**settings):
        try:
            yield from _in_waves(work) if backend == "ray" else _as_they_end(work)
        except BrokenExecutor as error:
            raise JobsLostError("a process of the sweep was killed, perhaps for want of memory") from error
        except MemoryError as error:
            raise JobsLostError("a process of the sweep had too little memory") from error


def _in_waves(work: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
    """Ray's pool hands results out only with the last of a call, so it gets the jobs in waves."""
    from joblib import Parallel, delayed  # noqa: PLC0415

    with Parallel(batch_size=1) as parallel:
        size = _WAVE * parallel._effective_n_jobs()
        for first in range(0, len(work), size):
            yield from parallel(delayed(run_job)(job) for job in work[first : first + size])


def _as_they_end(work: Sequence[Job]) -> Iterator[tuple[Job, list[Row]]]:
    from multiprocessing import resource_tracker  # noqa: PLC0415

    from joblib import Parallel, delayed  # noqa: PLC0415

    if os.name == "posix":
        resource_tracker.ensure_running()  # it lets signals through when it has started
    with held_back():  # so that no signal breaks into how the processes start, which it may reach, too
        results = Parallel(batch_size=1, return_as="generator_unordered")(
            delayed(run_job)(job) for job in work
        )
    with warnings.catch_warnings(), closing(results):
        # Whoever leaves before the end knows that some were not needed.
        warnings.filterwarnings(
            "ignore", ".*still being processed by the workers have been cancelled", UserWarning
        )
        yield from results


@contextmanager
def _configured(backend: Backend, address: str | None, jobs: int | None) -> Iterator[dict[str, Any]]:
    """The arguments that joblib gets for a backend; what had to be started for it ends with the context."""
    if backend == "dask":
        with _dask(address) as client:
            yield {"backend": "dask", "client": client}
    elif backend == "ray":
        with _ray(address, jobs):
            yield {"backend": "ray", "n_jobs": jobs or -1}
    else:
        yield {
            "backend": "loky",
            "n_jobs": jobs or -1,
            "initializer": _prepare_local,
            "initargs": (os.getpid(),),
        }


def _prepare() -> None:
    """Make a worker process ready: what a run imports, and what a terminal sends is its parent's business."""
    import emulator.runner  # noqa: F401, PLC0415

    _ignore(number for number in ENDING if number != signal.SIGTERM)


def _prepare_local(parent: int) -> None:
    """Make a process of this machine ready that ends with its parent, even if that is killed meanwhile."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _prepare()
    _ignore(ENDING)  # joblib ends it by other means


def _ignore(numbers: Iterable[signal.Signals]) -> None:
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone; joblib's would wait for work and hold stdout for minutes."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)


def _knock(address: str, what: str) -> None:
    """SweepError unless something listens at ``[scheme://]host:port``: Ray would try for many minutes."""
    host, _, port = address.rpartition("//")[2].partition("/")[0].rpartition(":")
    if not host or not port.isdecimal():
        raise SweepError(
            f"found the address {address}; allowed: a host and a port, such as tcp://10.0.0.1:8786"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise SweepError(f"{what} does not answer at {address}: {error}") from error


@contextmanager
def _dask(address: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, of the one in use in this process, or of a local one."""
    try:
        from distributed import Client, default_client  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("the backend dask", "dask") from None
    if address is None:
        try:
            client = default_client()
        except ValueError:
            pass
        else:
            yield client
            return
    else:
        _knock(address, "the scheduler of Dask")
    try:
        # Without an address, Dask's own configuration may name one; else a local cluster is started.
        client = Client(address, set_as_default=False, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise SweepError(f"no cluster of Dask can be used at {address or 'this machine'}: {error}") from error
    with client:
        if client.cluster is not None:
            client.run(_prepare)  # a local one: its processes are ours
        yield client


@contextmanager
def _ray(address: str | None, jobs: int | None) -> Iterator[None]:
    """Ray as this process uses it, or the cluster at an address, or one that runs here, or a local one."""
    try:
        import ray  # noqa: PLC0415
        from ray.util.joblib import register_ray  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("the backend ray", "ray") from None
    register_ray()
    if ray.is_initialized():
        yield
        return
    if address is not None and address != "auto":
        _knock(address, "Ray")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        ray.init(address or "auto", **quiet)
    except (ConnectionError, ValueError) as error:
        if address is not None:
            raise SweepError(f"no cluster of Ray can be used at {address}: {error}") from error
        ray.init("local", num_cpus=jobs, include_dashboard=False, object_store_memory=100 << 20, **quiet)
    try:
        yield
    finally:
        ray.shutdown()
