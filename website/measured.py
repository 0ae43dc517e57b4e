"""What `make bench` measured, as docs/figures.md and both READMEs tell it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Results = Mapping[str, Any]  # of benchmarks/results, by name
FIGURES = "docs/figures.md"
BLOCK = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
READERS = {"event_accumulator": "TensorBoard", "tbparse": "tbparse"}
BENCHES = (  # whose figures are told
    "commands",
    "speed_ddpg",
    "speed_td3",
    "speed_on_policy",
    "breakout_on_policy",
    "speed_cloning",
    "replay_speed",
    "acting",
    "read_events",
    "overhead_watch",
    "overhead_callback",
    "executor",
    "language",
    "learning_ddpg",
    "learning_on_policy",
)


def from_results(root: Path) -> dict[str, str]:
    """Each page by its path, as it is to be."""
    folder = root / "benchmarks" / "results"
    found = {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in BENCHES}
    blocks = {
        "machine": machine(found),
        "peers": table(("work", "ours", "peer", "times as fast [rounds]"), peers(found)),
        "arithmetic": table(("work", "ours", "peers"), arithmetic(found)),
        "learning": table(("task", "steps", "ours", "peer", "difference"), learning(found)),
        "costs": table(("what", "cost"), costs(found)),
        "waiting": table(("command", "seconds"), waiting(found)),
    }
    text = (root / FIGURES).read_text("utf-8")
    pages = {FIGURES: BLOCK.sub(lambda hit: f"{hit[1]}{blocks[hit[2]]}{hit[3]}", text)}
    short = in_short(found)
    rows = {"README.md": rows_in_english(short), "README.zh.md": rows_in_chinese(short)}
    for page, new in rows.items():
        pages[page] = with_rows((root / page).read_text("utf-8"), new)
    return pages


def machine(found: Results) -> str:
    """Where and when, and what is older: one commit and one machine are wanted."""
    of = {name: result["machine"] for name, result in found.items()}
    commits = [one["commit"] for one in of.values()]
    newest = max(sorted(set(commits)), key=commits.count)
    older = [
        f"{name} ({one['commit']}, {one['date']})"
        for name, one in of.items()
        if one["commit"] != newest
    ]
    rest = f", but for {', '.join(older)}" if older else ""

    def all_of(key: str) -> str:
        told = (one.get(key) for one in of.values() if one["commit"] == newest)
        return ", ".join(sorted({str(one) for one in told if one is not None}))

    vectors = f" ({all_of('vectors')})" if all_of("vectors") else ""
    return (
        f"Measured at commit {newest} ({all_of('date')}): {all_of('cpu')}{vectors}, "
        f"{all_of('cores')} cores, Python {all_of('python')}, torch "
        f"{found['language']['versions']['torch']}{rest}.\n"
    )


def peers(found: Results) -> Iterator[Sequence[str]]:
    """Ours beside every peer, work by work."""
    for algorithm in ("ddpg", "td3"):
        yield from _off_policy(algorithm.upper(), found[f"speed_{algorithm}"]["batch"])
    speed, names = found["speed_on_policy"], {"sb3": "Stable-Baselines3", "sbx": "SBX"}
    yield from _rates("PPO, 8 copies of CartPole: steps a second", speed["ppo"], names)
    work = "TRPO, 8 copies of CartPole: steps a second"
    yield from _rates(work, speed["trpo"], {"sb3": "sb3-contrib"})
    game = found["breakout_on_policy"]
    for arm, work in {"equal_work": "equal work", "preset": "the preset's settings"}.items():
        ours, theirs = (
            f"{game[side]['steps_per_second']:.1f} ({game[side]['peak_memory_mb'] / 1e3:.2f} GB)"
            for side in (arm, "sb3")
        )
        yield (
            f"TRPO, Breakout, {work}: steps a second",
            ours,
            f"sb3-contrib {theirs}",
            ratio(game[arm]),
        )
    for size in ("batch 32", "batch 256"):
        row = found["speed_cloning"][size]
        ours, theirs = (f"{row[f'{side}_steps_per_second']:,}" for side in ("ours", "imitation"))
        yield (f"cloning, {size}: gradient steps a second", ours, f"imitation {theirs}", ratio(row))
    for size, row in found["replay_speed"].items():
        if size.endswith(" items"):
            ours, theirs = (f"{row[side]['microseconds']:,.0f} µs" for side in ("ours", "cpprb"))
            yield (f"replay, 256 of {size} by priority", ours, f"cpprb {theirs}", ratio(row))
    for algorithm, row in found["acting"]["microseconds"].items():
        ours, theirs = f"{row['ours']:.0f} µs", f"Stable-Baselines3 {row['sb3']:.0f} µs"
        yield (f"acting, one action, {algorithm.upper()}", ours, theirs, ratio(row))
    events = found["read_events"]
    seconds = events["median_seconds"]
    for name, row in events["times_faster_than"].items():
        work = f"reading {events['bytes'] / 1e6:.0f} MB of event files"
        yield (
            work,
            f"{seconds['ours']:.1f} s",
            f"{READERS[name]} {seconds[name]:.1f} s",
            ratio(row),
        )
    for model, row in _language(found):
        sides = {
            side: f"{row['seconds'][side]:.2f} s, {row['peak_gb'][side]:.2f} GB"
            for side in ("ours", "trl")
        }
        yield (f"GRPO, {model}: an update", sides["ours"], f"TRL {sides['trl']}", ratio(row))


def _off_policy(name: str, batches: Results) -> Iterator[Sequence[str]]:
    for size, sides in batches.items():
        work = f"{name}, Pendulum, batch {size}: steps a second"
        yield from _rates(work, sides, {"sb3": "Stable-Baselines3", "sbx": "SBX"})
        if "uncompiled" in sides:
            alone, sbx = (_rate(sides[who]["steps_per_second"]) for who in ("uncompiled", "sbx"))
            told = (f"{work}, without a compiler", alone, f"SBX {sbx}")
            yield (*told, ratio(sides["uncompiled"]))


def arithmetic(found: Results) -> Iterator[Sequence[str]]:
    """How much of the time is products of matrices that everybody computes."""
    for algorithm in ("ddpg", "td3"):
        for size, sides in found[f"speed_{algorithm}"]["batch"].items():
            shares = {name: f"{sides[name]['matmul_share']:.2f}" for name in ("ours", "sb3", "sbx")}
            theirs = f"Stable-Baselines3 {shares['sb3']}, SBX {shares['sbx']}"
            yield (f"{algorithm.upper()}, batch {size}: share of the time", shares["ours"], theirs)
    game = found["breakout_on_policy"]
    ours, theirs = (
        f"{game[side]['teraflop']:.2f} TFLOP at {game[side]['gigaflops']:.0f} GFLOP/s"
        for side in ("equal_work", "sb3")
    )
    most = f"TRPO, Breakout, an update (a large product: {game['matmul_gigaflops']:.0f} GFLOP/s)"
    yield (most, ours, f"sb3-contrib {theirs}")


def learning(found: Results) -> Iterator[Sequence[str]]:
    """Mean scores over the same seeds, and whether the difference is clear."""
    rows = {"ddpg Pendulum-v1": found["learning_ddpg"]}
    rows |= {name: row for name, row in found["learning_on_policy"].items() if "ours" in row}
    for name, row in rows.items():
        algorithm, _, task = name.partition(" ")
        low, high = row["interval"]
        within = "" if low is None or high is None else f" [{low:.1f}, {high:.1f}]"
        seeds = len(row["scores"]["ours"])
        difference = f"{row['difference']:.1f}{within}, p = {row['p_value']:.2g}, {seeds} seeds"
        scores = (f"{row['ours']:.1f}", f"{row['theirs']:.1f}")
        yield (f"{algorithm.upper()}, {task}", f"{row['steps']:,}", *scores, difference)


def costs(found: Results) -> Iterator[Sequence[str]]:
    """What being watched and being many takes."""
    watch = found["overhead_watch"]["share_of_run_time"]
    low, high = watch["cost_range"]
    share = f"{watch['cost']:.2%} [{low:.2%}, {high:.2%}] of a run's time"
    yield ("watching our own trainers (Pendulum, batch 64)", share)
    for algorithm, row in found["overhead_callback"]["watched_over_alone"].items():
        low, high = row["cost_range"]
        work = f"the Stable-Baselines3 callback, a short run of {algorithm.upper()}"
        yield (work, f"{row['cost']:.2f} [{low:.2f}, {high:.2f}] times its processor time")
    many = found["executor"]
    yield (
        f"eight trials of {many['seconds_per_trial_alone']:.0f} s on two workers",
        f"{ratio(many['speed_up_on_two_workers'])} times as fast as one after the other; "
        f"{many['overhead_seconds_per_trial']:.1f} s per trial are lost",
    )


def waiting(found: Results) -> Iterator[Sequence[str]]:
    """How long commands take."""
    for name, row in found["commands"]["commands"].items():
        yield (f"`{name}`" if not name.startswith("diagnose 1") else name, f"{row['seconds']:.2f}")


class Short(NamedTuple):
    """What the READMEs tell of it, rounded."""

    over_sb3: list[str]  # DDPG at 256, PPO, TRPO
    over_sbx: list[str]  # DDPG at 64, 256 and 1024, PPO
    over_trl: list[str]  # tiny, SmolLM2
    memory: list[str]  # the same, as shares of TRL's
    watching: str  # per cent
    callback: list[str]  # per cent: least, most


def rows_in_english(short: Short) -> dict[str, str]:
    """The rows of README.md by their first cells."""
    return {
        "speed against Stable-Baselines3, one thread: DDPG batch 256, PPO, TRPO": (
            f"{', '.join(short.over_sb3)} times"
        ),
        "the same against SBX (JAX): DDPG batch 64, 256, 1024, PPO": (
            f"{', '.join(short.over_sbx)} times; [DDPG's depend on the processor](docs/figures.md)"
        ),
        "the same against TRL, two threads: GRPO on a tiny model, on SmolLM2-135M": (
            f"{', '.join(short.over_trl)} times, with {', '.join(short.memory)} of its memory"
        ),
        "what watching costs: our trainers, the Stable-Baselines3 callback": (
            f"{short.watching} %, {' to '.join(short.callback)} % of the time of a short run"
        ),
    }


def rows_in_chinese(short: Short) -> dict[str, str]:
    """The same of README.zh.md."""
    return {
        "相对 Stable-Baselines3 的速度（单线程）：DDPG（batch size 256）、PPO、TRPO": (
            f"{'、'.join(short.over_sb3)} 倍"
        ),
        "相对 SBX（JAX）的速度：DDPG（batch size 64、256、1024）、PPO": (
            f"{'、'.join(short.over_sbx)} 倍；[DDPG 的倍数因处理器而异](docs/figures.md)"
        ),
        "相对 TRL 的速度（两线程，GRPO）：极小模型；SmolLM2-135M": (
            f"{' 倍、'.join(short.over_trl)} 倍；内存占用为其 {'、'.join(short.memory)}"
        ),
        "监控的开销：自带训练器；Stable-Baselines3 回调": (
            f"训练时间的 {short.watching}%；短训练的 {'% 到 '.join(short.callback)}%"
        ),
    }


def in_short(found: Results) -> Short:
    """Of all results."""
    batches, on_policy = found["speed_ddpg"]["batch"], found["speed_on_policy"]
    over_sb3 = [
        row["sb3"]["ratio"] for row in (batches["256"], on_policy["ppo"], on_policy["trpo"])
    ]
    over_sbx = [row["sbx"]["ratio"] for row in (*batches.values(), on_policy["ppo"])]
    language = [row for _, row in _language(found)][:2]
    costs = [row["cost"] - 1 for row in found["overhead_callback"]["watched_over_alone"].values()]
    return Short(
        over_sb3=[_rounded(ratio) for ratio in over_sb3],
        over_sbx=[_rounded(ratio) for ratio in over_sbx],
        over_trl=[_rounded(row["ratio"]) for row in language],
        memory=[f"{row['peak_gb']['ours'] / row['peak_gb']['trl']:.2f}" for row in language],
        watching=f"{100 * found['overhead_watch']['share_of_run_time']['cost']:.2f}",
        callback=[f"{100 * cost:.0f}" for cost in (min(costs), max(costs))],
    )


def _rounded(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}"


def _language(found: Results) -> list[tuple[str, Any]]:
    return [
        (name, row)
        for name, row in found["language"].items()
        if isinstance(row, dict) and "ratio" in row
    ]


def _rates(work: str, sides: Results, names: Mapping[str, str]) -> Iterator[Sequence[str]]:
    for side, name in names.items():
        ours, theirs = (_rate(sides[which]["steps_per_second"]) for which in ("ours", side))
        yield (work, ours, f"{name} {theirs}", ratio(sides[side]))


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def ratio(row: Mapping[str, Any]) -> str:
    """Of a row: median and range of the rounds."""
    low, high = row["ratio_range"]
    value, low, high = (f"{n:.1f}" if n >= 10 else f"{n:.2f}" for n in (row["ratio"], low, high))
    return f"{value} [{low}, {high}]"


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_rows(text: str, rows: Mapping[str, str]) -> str:
    """The text, in which rows of tables that begin so end so."""
    for first, second in rows.items():
        begin = f"| {first} | "
        if text.count(begin) != 1:
            raise ValueError(f"there must be one row that begins with {begin!r}")
        head, tail = text.split(begin)
        text = f"{head}{begin}{second} |{tail[tail.index(chr(10)) :]}"
    return text
