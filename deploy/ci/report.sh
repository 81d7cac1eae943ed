#!/usr/bin/env bash
# Says what a change does to sync waves: in the log for people who look there, and
# in a file of Markdown for a comment. The file is empty if nothing differs.
#
#   report.sh BASE FILE
#
# BASE is what the work tree is compared with: a revision, with three dots behind
# it if only what was done since it parted is to count.
#
#   LADDER_COMPONENTS  directories of components; may hold * and ?
#   LADDER_FLEET       folders of components that describe themselves
#   LADDER_FAIL_ON     new (default): fail if the change brings an error;
#                      any: fail if what it touches has one; never
#   LADDER_CMP         the program, if it is not cmp
#
# Exits with 1 if it is to fail, and with 2 if it could not do its work.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: report.sh BASE FILE" >&2; exit 2; }
base=$1 file=$2
cmp=${LADDER_CMP:-cmp}
fail_on=${LADDER_FAIL_ON:-new}
case $fail_on in new | any | never) ;; *) echo "LADDER_FAIL_ON is $fail_on; write new, any or never" >&2; exit 2 ;; esac
# shellcheck disable=SC2206 # they are patterns, one of which may match nothing
components=(${LADDER_COMPONENTS:-}) fleet=(${LADDER_FLEET:-})
[ ${#components[@]} -gt 0 ] || [ ${#fleet[@]} -gt 0 ] || { echo "set LADDER_COMPONENTS or LADDER_FLEET" >&2; exit 2; }

# What is printed holds names that anybody may have committed. The runners of GitHub
# take lines of a log for commands ("::set-env", "::add-mask") until they read a word that
# nobody can guess.
if [ "${GITHUB_ACTIONS:-}" = true ]; then
	word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	echo "::stop-commands::$word"
	trap 'echo "::$word::"' EXIT
fi

# The file may be committed as a symlink, through which nothing is to be written.
mkdir -p -- "$(dirname -- "$file")"
rm -f -- "$file"
: >"$file"
brought=0 found=0

# differs runs a comparison, and says whether there is a difference. What could be
# rendered neither before nor after is no fault of the change, as it would be with
# --exit-code. Names of directories are behind --, since one may look like a flag.
differs() {
	local code=0 names
	names=$("$@") || code=$?
	[ $code -eq 0 ] || { [ $code -eq 1 ] && [ -n "$names" ]; } || exit 2
	[ -n "$names" ]
}

# Both parts together fit into one comment.
if [ ${#fleet[@]} -gt 0 ]; then
	if differs "$cmp" fleet diff --name-only -- "$base" "${fleet[@]}"; then
		"$cmp" fleet diff -o markdown --limit 24000 -- "$base" "${fleet[@]}" >>"$file" || brought=1
		"$cmp" fleet diff -- "$base" "${fleet[@]}" || true
	fi
	"$cmp" fleet lint -- "${fleet[@]}" || found=1
fi

if [ ${#components[@]} -gt 0 ] && differs "$cmp" diff --name-only -- "$base" "${components[@]}"; then
	"$cmp" diff -o markdown --limit 40000 -- "$base" "${components[@]}" >>"$file" || brought=1
	"$cmp" diff -- "$base" "${components[@]}" || true
	while IFS= read -r -d '' dir; do
		[ -d "$dir" ] || continue # it is gone
		printf '== cmp check --waves rungs %q\n' "$dir"
		"$cmp" check --waves rungs -- "$dir" || found=1
	done < <("$cmp" diff --name-only --null -- "$base" "${components[@]}" || true)
fi

case $fail_on in
new) exit $brought ;;
any) exit $((brought | found)) ;;
esac
