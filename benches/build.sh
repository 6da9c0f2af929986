#!/usr/bin/env bash
# Cold build of a step in CPU seconds, beside the floor of what it cannot do without, with cargo's
# own profile and with ours; five of each, in turn, and the ratios of the medians. Then the time from a change in a step to its first line.
#
#   benches/build.sh [STEP] [RUNS]        e.g. benches/build.sh 00 5
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
step=${1:-00}
runs=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%R %U %S'

# The floor uses the same versions.
cp -r "$root/benches/floor" "$work/floor"
cp "$root/Cargo.lock" "$work/floor/Cargo.lock"
# Our profile, without the packages that the floor does not have.
sed -n '/^\[profile/,$p' "$root/Cargo.toml" | sed '/package\.[a-z]/,/^$/d' >"$work/profile.toml"
(cd "$work/floor" && cargo fetch -q)
(cd "$root" && cargo fetch -q --locked)

# timed FILE COMMAND…: appends wall, user and system seconds.
timed() {
    local file=$1
    shift
    { time "$@" >"$work/out" 2>&1; } 2>>"$file"
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for run in $(seq "$runs"); do
    rm -rf "$work/a" "$work/b"
    timed "$work/step" cargo build --offline --manifest-path "$root/Cargo.toml" -p "step$step" --target-dir "$work/a"
    timed "$work/floor.t" cargo build --offline --manifest-path "$work/floor/Cargo.toml" --target-dir "$work/b"
    rm -rf "$work/b"
    timed "$work/tuned.t" cargo build --offline --manifest-path "$work/floor/Cargo.toml" --target-dir "$work/b" \
        --config "$work/profile.toml"
done
awk '{ print $2 + $3 }' "$work/step" >"$work/step.cpu"
awk '{ print $2 + $3 }' "$work/floor.t" >"$work/floor.cpu"
awk '{ print $2 + $3 }' "$work/tuned.t" >"$work/tuned.cpu"
awk '{ print $1 }' "$work/step" >"$work/step.wall"
s=$(median "$work/step.cpu") f=$(median "$work/floor.cpu") t=$(median "$work/tuned.cpu")
echo "cold build of step$step: $s CPU s, $(median "$work/step.wall") s of wall clock (median of $runs)"
ratio() { awk "BEGIN { printf \"%.2f\", $s / $1 }"; }
echo "floor:                $f CPU s; ratio $(ratio "$f")"
echo "floor, our profile:   $t CPU s; ratio $(ratio "$t")"

main=$(ls "$root"/steps/"$step"-*/src/main.rs)
for run in $(seq "$runs"); do
    touch "$main"
    timed "$work/change" cargo run -q --offline --manifest-path "$root/Cargo.toml" -p "step$step" --target-dir "$work/a" -- --help
done
awk '{ print $1 }' "$work/change" >"$work/change.wall"
echo "from a change in step$step to its first line: $(median "$work/change.wall") s (median of $runs)"
