"""What starting costs: each command in fresh interpreters, interleaved, in milliseconds and beside NumPy.

    python benchmarks/startup.py [-n 15]

The goals: `import qcore` costs at most NumPy + 15 ms (1.2x), `qcore --help` answers within 200 ms.
"""

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import numpy, ml_dtypes": ["-c", "import numpy, ml_dtypes"],
    "import qcore": ["-c", "import qcore"],
    "import numpy, qcore; qcore.quantize": ["-c", "import numpy, qcore; qcore.quantize"],
    "qcore --help": ["-m", "qcore", "--help"],
}


def median_times(rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(rounds + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            if turn:  # the first round only warms the disk cache
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) * 1e3 for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=15, help="rounds (default 15)")
    times = median_times(parser.parse_args().n)
    print("| what | median ms | x import numpy |\n|---|---|---|")
    for name, value in times.items():
        print(f"| `{name}` | {value:.0f} | {value / times['import numpy']:.2f} |")


if __name__ == "__main__":
    main()
