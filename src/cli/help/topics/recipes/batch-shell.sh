#!/usr/bin/env bash
# A batch in four processes on this machine, one after the other waiting for none, and one table of their results.
# Started again after a crash, each shard continues where it stopped.
# Usage: batch-shell.sh <jobs.jsonl> <outdir> [flags of gateway-cli batch…]
set -euo pipefail
jobs=$1 out=$2
shift 2
total=4

pids=()
for ((index = 1; index <= total; index++)); do
  gateway-cli batch "$jobs" -o "$out-$index" --shard "$index/$total" --quiet "$@" > /dev/null &
  pids+=($!)
done

# 13 is a shard with failures: the table has it all the same, and tells which.
worst=0
for pid in "${pids[@]}"; do
  wait "$pid" || { code=$?; ((code == 13)) || exit "$code"; worst=13; }
done

gateway-cli batch export "$out"-{1..4} -o "$out.csv"
exit "$worst"
