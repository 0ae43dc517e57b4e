"""Work spread over local processes or a Ray cluster: one interface, two engines.

The contract that makes both simple: `work(item)` leaves its result on disk, does nothing if it is
there already, and goes on from its last checkpoint if it was cut off. So a worker that dies costs
only what it had not yet saved, and an experiment that is started again only makes what is missing.

This module imports no torch: workers must set their thread limits before anything does.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from steadyrl.core.errors import ConfigError, WorkerLost

Item = TypeVar("Item")
Engine = Literal["local", "ray"]

MAX_LOSSES = 3  # workers lost in a row, without anything finished in between
_CLIENT = "ray://"  # of addresses for programs outside of the cluster
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
KNOCK_SECONDS = 5.0
KNOCKS = 3  # in vain, a second apart, after which nobody is there
PARENT_DEATH_SIGNAL = 1  # of Linux's prctl
LOOK_SECONDS = 0.1  # between looks whether workers that are to end still can


class Executor(Protocol):
    """Runs `work` on every item and yields the items as they are done."""

    @property
    def workers(self) -> int:
        """How many items are worked on at a time on this machine."""
        ...

    def each(self, work: Callable[[Item], object], items: Sequence[Item]) -> Generator[Item]:
        """Leave the loop early and what is still running is stopped at its next checkpoint."""
        ...


def make_executor(backend: Engine, *, workers: int, address: str | None = None) -> Executor:
    """The engine that the command line names."""
    if workers < 1:
        raise ConfigError(f"workers = {workers}: use 1 or more.")
    if backend == "ray":
        return RayExecutor(workers=workers, address=address)
    if address is not None:
        raise ConfigError(f"address = '{address}' needs --backend ray: local processes have none.")
    return LocalExecutor(workers=workers)


@dataclass(frozen=True)
class LocalExecutor:
    """Processes on this machine, each with its share of the cores as thread limit."""

    workers: int = 1

    def each(self, work: Callable[[Item], object], items: Sequence[Item]) -> Generator[Item]:
        """See Executor. One worker means this very process."""
        if self.workers == 1 or len(items) <= 1:
            for item in items:
                work(item)
                yield item
            return
        waiting, losses = list(range(len(items))), 0
        while waiting:
            try:
                for number in self._one_pool(work, items, waiting):
                    losses = 0
                    waiting.remove(number)
                    yield items[number]
            except BrokenProcessPool:
                losses += 1
                if losses > MAX_LOSSES:
                    raise WorkerLost(
                        f"{losses} workers died in a row without finishing anything (killed, or "
                        f"out of memory). {len(waiting)} of {len(items)} are not done; fewer "
                        "--workers may help. Start it again and it goes on where it stopped."
                    ) from None

    def _one_pool(
        self, work: Callable[[Item], object], items: Sequence[Item], waiting: Sequence[int]
    ) -> Generator[int]:
        """Numbers of finished items, until all are done or a worker dies."""
        limit = max(1, (os.cpu_count() or 1) // self.workers)
        pool = ProcessPoolExecutor(
            min(self.workers, len(waiting)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
            initargs=(limit, os.getpid()),
        )
        finished = False
        try:
            pending: dict[Future[None], int] = {
                pool.submit(_work_unless_stopped, work, items[number]): number for number in waiting
            }
            for done in as_completed(pending):
                done.result()
                yield pending[done]
            finished = True
        finally:
            _end(pool, early=not finished)


HERE: Executor = LocalExecutor()  # this process, one after the other


@dataclass(frozen=True)
class RayExecutor:
    """Tasks on a Ray cluster: an existing one by its address, or one started here on demand.

    Run directories must lie where every node sees them. Ray itself retries a task whose worker or
    node died; the task then resumes from its checkpoint.
    """

    workers: int = 1
    address: str | None = None

    def each(self, work: Callable[[Item], object], items: Sequence[Item]) -> Generator[Item]:
        """See Executor."""
        ray = _ray()
        begun_here = not ray.is_initialized()
        if begun_here:
            self._connect(ray)
        head = self._head(ray.get_runtime_context().gcs_address)
        task = ray.remote(max_retries=MAX_LOSSES, num_cpus=1)(_work_quietly)
        limits = {"env_vars": dict.fromkeys(THREAD_LIMITS, "1")}
        waiting: dict[Any, Item] = {}
        try:
            submitted = task.options(runtime_env=limits)
            waiting = {submitted.remote(work, item): item for item in items}
            while waiting:
                done, _ = ray.wait(list(waiting), num_returns=1, timeout=KNOCK_SECONDS)
                if done:
                    _take(ray, done[0])
                    yield waiting.pop(done[0])
                else:
                    _call_again(head)
        except _ClusterGone:
            left = len(waiting)
            waiting.clear()  # there is nobody who could cancel them
            raise WorkerLost(
                f"the Ray cluster at {head} no longer answers: {left} of {len(items)} are not "
                "done. When there is one again, start this again with its --address and it goes on "
                "where it stopped."
            ) from None
        finally:
            for reference in waiting:
                ray.cancel(reference)
            if waiting:
                ray.wait(list(waiting), num_returns=len(waiting), timeout=60)
            if begun_here:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address is None:
            settings |= {"num_cpus": self.workers, "include_dashboard": False}
        try:
            self._knock()
            ray.init(address=self.address, **settings)
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"address = '{self.address}': no Ray cluster answers there ({reason}). Start one "
                "with 'ray start --head', or leave --address out to use this machine."
            ) from None

    def _knock(self) -> None:
        """Ray itself would wait minutes for an address where nobody is."""
        _call_at((self.address or "").removeprefix(_CLIENT))

    def _head(self, inside: str) -> str:
        """Where the cluster answers us: its own address may not be reachable from outside."""
        through = (self.address or "").startswith(_CLIENT)
        return (self.address or "").removeprefix(_CLIENT) if through else inside


class _ClusterGone(Exception):
    """The head of a Ray cluster has ended."""


def _call_again(head: str) -> None:
    """Whoever does not answer is gone: said here, before Ray ends this process without a word."""
    for _ in range(KNOCKS):
        try:
            return _call_at(head)
        except OSError:
            time.sleep(1.0)
    raise _ClusterGone


def _call_at(address: str) -> None:
    """Nothing if somebody answers there, or if it is no address of a machine."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def _take(ray: Any, reference: Any) -> None:
    """A finished task's end: nothing, the error it ended with, or that its workers kept dying."""
    errors = ray.exceptions
    try:
        ray.get(reference)
    except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError):
        raise WorkerLost(
            f"a task died {MAX_LOSSES + 1} times (killed, or out of memory). Start it again and it "
            "goes on where it stopped."
        ) from None
    except (errors.LocalRayletDiedError, errors.RaySystemError):
        raise _ClusterGone from None
    except errors.RayTaskError as error:
        raise error.cause from None


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "--backend ray needs Ray: install steadyrl with its extra 'ray' "
            "(pip install -c constraints.txt -e '.[ray]')."
        ) from None
    return ray


