#!/usr/bin/env bash
# Kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer. The instrumented modules are built into
# build/sanitize, beside everything else. PYTHON= another interpreter; arguments go to pytest.
set -eu -o pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON")
INTO=$PWD/build/sanitize

QCORE_SANITIZE=1 "$PYTHON" setup.py --quiet build --build-lib "$INTO" --build-temp "$INTO-objects" >/dev/null 2>&1

# The interpreter is not instrumented: gcc's runtime comes first, libstdc++ with it so that its symbols are found.
preload=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so)
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONMALLOC=malloc PYTHONPATH=$INTO QCORE_CPU_LEVEL=asan

# -P: the checkout itself must not come before the instrumented build.
LD_PRELOAD=$preload "$PYTHON" -P -c 'import qcore_ext, sys; sys.exit(qcore_ext.level() != "asan" or "build/sanitize" not in qcore_ext.__file__)'

# A lane that catches nothing proves nothing: reading one byte too many must end the process.
if (LD_PRELOAD=$preload "$PYTHON" -P tests/support/read_too_much.py) 2>/dev/null; then
    echo "sanitize: an out-of-bounds read went unnoticed" >&2
    exit 1
fi

if [ $# -eq 0 ]; then set -- tests/qcore_ext tests/qcore/backends --ignore=tests/qcore/backends/opencl; fi
LD_PRELOAD=$preload "$PYTHON" -P -m pytest -q -p no:cacheprovider "$@"
