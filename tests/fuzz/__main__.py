"""The command: mutated files for as long as is wanted."""

import argparse
import os
from pathlib import Path

from tests.fuzz.campaign import KINDS, Campaign


def _one(options: argparse.Namespace) -> int:
    from tests.fuzz.cases import run_case  # noqa: PLC0415

    seed, _, index = options.case.partition(":")
    keep = None if options.keep is None else Path(options.keep)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    failures, counts = run_case(options.kind, int(seed), int(index), thorough=not options.quick, keep=keep)
    for failure in failures:
        print(f"{failure.place}\n{failure.told}")
    print(dict(counts))
    return len(failures)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, help="how long (600 unless --cases is given)")
    parser.add_argument("--cases", type=int, help="how many of each kind")
    parser.add_argument("--kind", choices=KINDS, help="only one kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="INDEX", help="the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many processes")
    parser.add_argument("--quick", action="store_true", help="one export a case, as in the suite")
    parser.add_argument("--case", metavar="SEED:INDEX", help="run one case (needs --kind)")
    parser.add_argument("--keep", metavar="DIR", help="leave that case's files there")
    options = parser.parse_args()
    if options.case is not None and options.kind is None:
        parser.error("--case needs --kind")
    if options.seconds is None and options.cases is None:
        options.seconds = 600.0
    return options


def _main() -> int:
    options = _options()
    if options.case is not None:
        return min(_one(options), 1)
    campaign = Campaign(
        KINDS if options.kind is None else (options.kind,),
        seed=options.seed,
        first=options.first,
        cases=options.cases,
        seconds=options.seconds,
        jobs=options.jobs,
        thorough=not options.quick,
    )
    failed = campaign.run()
    campaign.report()
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(_main())
