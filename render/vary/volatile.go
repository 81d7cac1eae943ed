package vary

import (
	"reflect"
	"slices"
	"time"

	"github.com/ladder-cmp/ladder/render/random"
)

// volatileFunctions are functions of templates whose result is another one each time,
// for one reason.
type volatileFunctions struct {
	why   string
	names []string
	// later is for those that read the time; nil for those that draw from chance.
	later clock
}

// volatile are all of them. Helm has them from sprig.
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
	{why: "it uses the current time for a value that is not a time", names: []string{"htmlDate", "htmlDateInZone"}, later: nowInstead(0)},
	{why: "it uses the current time for a value that is not a time", names: []string{"date", "dateInZone", "date_in_zone"}, later: nowInstead(1)},
}

// clock is what a function that reads the time returns when some has passed.
type clock func(call calling, args []reflect.Value, passed time.Duration) []reflect.Value

type calling = func([]reflect.Value) []reflect.Value

// nowInstead is how the functions do that take for now what is no time, as an
// argument.
func nowInstead(argument int) clock {
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

// clockOf is how a function reads the time; nil if it does not.
func clockOf(name string) clock {
	for _, v := range volatile {
		if slices.Contains(v.names, name) {
			return v.later
		}
	}
	return nil
}
