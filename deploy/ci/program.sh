#!/usr/bin/env bash
# Puts the program into DIR as cmp. If REVISION is a version, such as v1.2.3, the script
# downloads the program of that release and verifies its checksum. Otherwise, it builds
# the program from this checkout, with Go.
#
#   program.sh REVISION DIR
#
# LADDER_RELEASES overrides the URL of the releases.
set -euo pipefail

fail() {
	echo "program.sh: $*" >&2
	exit 2
}

[ $# -eq 2 ] || fail "usage: program.sh REVISION DIR"
revision=$1
dir=$2
home=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$dir"

if ! [[ $revision =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	command -v go >/dev/null || fail "\"$revision\" is not a version, and Go is missing; fix: use a released version, such as v1.2.3, or install Go"
	exec go -C "$home" build -o "$(cd "$dir" && pwd)/cmp" ./cmd/cmp
fi

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no release for $(uname -s); fix: use a revision that is not a version, which is built with Go" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no release for $(uname -m); fix: use a revision that is not a version, which is built with Go" ;;
esac
from=${LADDER_RELEASES:-https://github.com/ladder-cmp/ladder/releases/download}/$revision
name=ladder_${revision#v}_${os}_$arch
archive=$name.tar.gz

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
for file in checksums.txt "$archive"; do
	curl --fail --silent --show-error --location --retry 3 --output "$temp/$file" "$from/$file" ||
		fail "$from/$file cannot be downloaded; fix: name a version that was released"
done
want=$(awk -v name="$archive" '$2 == name { print $1 }' "$temp/checksums.txt")
if command -v sha256sum >/dev/null; then got=$(sha256sum "$temp/$archive"); else got=$(shasum -a 256 "$temp/$archive"); fi
[ "${want:-none}" = "${got%% *}" ] || fail "$archive does not have the checksum in checksums.txt; fix: try again, and report it if it happens twice"
tar -xzf "$temp/$archive" -C "$temp" "$name/cmp"
mv "$temp/$name/cmp" "$dir/cmp"
