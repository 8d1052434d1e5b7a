#!/usr/bin/env bash
# distributed 2026.8.0 draws from the global random states: a seeded split depends on the data sent.
#
# scikit-learn draws from np.random if random_state is None, so np.random.seed fixes its splits and
# models. Dask estimates the size of what a client scatters, in the process of the client: of
# columns of objects, as lists or mixed values, by np.random.choice, of long lists by random.sample.
# After np.random.seed(0) and client.scatter of 1,000 rows, train_test_split(range(1000)) gives
#   frame of numbers   the 250 test rows of the seed alone
#   frame of lists     250 rows, of which 113 are among those of the seed
# A list of 1,000 numbers moves Python's `random` likewise, and with a scheduler in the process, as
# of LocalCluster, so does each submit, whose worker is chosen by random.choice. No page of Dask says
# so. Seen on Python 3.11 with pandas 3.0.3. Give a Generator or random_state to what draws.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/states.py" <<'PYTHON'
import random
from importlib.metadata import version

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from sklearn.model_selection import train_test_split

ROWS = range(1000)
SENT = {
    "frame of numbers": pd.DataFrame({"a": np.arange(1000.0)}),
    "frame of lists": pd.DataFrame({"a": [[row] for row in ROWS]}),
    "list of numbers": [float(row) for row in ROWS],
}


def seeded(act):
    """The test rows of a split, and a number of `random`, after seeds and an act of the client."""
    np.random.seed(0)
    random.seed(0)
    act()
    return set(train_test_split(ROWS)[1]), random.random()


def main():
    print("distributed", version("distributed"), "pandas", version("pandas"))
    local = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with local as cluster, Client(cluster) as client:
        rows, number = seeded(lambda: None)
        found = {}
        for name, data in SENT.items():
            split, drawn = seeded(lambda data=data: client.scatter([data]))
            found[name] = len(split & rows), drawn == number
            print(f"{name:17} test rows of the seed {found[name][0]}, same random {found[name][1]}")
        split, drawn = seeded(lambda: client.submit(len, "ab").result())
        print(f"submit            test rows of the seed {len(split & rows)}, {drawn == number}")
        assert found["frame of numbers"] == (250, True)
        assert found["frame of lists"][0] < 250, "Dask has changed"
        assert found["list of numbers"] == (250, False), "Dask has changed"
        assert (len(split & rows), drawn == number) == (250, False), "Dask has changed"


if __name__ == "__main__":
    main()
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet distributed==2026.8.0 pandas==3.0.3 numpy==2.4.6 \
    scikit-learn==1.7.2 scipy==1.17.1
"$folder/venv/bin/python" "$folder/states.py"
