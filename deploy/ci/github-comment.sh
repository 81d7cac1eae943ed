#!/usr/bin/env bash
# Posts a file as a comment on a pull request. It updates the comment of an earlier
# run, if there is one. An empty file clears the comment of an earlier run, and
# otherwise posts nothing.
#
#   github-comment.sh FILE
#
#   GH_TOKEN           a token with permission to write comments
#   GITHUB_REPOSITORY  owner/name
#   LADDER_PULL        number of the pull request
#   LADDER_KEY         identifies one of several such comments; optional
#
# Requires gh, which is installed on GitHub's runners.
set -euo pipefail

file=$1
[ -e "$file" ] || exit 0 # there is no result
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
