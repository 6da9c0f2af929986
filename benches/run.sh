#!/usr/bin/env bash
# A warm run of a step's scene: wall clock and the largest memory of the stage and of its child.
#
#   benches/run.sh [STEP] [RUNS]          needs GNU time (/usr/bin/time)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
step=${1:-00}
runs=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build -q --manifest-path "$root/Cargo.toml" -p "step$step"
program=$root/target/debug/step$step
"$program" --seed 1 >"$work/out"
for run in $(seq "$runs"); do
    /usr/bin/time -a -o "$work/times" -f '%e %M' "$program" --seed "$run" >"$work/out"
done
sort -n "$work/times" | awk -v step="$step" '
    { wall[NR] = $1; if ($2 > memory) memory = $2 }
    END { printf "step%s: %.2f s (median of %d), largest process %.1f MiB\n", step, wall[int((NR + 1) / 2)], NR, memory / 1024 }'
