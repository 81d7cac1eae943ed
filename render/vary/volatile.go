package vary

import (
	"reflect"
	"slices"
	"time"
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
	{why: "it uses the current time for a value that is not a time", names: []string{"htmlDate", "htmlDateInZone"}, clock: nowInstead(0)},
	{why: "it uses the current time for a value that is not a time", names: []string{"date", "dateInZone", "date_in_zone"}, clock: nowInstead(1)},
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

// clockOf is how a function reads the time; nil if it does not.
func clockOf(name string) *clock {
	for _, v := range volatile {
		if slices.Contains(v.names, name) {
			return v.clock
		}
	}
	return nil
}