def _begin_worker(threads: int, parent: int) -> None:
    """In a fresh process, before torch is imported."""
    os.environ.update(dict.fromkeys(THREAD_LIMITS, str(threads)))
    # Ctrl-C in a terminal reaches a whole process group. Here the parent alone hears it and tells
    # its workers once: a second signal would mean "stop without saving".
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    if sys.platform == "linux":  # elsewhere a killed parent leaves workers to finish their item
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    _WORKER["parent"] = parent
    signal.signal(signal.SIGTERM, _stop_between_runs)


_WORKER: dict[str, int] = {}  # of this process: its parent, whether it is at work, or stopped


def _stop_between_runs(_signal: int, _frame: object) -> None:
    """Begin nothing more (a run that is under way hears the signal itself).

    Dying between two runs could leave a lock of the pool's taken, and the other workers would wait
    for ever. What is at work and no run yet, while torch is imported, ends here.
    """
    if os.getppid() != _WORKER["parent"]:
        os._exit(1)
    _WORKER["stopped"] = 1
    if _WORKER.get("working"):
        raise KeyboardInterrupt


def _work_unless_stopped(work: Callable[[Item], object], item: Item) -> None:
    """A pool hands out one item ahead: after an interruption that one must not begin."""
    try:
        _WORKER["working"] = 1  # before the question: a signal in between must end this
        if _WORKER.get("stopped"):
            raise KeyboardInterrupt
        work(item)
    except KeyboardInterrupt:
        _WORKER["stopped"] = 1
        raise
    finally:
        _WORKER["working"] = 0
        if os.getppid() != _WORKER["parent"]:
            os._exit(1)  # nobody is left to take the result


def _work_quietly(work: Callable[[Item], object], item: Item) -> None:
    """Results are on disk; only that it is done travels back."""
    work(item)


def _end(pool: ProcessPoolExecutor, *, early: bool) -> None:
    """Wait until all workers have ended; `early`: ask them to stop at their next Step.

    Where one was killed, the others are killed too and go on from their checkpoints later: it may
    have held a lock that they wait for, and a pool that is broken no longer tells anybody to go.
    """
    workers = list((pool._processes or {}).values())
    if early and not pool._broken:
        for worker in workers:
            worker.terminate()
    ending = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    ending.start()
    while ending.is_alive():
        if pool._broken:
            for worker in workers:
                worker.kill()
        ending.join(LOOK_SECONDS)
