"""A comparison as plain data: who learns better, how surely, how steadily."""

from __future__ import annotations

from pathlib import Path

from steadyrl.store.results import Comparison, Estimate, read_result
from steadyrl.views.numbers import figure
from steadyrl.views.pages import Block, Page, chart, charts, sentence, table

LEARNING = ("config", "seeds", "final return, IQM (middle half)", "curve's mean", "to threshold")
STEADINESS = ("config", "collapsed", "severe", "worst drawdown", "seed spread", "seconds", "steps")
CONTRAST = ("config", "against", "mean difference (interval)", "pairs won", "p", "allowed", "clear")

ABOUT_STEADINESS = (
    "Collapsed: seeds that lost most of what they had gained. Severe: seeds in which something "
    "severe was found. Worst drawdown: what a seed lost of its gain, at most; over 100 % if it "
    "fell below where it began. Seconds: of one run."
)
ABOUT_CONTRAST = (
    "p: how often equals would differ so much. Clear: p is at most what is allowed after this many "
    "looks."
)


def comparison_page(folder: Path) -> Page:
    """Who learns better, how surely, how steadily."""
    story: Comparison = read_result(folder, "compare")
    clear = any(contrast["clear"] for contrast in story["contrasts"])
    return Page(
        kind="compare",
        title="Comparison",
        tone="good" if clear else "unknown",
        headline="clear" if clear else "not clear",
        told=[sentence(story["message"]), _finals(story), *_too_few(story)],
        blocks=[
            charts("", [_curves(story)]),
            table("Learning", LEARNING, learning(story), _about(story)),
            table("Steadiness", STEADINESS, steadiness(story), ABOUT_STEADINESS),
            table("Against the first", CONTRAST, contrasts(story), ABOUT_CONTRAST),
        ],
    )


def _finals(story: Comparison) -> str:
    told = (f"{arm['name']} {_estimate(arm['final'])}" for arm in story["arms"])
    return f"Final return: {', '.join(told)}."


def _too_few(story: Comparison) -> list[str]:
    """Whether so few seeds were run that nothing could be clear, whoever won."""
    open_ones = [one["difference"]["low"] is None for one in story["contrasts"]]
    if not open_ones or not all(open_ones):
        return []
    seeds = max(arm["seeds"] for arm in story["arms"])
    many = "1 seed is" if seeds == 1 else f"{seeds} seeds are"
    return [f"{many} too few for any answer to be clear: run it again with more --seeds."]


def _about(story: Comparison) -> str:
    timed = figure(story.get("threshold"))
    middle = "IQM: mean of the middle half of the seeds."
    return f"{middle} To threshold: the first reaching of {timed} is timed."


def learning(story: Comparison) -> list[tuple[str, ...]]:
    """How well every config learned, a row each."""
    return [
        (
            arm["name"],
            str(arm["seeds"]),
            _estimate(arm["final"]),
            _estimate(arm["area"]),
            "never" if arm["time_to_threshold"] is None else f"{arm['time_to_threshold']:,.0f}",
        )
        for arm in story["arms"]
    ]


def steadiness(story: Comparison) -> list[tuple[str, ...]]:
    """How steadily every config learned, a row each."""
    return [
        (
            arm["name"],
            f"{arm['collapse_rate']:.0%}",
            f"{arm['sick_rate']:.0%}",
            "-" if arm["worst_drawdown"] is None else f"{arm['worst_drawdown']:.0%}",
            figure(arm["seed_spread"], 3),
            f"{arm['seconds']:,.1f}",
            f"{arm['taken']:,}",
        )
        for arm in story["arms"]
    ]


def contrasts(story: Comparison) -> list[tuple[str, ...]]:
    """Every config against the first, a row each."""
    return [
        (
            contrast["name"],
            contrast["reference"],
            _estimate(contrast["difference"]),
            f"{contrast['improvement']:.0%}",
            f"{contrast['p_value']:.2g}",
            f"{contrast['allowed']:.2g}",
            "yes" if contrast["clear"] else "no",
        )
        for contrast in story["contrasts"]
    ]


def _curves(story: Comparison) -> Block:
    series = [
        {
            "name": arm["name"],
            "x": arm["curve"]["taken"],
            "y": arm["curve"]["value"],
            "low": arm["curve"]["low"],
            "high": arm["curve"]["high"],
            "area": True,
        }
        for arm in story["arms"]
    ]
    about = "IQM of the evaluation return, and the middle half of the seeds"
    return chart("Return", series, about=about)


def _estimate(record: Estimate) -> str:
    if record["value"] is None:
        return "-"
    if record["low"] is None or record["high"] is None:
        return f"{figure(record['value'])} (too few seeds)"
    return f"{figure(record['value'])} ({figure(record['low'])} to {figure(record['high'])})"
