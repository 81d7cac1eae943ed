#!/usr/bin/env bash
# Posts a file as a note on a merge request. It updates the note of an earlier run,
# if there is one. An empty file clears the note of an earlier run, and otherwise
# posts nothing.
#
#   gitlab-comment.sh FILE
#
#   LADDER_TOKEN  an access token of the project with the scope api, since job
#                 tokens cannot write notes
#   LADDER_KEY    identifies one of several such notes; optional
#   CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID  as GitLab sets them
#
# Only a note of the token's own user is updated: anyone can write one that looks like
# it. If the note cannot be written, the script warns and exits with 0.
#
# Requires curl and jq.
set -euo pipefail

body=$(mktemp)
finish() {
	local code=$?
	rm -f -- "$body"
	[ $code -eq 0 ] || echo "warning: Ladder could not write a note on the merge request; check LADDER_TOKEN" >&2
	exit 0
}
trap finish EXIT

file=$1
[ -e "$file" ] || exit 0 # there is no result
if [ -z "${LADDER_TOKEN:-}" ]; then
	echo "LADDER_TOKEN is not set, so nothing is written to the merge request" >&2
	exit 0
fi
marker="<!-- ladder ${LADDER_KEY:-} -->"
notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes

# gitlab calls the API. The token is passed by standard input, since all users of
# the machine can read command lines.
gitlab() {
	printf 'header = "PRIVATE-TOKEN: %s"\n' "$LADDER_TOKEN" | curl --silent --show-error --fail --max-time 60 --config - "$@"
}

{
	echo "$marker"
	cat -- "$file"
	[ -s "$file" ] || echo "Ladder finds no difference any more."
} >"$body"

own=$(gitlab "$CI_API_V4_URL/user" | jq '.id | numbers')
[ -n "$own" ] || exit 1 # so every note would be another user's
id=
for page in $(seq 100); do
	answer=$(gitlab "$notes?per_page=100&page=$page")
	id=$(jq -r --arg marker "$marker" --argjson own "$own" '[.[] | select(.author.id == $own and (.body | startswith($marker))) | .id][0] // empty' <<<"$answer")
	if [ -n "$id" ] || [ "$(jq length <<<"$answer")" -lt 100 ]; then break; fi
done
if [ -n "$id" ]; then
	gitlab -X PUT "$notes/$id" --data-urlencode "body@$body" >/dev/null
elif [ -s "$file" ]; then
	gitlab -X POST "$notes" --data-urlencode "body@$body" >/dev/null
fi
