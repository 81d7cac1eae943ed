package repeat

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/ladder-cmp/ladder/render/random"
)

// steady are the functions of sprig that return the same for the same arguments, and
// those that Helm takes out or lets return nothing.
const steady = `
abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest
buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains dateModify date_modify decryptAES
deepCopy deepEqual default derivePassword dict dig dir div divf duration empty env expandenv ext fail first float64
floor fromJson get getHostByName has hasKey hasPrefix hasSuffix hello indent initial initials int int64 isAbs join
kebabcase keys kindIs kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend
mustChunk mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge
mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll
mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate mustToJson mustToPrettyJson
mustToRawJson mustUniq mustWithout must_date_modify nindent nospace omit osBase osClean osDir osExt osIsAbs pick
pluck plural prepend push quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum sha256sum
sha512sum slice snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary title toDate
toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll trimPrefix trimSuffix trimall trunc tuple
typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper urlJoin urlParse values without wrap
wrapWith`

// TestVolatileFunctions holds the lists of package random against all that templates can
// call: what a release of sprig adds is known to be one or the other.
func TestVolatileFunctions(t *testing.T) {
	all := sprig.TxtFuncMap()
	same := strings.Fields(steady)
	clock := random.Clock(func(string) time.Time { return time.Time{} })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if (random.IsRandom(name) || random.IsClock(name)) == slices.Contains(same, name) {
			t.Errorf("%s: is it the same each time? Either package random has it, or this test", name)
		}
		if random.IsClock(name) != (clock[name] != nil) || random.IsRandom(name) && random.IsClock(name) {
			t.Errorf("package random takes %s for something else", name)
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(clock)), same...) {
		if all[name] == nil {
			t.Errorf("sprig has no %s", name)
		}
	}
}

// TestFastKeys: functions whose keys are replaced take and return what sprig's do, and a kind of
// key that there is not remains one.
func TestFastKeys(t *testing.T) {
	all := sprig.TxtFuncMap()
	for name, own := range all {
		if got := withFastKey(all, name, own); reflect.TypeOf(got) != reflect.TypeOf(own) {
			t.Errorf("%s is %T, want %T", name, got, own)
		}
	}
	newKey := withFastKey(all, "genPrivateKey", all["genPrivateKey"]).(func(string) string)
	if got := newKey("rsa"); !strings.Contains(got, "BEGIN EC PRIVATE KEY") {
		t.Errorf("a key is slow: %s", got)
	}
	if got := newKey("bogus"); got != "Unknown type bogus" {
		t.Errorf("got %q of an unknown kind", got)
	}
}
