package sidecar

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/sidecar/repository"
	"github.com/ladder-cmp/ladder/sidecar/task"
)

// textIn is the length of all texts in a value, wherever they are.
func textIn(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Type() == reflect.TypeFor[*time.Location]() {
			return 0
		}
		return textIn(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n += textIn(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			n += textIn(key) + textIn(v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += textIn(v.Field(i))
		}
	}
	return n
}

// fill puts a text into every field of a value that can hold one, and returns a description of
// what cannot.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(text))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	}
}

// TestSizeOfResults: every text that a cached response holds counts, field by field.
func TestSizeOfResults(t *testing.T) {
	const large = 100_000
	text := strings.Repeat("x", large)
	results := map[string]*result{
		"subject": {subject: subject{task.Name(text), text, text, text}},
		"env":     {env: map[string]string{text: text}},
		"read":    {read: repository.Answers{{Path: text}: {}}},
		"fetched": {fetched: map[string]string{text: text}},
		"err":     {err: errors.New(text)},
	}
	output := reflect.TypeFor[task.Output]()
	for i := range output.NumField() {
		r := &result{}
		fill(reflect.ValueOf(&r.response.Output).Elem().Field(i), text)
		results["response.Output."+output.Field(i).Name] = r
	}
	for name, r := range results {
		held := textIn(reflect.ValueOf(r))
		if got := r.size(); got < held || got > held+10_000 {
			t.Errorf("%s: holds texts of %d bytes and counts as %d", name, held, got)
		}
	}
	// What the test knows of a result.
	if got := reflect.TypeFor[result]().NumField(); got != 7 {
		t.Errorf("a result has %d fields; count what a new one holds in size, and try it here", got)
	}
}

// TestCutOutput: whatever a task returns, only manifests are large afterwards.
func TestCutOutput(t *testing.T) {
	text := strings.Repeat("x", 1_000_000)
	output := reflect.TypeFor[task.Output]()
	for i := range output.NumField() {
		var out task.Output
		fill(reflect.ValueOf(&out).Elem().Field(i), text)
		if out.Cut(); out.Manifests == nil && out.Size() > 3*task.MaxLine+1000 {
			t.Errorf("%s: %d bytes are left", output.Field(i).Name, out.Size())
		}
	}
	var many task.Output
	for i := range 100_000 {
		many.Remarks = append(many.Remarks, task.Remark{Level: slog.LevelWarn, Text: text[:3000]})
		many.Log = append(many.Log, fmt.Sprint(i), []string{text})
		many.Unused = append(many.Unused, fmt.Sprint(i))
	}
	many.Measures = map[string]int{}
	for i := range 1000 {
		many.Measures[fmt.Sprint(i)] = i
	}
	if many.Cut(); many.Size() > (task.MaxRemarks+64+1)*(task.MaxLine+200)+100_000 || len(many.Measures) > 64 {
		t.Errorf("%d bytes are left of many entries", many.Size())
	}
	last := many.Remarks[len(many.Remarks)-1].Text
	if len(many.Remarks) != task.MaxRemarks+1 || last != "further log lines: 99800" {
		t.Errorf("%d remarks, the last is %.200s", len(many.Remarks), last)
	}
}
