package render

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/crds"
)

// volatileFunctions are functions of templates whose result is another one each time,
// for one reason.
type volatileFunctions struct {
	why   string
	names []string
	// clock says how they read the time; nil for those that draw from chance.
	clock *clock
}

// volatile are all of them. Helm has them from sprig.
var volatile = []volatileFunctions{
	{why: "it draws letters, digits or bytes", names: []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "uuidv4"}},
	{why: "it draws an order", names: []string{"shuffle"}},
	{why: "it makes a key, and a certificate's serial number", names: []string{
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey"}},
	{why: "it draws a salt", names: []string{"bcrypt", "htpasswd"}},
	{why: "it draws an initialization vector", names: []string{"encryptAES"}},
	{why: "it returns the time", names: []string{"now"}, clock: &clock{
		reads: func([]reflect.Value) bool { return true },
		later: func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(call(args)[0].Interface().(time.Time).Add(passed))}
		}}},
	{why: "it counts from a time until now", names: []string{"ago", "durationRound"}, clock: &clock{
		reads: func(args []reflect.Value) bool { return isDate(args[0]) },
		later: func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value {
			return call([]reflect.Value{anyOf(dateOf(args[0]).Add(-passed))})
		}}},
	{why: "it takes what is no time for now", names: []string{"htmlDate", "htmlDateInZone"}, clock: nowInstead(0)},
	{why: "it takes what is no time for now", names: []string{"date", "dateInZone", "date_in_zone"}, clock: nowInstead(1)},
}

// clock is how a function reads the time. reads says whether it does with these
// arguments, later is what it returns when some time has passed.
type clock struct {
	reads func(args []reflect.Value) bool
	later func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value
}

type calling = func([]reflect.Value) []reflect.Value

// nowInstead is how the functions do that take for now what is no time, as an
// argument.
func nowInstead(argument int) *clock {
	return &clock{
		reads: func(args []reflect.Value) bool { return !isDate(args[argument]) },
		later: func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value {
			args = slices.Clone(args)
			args[argument] = anyOf(time.Now().Add(passed))
			return call(args)
		}}
}

// isDate reports whether sprig takes an argument for a time.
func isDate(arg reflect.Value) bool {
	switch arg.Interface().(type) {
	case time.Time, *time.Time, int, int32, int64:
		return true
	}
	return false
}

// dateOf is the time that an argument is.
func dateOf(arg reflect.Value) time.Time {
	switch d := arg.Interface().(type) {
	case time.Time:
		return d
	case *time.Time:
		return *d
	case int:
		return time.Unix(int64(d), 0)
	case int32:
		return time.Unix(int64(d), 0)
	case int64:
		return time.Unix(d, 0)
	}
	return time.Time{}
}

// anyOf is a time as the argument of a function that takes anything.
func anyOf(t time.Time) reflect.Value {
	var a any = t
	return reflect.ValueOf(&a).Elem()
}

func volatileNames() []string {
	var all []string
	for _, v := range volatile {
		all = append(all, v.names...)
	}
	return all
}

func isVolatile(name string) bool { return slices.Contains(volatileNames(), name) }

// clockOf is how a function reads the time; nil if it does not.
func clockOf(name string) *clock {
	for _, v := range volatile {
		if slices.Contains(v.names, name) {
			return v.clock
		}
	}
	return nil
}

func isClock(name string) bool { return clockOf(name) != nil }

// templatedValue is a value that calls volatile functions, should a template run it.
type templatedValue struct {
	path      crds.Path
	functions []string
	file      string
	line      int
}

var identifier = regexp.MustCompile(`[a-zA-Z_]\w*`)

// lookAtValues notes the values of a chart, and those that are laid over them, that
// are templates.
func (v *survey) lookAtValues(s source, ch *chart.Chart) {
	var look func(of *chart.Chart, at crds.Path, value any)
	look = func(of *chart.Chart, at crds.Path, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				look(of, join(at, crds.Path{name}), inner)
			}
		case string:
			if !strings.Contains(value, "{{") || slices.ContainsFunc(v.templated, func(t templatedValue) bool { return slices.Equal(t.path, at) }) {
				return
			}
			t := templatedValue{path: at}
			for _, name := range identifier.FindAllString(value, -1) {
				if slices.Contains(inValues, name) {
					t.functions = append(t.functions, name)
				}
			}
			if len(t.functions) > 0 {
				_, t.file, t.line = s.valueOrigin(of, at)
				v.templated = append(v.templated, t)
			}
		}
	}
	if over, err := s.mergeValues(); err == nil {
		look(ch, nil, over)
	}
	seen := map[*chart.Chart]bool{}
	var each func(of *chart.Chart, at crds.Path)
	each = func(of *chart.Chart, at crds.Path) {
		look(of, at, of.Values)
		for _, sub := range of.Dependencies() {
			if !seen[sub] {
				seen[sub] = true
				each(sub, join(at, crds.Path{sub.Name()}))
			}
		}
	}
	each(ch, nil)
	slices.SortFunc(v.templated, func(a, b templatedValue) int { return slices.Compare(a.path, b.path) })
}
