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

mkdir -p "$(dirname "$file")"
: >"$file"
brought=0 found=0

# differs runs a comparison, and says whether there is a difference. What could be
# rendered neither before nor after is no fault of the change, as it would be with
# --exit-code.
differs() {
	local code=0 names
	names=$("$@" --name-only) || code=$?
	[ $code -eq 0 ] || { [ $code -eq 1 ] && [ -n "$names" ]; } || exit 2
	[ -n "$names" ]
}

# Both parts together fit into one comment.
if [ ${#fleet[@]} -gt 0 ]; then
	if differs "$cmp" fleet diff "$base" "${fleet[@]}"; then
		"$cmp" fleet diff "$base" "${fleet[@]}" -o markdown --limit 24000 >>"$file" || brought=1
		"$cmp" fleet diff "$base" "${fleet[@]}" || true
	fi
	"$cmp" fleet lint "${fleet[@]}" || found=1
fi

if [ ${#components[@]} -gt 0 ] && differs "$cmp" diff "$base" "${components[@]}"; then
	"$cmp" diff "$base" "${components[@]}" -o markdown --limit 40000 >>"$file" || brought=1
	"$cmp" diff "$base" "${components[@]}" || true
	changed=$("$cmp" diff "$base" "${components[@]}" --name-only) || true
	while IFS= read -r dir; do
		[ -d "$dir" ] || continue # it is gone
		echo "== cmp check --waves rungs $dir"
		"$cmp" check --waves rungs "$dir" || found=1
	done <<<"$changed"
fi

case $fail_on in
new) exit $brought ;;
any) exit $((brought | found)) ;;
esac
