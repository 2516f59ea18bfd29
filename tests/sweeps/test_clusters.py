"""The same grid on a real cluster of Dask and on a real Ray: the same rows in the same order."""

import socket
import sys

import pytest

from emulator.errors import MissingExtraError, SweepError
from emulator.sweeps import Sweep, sweep
from emulator.sweeps.backends import Backend
from tests.sweeps.small import small

VARY = {"rollout.workers": [4, 6], "strategy": ["synchronous", "asynchronous"]}


def _local() -> Sweep:
    return sweep(small(), VARY, seeds=4, jobs=1)


@pytest.mark.dask
def test_a_cluster_of_dask_makes_the_same_rows() -> None:
    distributed = pytest.importorskip("distributed")
    told: list[int] = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        table = sweep(
            small(),
            VARY,
            seeds=4,
            backend="dask",
            address=cluster.scheduler_address,
            progress=lambda done, runs: told.append(done),
        )
    assert table.rows == _local().rows
    # Rows come as runs end, and not all at the end.
    assert len(set(told)) > 2


@pytest.mark.ray
def test_ray_makes_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    told: list[int] = []
    table = sweep(
        small(), VARY, seeds=4, backend="ray", jobs=2, progress=lambda done, runs: told.append(done)
    )
    assert table.rows == _local().rows
    assert len(set(told)) > 2


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_backend_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, backend: Backend, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'emulator\[{backend}\]'"):
        sweep(small(), VARY, seeds=1, backend=backend)


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:{port}", "does not answer at tcp://127.0.0.1:"),
        ("somewhere", "allowed: a host and a port"),
    ],
)
def test_a_cluster_that_is_not_there_is_reported_at_once(
    backend: Backend, package: str, address: str, message: str
) -> None:
    pytest.importorskip(package)
    with socket.socket() as taken:
        # A port that nobody else gets, and that nobody listens at.
        taken.bind(("127.0.0.1", 0))
        at = address.format(port=taken.getsockname()[1])
        with pytest.raises(SweepError, match=message):
            sweep(small(), VARY, seeds=1, backend=backend, address=at)
