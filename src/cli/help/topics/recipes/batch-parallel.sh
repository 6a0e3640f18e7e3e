#!/usr/bin/env bash
# The shards of a batch by GNU parallel: four at a time here, or on many machines with --sshlogin.
# --retries starts a shard again that was killed; what it had done it does not do twice.
# Usage: batch-parallel.sh <jobs.jsonl> <outdir> [flags of gateway-cli batch…]
set -euo pipefail
jobs=$1 out=$2
shift 2
total=8

# 13 is a shard with failures, which another start would not mend.
parallel --jobs 4 --retries 3 --quote \
  bash -c 'gateway-cli batch "$1" -o "$2-$3" --shard "$3/$4" --quiet "${@:5}" > /dev/null || (($? == 13))' \
  shard "$jobs" "$out" {} "$total" "$@" ::: $(seq "$total")

gateway-cli batch export $(seq -f "$out-%g" "$total") -o "$out.csv"
