#!/usr/bin/env bash
# The first minute on a virtual screen, with the keys and the mouse that a person has (needs xvfb and xdotool).
#
#   tools/drive_inspector.sh [PYTHON [PICTURES]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${1:-python3}
pictures=${2:-build/drive}
for tool in Xvfb xdotool; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (apt-get install xvfb xdotool)" >&2; exit 1; }
done
mkdir -p "$pictures"

display=:$((90 + RANDOM % 900))
Xvfb "$display" -screen 0 1640x1000x24 >/dev/null 2>&1 &
server=$!
program=
trap 'kill $program $server 2>/dev/null || true' EXIT
sleep 2
export DISPLAY=$display QT_QPA_PLATFORM=xcb QT_QPA_PLATFORMTHEME=
unset WAYLAND_DISPLAY

copied=$(mktemp)
"$python" tools/drive_inspector.py "$pictures" "$copied" &
program=$!

window=
for _ in $(seq 100); do
    window=$(xdotool search --onlyvisible --name 'qcore inspector' 2>/dev/null | tail -1 || true)
    [ -n "$window" ] && break
    sleep 0.3
done
[ -n "$window" ] || { echo "no window" >&2; exit 1; }
sleep 4
xdotool windowfocus "$window" 2>/dev/null || true

key() { xdotool key --clearmodifiers "$@"; sleep 1; }
key slash
xdotool type --delay 60 minilm
sleep 1
key Down
xdotool mousemove --window "$window" 800 330; sleep 0.5
xdotool click 1; sleep 1
key e; key 5; key 1; key bracketright; key g; key g
xdotool mousemove --window "$window" 760 300 click 4 click 4; sleep 1
key f
key ctrl+r; sleep 8
key b; key space; key d; key d; key ctrl+z
key ctrl+shift+c
key ctrl+k
# no window manager is here to give a dialog the keyboard
dialog=$(xdotool search --onlyvisible --name '^Commands$' | tail -1)
xdotool windowfocus "$dialog"; sleep 0.5
xdotool type --delay 60 fit; key Return
xdotool windowfocus "$window"; sleep 0.5
key ctrl+q
for _ in $(seq 40); do kill -0 "$program" 2>/dev/null || break; sleep 0.5; done
kill -0 "$program" 2>/dev/null && { echo "it did not close" >&2; exit 1; }
wait "$program"
program=
grep -q QuantScheme "$copied" || { echo "nothing was copied" >&2; exit 1; }
echo "driven: $(wc -l < "$copied") lines copied as Rust; pictures in $pictures"
