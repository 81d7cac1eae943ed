#!/usr/bin/env bash
# Reports how a change affects sync waves: in the log, and as a Markdown file for a
# comment. The file is empty if there is no difference.
#
#   report.sh BASE FILE
#
# BASE is the revision to compare the work tree with; append three dots to compare
# with the merge base.
#
#   LADDER_COMPONENTS  directories of components; may contain * and ?
#   LADDER_FLEET       directories with components that have a component.yaml
#   LADDER_FAIL_ON     new (default): fail if the change adds an error;
#                      any: fail if a changed component has an error; never
#   LADDER_CMP         the program; the default is cmp
#
# Exits with 1 because of LADDER_FAIL_ON, and with 2 on other errors.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: report.sh BASE FILE" >&2; exit 2; }
base=$1 file=$2
cmp=${LADDER_CMP:-cmp}
fail_on=${LADDER_FAIL_ON:-new}
case $fail_on in new | any | never) ;; *) echo "LADDER_FAIL_ON is $fail_on; write new, any or never" >&2; exit 2 ;; esac
# shellcheck disable=SC2206 # word splitting and patterns are intended
components=(${LADDER_COMPONENTS:-}) fleet=(${LADDER_FLEET:-})
[ ${#components[@]} -gt 0 ] || [ ${#fleet[@]} -gt 0 ] || { echo "set LADDER_COMPONENTS or LADDER_FLEET" >&2; exit 2; }

# The output contains names from the repository, which are not trusted. GitHub's
# runners execute commands in log lines ("::set-env", "::add-mask"), unless they are
# stopped with a random token.
if [ "${GITHUB_ACTIONS:-}" = true ]; then
	word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	echo "::stop-commands::$word"
	trap 'echo "::$word::"' EXIT
fi

# The file may be committed as a symlink, which must not be followed.
mkdir -p -- "$(dirname -- "$file")"
rm -f -- "$file"
: >"$file"
brought=0 found=0

# differs runs a comparison, and reports whether there is a difference. Components
# that fail to render on both sides do not count, unlike with --exit-code. Directory
# names follow --, since one may look like a flag.
differs() {
	local code=0 names
	names=$("$@") || code=$?
	[ $code -eq 0 ] || { [ $code -eq 1 ] && [ -n "$names" ]; } || exit 2
	[ -n "$names" ]
}

# Both parts must fit into one comment.
if [ ${#fleet[@]} -gt 0 ]; then
	if differs "$cmp" diff --name-only -- "$base" "${fleet[@]}"; then
		"$cmp" diff -o markdown --limit 24000 -- "$base" "${fleet[@]}" >>"$file" || brought=1
		"$cmp" diff -- "$base" "${fleet[@]}" || true
	fi
	"$cmp" fleet lint -- "${fleet[@]}" || found=1
fi

if [ ${#components[@]} -gt 0 ] && differs "$cmp" diff --name-only -- "$base" "${components[@]}"; then
	"$cmp" diff -o markdown --limit 40000 -- "$base" "${components[@]}" >>"$file" || brought=1
	"$cmp" diff -- "$base" "${components[@]}" || true
	while IFS= read -r -d '' dir; do
		[ -d "$dir" ] || continue # it was deleted
		printf '== cmp check --waves rungs %q\n' "$dir"
		"$cmp" check --waves rungs -- "$dir" || found=1
	done < <("$cmp" diff --name-only=null -- "$base" "${components[@]}" || true)
fi

case $fail_on in
new) exit $brought ;;
any) exit $((brought | found)) ;;
esac
