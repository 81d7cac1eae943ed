#!/usr/bin/env bash
# Puts a file into a comment on a pull request: into the one that is there from an
# earlier run, or else into a new one. An empty file takes back what an earlier
# run said, and otherwise says nothing.
#
#   github-comment.sh FILE
#
#   GH_TOKEN           may write comments
#   GITHUB_REPOSITORY  owner/name
#   LADDER_PULL        number of the pull request
#   LADDER_KEY         tells several such comments apart; may be missing
#
# Needs gh, which GitHub's runners have.
set -euo pipefail

file=$1
[ -e "$file" ] || exit 0 # nothing was found out
marker="<!-- ladder ${LADDER_KEY:-} -->"
comments=repos/$GITHUB_REPOSITORY/issues/$LADDER_PULL/comments

body=$(mktemp)
trap 'rm -f -- "$body"' EXIT
{
	echo "$marker"
	cat -- "$file"
	[ -s "$file" ] || echo "Ladder finds no difference any more."
} >"$body"

ids=$(MARKER=$marker gh api --paginate "$comments?per_page=100" --jq '.[] | select(.body | startswith(env.MARKER)) | .id')
id=${ids%%$'\n'*}
if [ -n "$id" ]; then
	gh api --silent -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body"
elif [ -s "$file" ]; then
	gh api --silent -X POST "$comments" -F "body=@$body"
fi
