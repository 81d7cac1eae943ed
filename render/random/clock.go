package random

import (
	"reflect"
	"strconv"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// With a seed, templates see a time in a past year, at a second derived from chart
// and values. It is stable while these do not change, so Argo CD sees no
// difference, and changes with them, so whatever depends on it (an annotation that
// restarts Pods, the name of a Job) changes exactly when the content does. No real
// time has both properties: the time of the commit changes with every commit of the
// repository, and that of the rendering always.
var year = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

const secondsOfYear = 366 * 24 * 60 * 60

// now returns the time that templates see.
func (c *Chart) now(function string) time.Time {
	c.note(function)
	// All templates and calls see the same time.
	id := append(c.scope[:len(c.scope):len(c.scope)], "time", string(c.release.Content()))
	return year.Add(time.Duration(c.rendering.source.Key.Stream(id...).Below(secondsOfYear)) * time.Second)
}

// Clock returns the functions that read the time, with that of now, which is called with
// the name of the function if it needs the time. Like sprig, some use the current time
// for a value that is not a time.
func Clock(now func(function string) time.Time) template.FuncMap {
	own := sprig.TxtFuncMap()
	dated := func(name string, argument int) any {
		f := reflect.ValueOf(own[name])
		return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			if _, is := dateOf(args[argument]); !is {
				args[argument] = anyOf(now(name))
			}
			return f.Call(args)
		}).Interface()
	}
	since := func(name string, is func(time.Duration) any) any {
		f := reflect.ValueOf(own[name])
		return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			if name == "durationRound" && !isTime(args[0]) {
				return f.Call(args)
			}
			passed := time.Duration(0) // of a value that is not a date
			if date, is := dateOf(args[0]); is {
				passed = now(name).Sub(date)
			}
			return []reflect.Value{reflect.ValueOf(is(passed))}
		}).Interface()
	}
	round := own["durationRound"].(func(any) string)
	return template.FuncMap{
		"now":            func() time.Time { return now("now") },
		"ago":            since("ago", func(d time.Duration) any { return d.Round(time.Second).String() }),
		"durationRound":  since("durationRound", func(d time.Duration) any { return round(d.String()) }),
		"date":           dated("date", 1),
		"dateInZone":     dated("dateInZone", 1),
		"date_in_zone":   dated("date_in_zone", 1),
		"htmlDate":       dated("htmlDate", 0),
		"htmlDateInZone": dated("htmlDateInZone", 0),
	}
}

func isTime(arg reflect.Value) bool {
	_, is := arg.Interface().(time.Time)
	return is
}

// dateOf returns the time of an argument, if sprig treats it as one.
func dateOf(arg reflect.Value) (date time.Time, isDate bool) {
	switch d := arg.Interface().(type) {
	case time.Time:
		return d, true
	case *time.Time:
		return *d, true
	case int:
		return time.Unix(int64(d), 0), true
	case int32:
		return time.Unix(int64(d), 0), true
	case int64:
		return time.Unix(d, 0), true
	}
	return time.Time{}, false
}

// anyOf returns a time as an argument of type any.
func anyOf(t time.Time) reflect.Value {
	var a any = t
	return reflect.ValueOf(&a).Elem()
}

// period returns the start of the current period. Periods of one length are
// contiguous, and start at the same time for everything in an Application.
func (c *Chart) period(length time.Duration) (begins time.Time) {
	seconds := int64(length / time.Second)
	moved := int64(c.rendering.source.Key.Stream("period", strconv.FormatInt(seconds, 10)).Below(uint64(seconds)))
	passed := (c.rendering.source.Now.Unix() - moved) % seconds
	if passed < 0 { // in a period that started before 1970
		passed += seconds
	}
	return time.Unix(c.rendering.source.Now.Unix()-passed, 0).UTC()
}
