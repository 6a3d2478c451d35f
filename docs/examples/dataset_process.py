# SPDX-License-Identifier: MIT
"""Runs tasks in a process of their own, so that an input that kills it leaves the worker alive.

A scheduler learns late and indirectly that a worker has died, and when workers die one after another, it
may wait forever. A parent process sees at once that its child has ended.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from typing import Any

ATTEMPTS = 3  # a death may have other causes than the task, such as too little memory
START = [sys.executable, "-c", "import dataset_process; dataset_process.serve()"]

kept = threading.local()  # each thread of a worker has a child


class ProcessKilledError(RuntimeError):
    pass


def run(task: bytes) -> Any:
    """The result of a pickled (function, *arguments), computed in the child process."""
    status = 0
    for _ in range(ATTEMPTS):
        child: subprocess.Popen[bytes] | None = getattr(kept, "child", None)
        if child is None:
            paths = [os.path.abspath(path) for path in sys.path]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
            kept.child = child = subprocess.Popen(
                START, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert child.stdin and child.stdout
        try:
            pickle.dump(task, child.stdin)
            child.stdin.flush()
            result, error = pickle.load(child.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            child.kill()  # if only its pipes are closed
            child.communicate()
            status, kept.child = child.returncode, None
            continue
        if error is not None:
            raise error
        return result
    raise ProcessKilledError(f"killed its process {ATTEMPTS} times, exit status {status}")


def serve() -> None:
    """The child: run tasks from standard input; end with the parent, even during a task."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what tasks print is no answer
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                tasks.put(pickle.load(sys.stdin.buffer))
        finally:
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        answers.write(answer(tasks.get()))
        answers.flush()


def answer(task: bytes) -> bytes:
    """A pickled (result, error)."""
    try:
        function, *arguments = pickle.loads(task)
        return pickle.dumps((function(*arguments), None))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return pickle.dumps((None, error))
