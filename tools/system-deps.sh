#!/usr/bin/env bash
# What the machine itself must have to build qcore: a C compiler, and a Python with headers and venv.
# Looks first and does nothing where all is there. What is missing it installs through apt when it may (root, or sudo
# that asks no password); otherwise it says what to install and stops.
#
#   tools/system-deps.sh [PYTHON [gui]]      gui: also what Qt loads when the inspector opens a window
set -euo pipefail

python=${1:-python3}
also=${2:-}
missing=()  # Debian packages
reasons=()  # what was looked for, in words

need() {  # need DEBIAN-PACKAGE WORDS COMMAND...: run the command; if it fails the package is missing
    local package=$1 words=$2
    shift 2
    "$@" >/dev/null 2>&1 || { missing+=("$package"); reasons+=("$words"); }
}

good_python() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; }

may_install() { command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; }

look() {
    missing=()
    reasons=()
    need gcc "a C compiler (cc or gcc)" bash -c 'command -v cc || command -v gcc'
    need libc6-dev "the C library's headers" bash -c \
        'echo "#include <math.h>" | "$(command -v cc || command -v gcc)" -E -x c - -o /dev/null'
    if ! command -v "$python" >/dev/null 2>&1 || ! good_python "$python"; then
        missing+=(python3 python3-venv python3-dev)
        reasons+=("Python 3.11 or later (looked for: ${python:-python3})")
        return
    fi
    local version
    version=$("$python" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}")')
    need "$version-venv" "the venv module of $python" "$python" -c 'import ensurepip, venv'
    need "$version-dev" "the C headers of $python" "$python" -c \
        'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
    if [ "$also" = gui ] && [ "$(uname -s)" = Linux ]; then
        local pair
        for pair in libEGL.so.1:libegl1 libGL.so.1:libgl1 libxkbcommon.so.0:libxkbcommon0 \
            libfontconfig.so.1:libfontconfig1 libdbus-1.so.3:libdbus-1-3; do
            need "${pair#*:}" "${pair%%:*}, which Qt loads" "$python" -c "import ctypes; ctypes.CDLL('${pair%%:*}')"
        done
    fi
    # No wheel brings PoCL to 64-bit Arm. Without it all but the backend opencl works, so nobody is stopped for it.
    if [ "$(uname -sm)" = "Linux aarch64" ] && may_install; then
        need pocl-opencl-icd "an OpenCL driver (PoCL)" bash -c 'ls /etc/OpenCL/vendors/*.icd'
    fi
}

look
[ ${#missing[@]} -eq 0 ] && exit 0

echo "missing:" >&2
printf '  %s\n' "${reasons[@]}" >&2

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        as_root=(no)
    fi
fi
if [ "${as_root[*]-}" = no ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "install them (on Debian or Ubuntu: apt-get install ${missing[*]}), then run this again" >&2
    exit 1
fi

echo "installing: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

hash -r
look
if [ ${#missing[@]} -ne 0 ]; then
    echo "still missing after the installation:" >&2
    printf '  %s\n' "${reasons[@]}" >&2
    exit 1
fi
