"""boostsample, LightGBM and XGBoost on one Dask cluster and one table that lies in files.

    python -m tests.benchmarks.dask_contest --rows 10_000_000 --folder FOLDER

makes the table if FOLDER has none: float32 columns in `.npy` files of 250,000 rows, labels of two
classes, and rows for the test in a file of their own. Then each method trains on the same four
worker processes, one after another. Prints one line of JSON for each: the seconds after which the
AUC on the test rows reached some values, from the call of `fit` on, so that reading and binning
count; the peak memory of a worker; the bytes that went over the loopback interface.

Seconds of a round come from the process that trains: the history of boostsample, callbacks that
write the time to a file for the others. The AUC after a round is computed later.

The bytes are those of the network namespace: run the command by `unshare -n sh -c 'ip link set lo
up && ...'` if other programs use the interface, too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

dask: Any = importlib.import_module("dask")
distributed: Any = importlib.import_module("distributed")

PART_ROWS = 250_000
N_INFORMATIVE = 20
METHODS = ("boostsample", "lightgbm", "xgboost")
MIB = 2**20


def say(facts: dict[str, Any]) -> None:
    """Print a line of JSON at once."""
    sys.stdout.write(f"{json.dumps(facts)}\n")
    sys.stdout.flush()


def make_rows(number: int, n: int, n_columns: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Rows of one part: steps, products and ratios of 20 columns of different shapes, and noise."""
    rng = np.random.default_rng([23, number])
    X = rng.standard_normal((n, n_columns), np.float32)
    X[:, 1::5] = np.exp(X[:, 1::5])
    X[:, 2::5] = np.round(3 * X[:, 2::5])
    X[:, 3::5] = rng.random(X[:, 3::5].shape, np.float32)
    score = np.zeros(n, np.float32)
    for j in range(0, N_INFORMATIVE, 5):
        a, b, c, d, e = X[:, j : j + 5].T
        score += 0.6 * a + 0.5 * (b > 1.5) - 0.5 * (c > 2) * (d > 0.5) + 0.4 * a * (d - 0.5)
        score += 0.4 * np.sin(2 * e) - 0.3 * (np.abs(a) > 1.2)
    score += rng.logistic(size=n).astype(np.float32)
    return X, (score > 0.1).astype(np.int8)


