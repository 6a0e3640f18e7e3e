#!/bin/sh
# A Git hook that drafts the message of a commit from its diff. It never blocks a commit: without an answer the editor
# opens as usual. Copy it to .git/hooks/prepare-commit-msg and make it executable.

# Only where Git asks for a new message: not with -m, not for a merge.
[ -z "${2:-}" ] || exit 0
draft=$(git diff --cached | head -c 100000 |
  gateway-cli text --quiet --timeout 20s --retries 0 --require-complete \
    'Write a commit message for this diff: a subject of at most 72 characters, an empty line, the reason.' 2> /dev/null) || exit 0
[ -n "$draft" ] || exit 0
{ printf '%s\n' "$draft" && cat "$1"; } > "$1.draft" && mv "$1.draft" "$1"
exit 0
