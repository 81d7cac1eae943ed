package vary

import (
	"reflect"
	"slices"
	"time"

	"github.com/ladder-cmp/ladder/render/random"
)

// volatileFunctions are non-deterministic template functions with the same cause.
type volatileFunctions struct {
	why   string
	names []string
	// later is set for functions that read the time; nil for random ones.
	later clock
}

// volatile lists all of them. They come from sprig.
var volatile = []volatileFunctions{
	{why: "it draws letters, digits or bytes", names: []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "uuidv4"}},
	{why: "it draws an order", names: []string{"shuffle"}},
	{why: "it makes a key, and a certificate's serial number", names: []string{
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey"}},
	{why: "it draws a salt", names: []string{"bcrypt", "htpasswd"}},
	{why: "it draws an initialization vector", names: []string{"encryptAES"}},
	{why: "it returns the time", names: []string{"now"}, later: func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(call(args)[0].Interface().(time.Time).Add(passed))}
	}},
	{why: "it counts from a time until now", names: []string{"ago", "durationRound"}, later: func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value {
		date, _ := random.DateOf(args[0])
		return call([]reflect.Value{random.AnyOf(date.Add(-passed))})
	}},
	{why: "it uses the current time for a value that is not a time", names: []string{"htmlDate", "htmlDateInZone"}, later: nowByDefault(0)},
	{why: "it uses the current time for a value that is not a time", names: []string{"date", "dateInZone", "date_in_zone"}, later: nowByDefault(1)},
}

// clock returns the result of a time function after some time has passed.
type clock func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value

type calling = func([]reflect.Value) []reflect.Value

// nowByDefault is for functions that use the current time if an argument is not a
// time.
func nowByDefault(argument int) clock {
	return func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value {
		args = slices.Clone(args)
		args[argument] = random.AnyOf(time.Now().Add(passed))
		return call(args)
	}
}

func volatileNames() []string {
	var all []string
	for _, v := range volatile {
		all = append(all, v.names...)
	}
	return all
}

// clockOf returns how a function reads the time; nil if it does not.
func clockOf(name string) clock {
	for _, v := range volatile {
		if slices.Contains(v.names, name) {
			return v.later
		}
	}
	return nil
}