def make_table(folder: Path, n: int, n_columns: int) -> None:
    """Write the files of the table, unless they are there."""
    done = folder / "complete.json"
    wanted = {"rows": n, "columns": n_columns}
    if done.exists() and json.loads(done.read_text()) == wanted:
        return
    for name in ("X", "y"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    for number in range(-(-n // PART_ROWS)):
        X, y = make_rows(number, min(PART_ROWS, n - number * PART_ROWS), n_columns)
        np.save(folder / "X" / f"{number:05d}.npy", X)
        np.save(folder / "y" / f"{number:05d}.npy", y)
    X, y = make_rows(10**6, PART_ROWS, n_columns)
    np.save(folder / "test_X.npy", X)
    np.save(folder / "test_y.npy", y)
    done.write_text(json.dumps(wanted))


def loopback_bytes() -> int:
    """Bytes that were received over the loopback interface."""
    for line in Path("/proc/net/dev").read_text("ascii").splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "lo":
            return int(rest.split()[0])
    raise RuntimeError("there is no loopback interface")


def seconds_of_processor() -> float:
    """Seconds that this process has had of a processor: also measures on a busy machine."""
    return time.process_time()


def reset_peak() -> None:
    """Have the system measure the peak memory of this process anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """Peak of the resident memory of this process since `reset_peak`, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def collections(folder: Path) -> tuple[Any, Any]:
    """The table as Dask arrays whose chunks workers read."""
    da: Any = importlib.import_module("dask.array")

    pair = []
    for name in ("X", "y"):
        files = sorted((folder / name).glob("*.npy"))
        shapes = [np.load(file, mmap_mode="r") for file in files]
        read = dask.delayed(np.load)
        chunks = [
            da.from_delayed(read(str(file)), one.shape, one.dtype)
            for file, one in zip(files, shapes, strict=True)
        ]
        pair.append(da.concatenate(chunks))
    return pair[0], pair[1]


class Stamps:
    """Times after rounds, written to files by the processes that train."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def note(self, number: int) -> None:
        import os

        with (Path(self.folder) / f"{os.getpid()}.txt").open("a") as stream:
            stream.write(f"{number} {time.time()}\n")

    def read(self) -> dict[int, float]:
        """The last time after each round, over all processes; rounds count from 1."""
        found: dict[int, float] = {}
        for file in Path(self.folder).glob("*.txt"):
            for line in file.read_text().splitlines():
                number, at = line.split()
                found[int(number)] = max(found.get(int(number), 0.0), float(at))
        return found


def by_boostsample(
    client: Any, folder: Path, options: argparse.Namespace, stamps: Stamps
) -> tuple[Callable[[int], NDArray[np.float64]], dict[int, float]]:
    """Train ours; a function that scores the test rows after a round, and seconds of rounds."""
    from boostsample.dask import DaskBoostSampleClassifier

    began = time.time()
    model = DaskBoostSampleClassifier(
        options.strategy,
        options.learner,
        n_rounds=options.rounds,
        budget=options.budget,
        weight_init="uniform",
        bank="disk",
        random_state=0,
        client=client,
        patience=options.patience,
    ).fit(folder / "X", folder / "y")
    ended = time.time()
    seconds: dict[int, float] = {}
    for row in model.history_:
        seconds[row["round"]] = seconds.get(row["round"], 0.0) + row["seconds"]
    before = ended - began - sum(seconds.values())
    total = np.cumsum(list(seconds.values()))
    at = {number: before + float(one) for number, one in zip(seconds, total, strict=True)}
    say(
        {
            "bytes of rounds": sum({row["round"]: row["bytes"] for row in model.history_}.values()),
            "messages of the last round": model.history_[-1]["messages"],
            "before the first round": round(before, 1),
        }
    )
    local, X = model.to_local(), np.load(folder / "test_X.npy")
    return lambda number: local.model_.decision_function(X, number)[:, 0], at


def by_lightgbm(
    client: Any, folder: Path, options: argparse.Namespace, stamps: Stamps
) -> tuple[Callable[[int], NDArray[np.float64]], dict[int, float]]:
    """Train LightGBM; as `by_boostsample`."""
    from lightgbm.dask import DaskLGBMClassifier

    class Note:
        def __call__(self, env: Any) -> None:
            stamps.note(env.iteration + 1)

    X, y = collections(folder)
    began = time.time()
    X, y = client.persist([X, y])
    distributed.wait([X, y])
    model = DaskLGBMClassifier(
        n_estimators=options.peer_rounds,
        num_leaves=options.leaves,
        learning_rate=0.1,
        n_jobs=1,
        client=client,
        verbosity=-1,
    ).fit(X, y, callbacks=[Note()])
    times = {number: at - began for number, at in stamps.read().items()}
    local: Any = model.to_local()
    test = np.load(folder / "test_X.npy")
    return lambda number: local.predict(test, raw_score=True, num_iteration=number), times


def by_xgboost(
    client: Any, folder: Path, options: argparse.Namespace, stamps: Stamps
) -> tuple[Callable[[int], NDArray[np.float64]], dict[int, float]]:
    """Train XGBoost; as `by_boostsample`."""
    xgboost: Any = importlib.import_module("xgboost")
    over: Any = importlib.import_module("xgboost.dask")

    class Note(xgboost.callback.TrainingCallback):  # type: ignore[misc]  # no annotations
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            stamps.note(epoch + 1)
            return False

    X, y = collections(folder)
    began = time.time()
    data = over.DaskQuantileDMatrix(client, X, y)
    trained = over.train(
        client,
        {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_leaves": options.leaves,
            "grow_policy": "lossguide",
            "max_depth": 0,
            "learning_rate": 0.1,
            "nthread": 1,
        },
        data,
        num_boost_round=options.peer_rounds,
        callbacks=[Note()],
    )
    times = {number: at - began for number, at in stamps.read().items()}
    booster, test = trained["booster"], xgboost.DMatrix(np.load(folder / "test_X.npy"))
    return lambda number: booster.predict(
        test, output_margin=True, iteration_range=(0, number)
    ), times


def steps(n: int) -> Iterator[int]:
    """Rounds after which the AUC is computed."""
    for number in range(1, n + 1):
        if number <= 5 or number == n or (number <= 50 and not number % 5) or not number % 20:
            yield number


def contest(client: Any, name: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train one method, and measure it."""
    client.run(reset_peak)
    before, began = loopback_bytes(), time.time()
    cpu = sum(client.run(seconds_of_processor).values()) + time.process_time()
    with tempfile.TemporaryDirectory() as scratch:
        ways = {"boostsample": by_boostsample, "lightgbm": by_lightgbm, "xgboost": by_xgboost}
        score, times = ways[name](client, folder, options, Stamps(scratch))
    seconds, sent = time.time() - began, loopback_bytes() - before
    peaks = client.run(peak_memory)
    cpu = sum(client.run(seconds_of_processor).values()) + time.process_time() - cpu
    y = np.load(folder / "test_y.npy")
    curve = [
        (number, times[number], roc_auc_score(y, score(number))) for number in steps(len(times))
    ]
    return {
        "method": name,
        "rows": options.rows,
        "rounds": len(times),
        "seconds": round(seconds, 1),
        "processor": round(cpu, 1),
        "first round": round(times[1], 1),
        "auc": round(curve[-1][2], 5),
        "peak MiB": round(max(peaks.values()) / MIB),
        "MB sent": round(sent / 1e6, 1),
        "curve": [(number, round(at, 2), round(auc, 5)) for number, at, auc in curve],
    }


def seconds_to(curve: list[tuple[int, float, float]], auc: float) -> float | None:
    """The seconds after which a curve first reached an AUC, None if it never did."""
    return next((at for _, at, found in curve if found >= auc), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--peer-rounds", type=int, default=300, help="of the others")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--memory", default="2GiB", help="limit of each worker")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--strategy", default="laminating")
    parser.add_argument("--learner", default="tree:n_leaves=8")
    parser.add_argument("--budget", default=None)
    parser.add_argument("--leaves", type=int, default=8, help="of the trees of the others")
    parser.add_argument("--patience", type=float, default=600.0, help="for a busy machine")
    options = parser.parse_args()
    make_table(options.folder, options.rows, options.columns)
    found = []
    for name in options.methods.split(","):
        with (
            distributed.LocalCluster(
                n_workers=options.workers,
                threads_per_worker=1,
                memory_limit=options.memory,
                host="127.0.0.1",
                dashboard_address=None,
                local_directory=str(options.folder / "scratch"),
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            try:
                found.append(contest(client, name, options.folder, options))
                say(found[-1])
            except Exception as error:  # the others go on
                say({"method": name, "error": f"{error!r:.500}"})
    if found:
        goal = min(one["auc"] for one in found)
        for share in (1.0, 0.99, 0.98):
            level = 0.5 + share * (goal - 0.5)
            reached = {one["method"]: seconds_to(one["curve"], level) for one in found}
            say({"auc": round(level, 5), "seconds": reached})


if __name__ == "__main__":
    main()
