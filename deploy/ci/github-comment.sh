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
# Only a comment of the token's own user is updated: anyone can write one that looks
# like it. If the comment cannot be written, the script warns and exits with 0.
#
# Requires gh, which is installed on GitHub's runners.
set -euo pipefail

body=$(mktemp)
finish() {
	local code=$?
	rm -f -- "$body"
	[ $code -eq 0 ] || echo "::warning::Ladder could not comment on the pull request; a token for a pull request from a fork may not"
	exit 0
}
trap finish EXIT

file=$1
[ -e "$file" ] || exit 0 # there is no result
marker="<!-- ladder ${LADDER_KEY:-} -->"
{
	echo "$marker"
	cat -- "$file"
	[ -s "$file" ] || echo "Ladder finds no difference any more."
} >"$body"

# shellcheck disable=SC2016 # the variables are those of GraphQL
ids=$(MARKER=$marker gh api graphql --paginate -f "owner=${GITHUB_REPOSITORY%%/*}" -f "name=${GITHUB_REPOSITORY#*/}" -F "pull=$LADDER_PULL" -f query='
	query($owner: String!, $name: String!, $pull: Int!, $endCursor: String) {
		repository(owner: $owner, name: $name) {
			pullRequest(number: $pull) {
				comments(first: 100, after: $endCursor) {
					nodes { id viewerDidAuthor body }
					pageInfo { hasNextPage endCursor }
				}
			}
		}
	}' --jq '.data.repository.pullRequest.comments.nodes[] | select(.viewerDidAuthor and (.body | startswith(env.MARKER))) | .id')
id=${ids%%$'\n'*}
if [ -n "$id" ]; then
	# shellcheck disable=SC2016
	gh api graphql --silent -f "id=$id" -F "body=@$body" -f query='mutation($id: ID!, $body: String!) { updateIssueComment(input: {id: $id, body: $body}) { clientMutationId } }'
elif [ -s "$file" ]; then
	gh api --silent -X POST "repos/$GITHUB_REPOSITORY/issues/$LADDER_PULL/comments" -F "body=@$body"
fi
