#!/bin/sh
# The gate before a deployment: replays recorded histories, and the open runs of a server if TEMPORAL_ADDRESS names one.
#
#   replay-gate.sh [HISTORIES]      a directory or file; by default ./histories
#
# JUNIT is where the report goes (replay.xml). GATE_QUERY and GATE_LIMIT say which open runs, and how many of them.
# Exit codes are those of `temporal-adapter replay`: 0 only if all replay.
set -eu

histories=${1:-histories}
set -- "$histories" --junit "${JUNIT:-replay.xml}"
if [ -n "${TEMPORAL_ADDRESS:-}" ]; then
    set -- "$@" --query "${GATE_QUERY:-ExecutionStatus = 'Running'}" --limit "${GATE_LIMIT:-1000}"
fi
exec temporal-adapter replay "$@"
