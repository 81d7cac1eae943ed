package object

import (
	"strings"
	"testing"
)

// TestSharing makes sure that equal manifests of different places have one text, and keep their places.
func TestSharing(t *testing.T) {
	parse := func(file, name string, size int) Object {
		objs, err := Parse(file, 1, strings.Clone("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"}\ndata: {a: "+strings.Repeat("x", size)+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return objs[0]
	}
	annotated := func(o Object, value string) Object {
		o, err := o.Annotate("a", value)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	var s Sharing
	first := []Object{parse("a", "x", minShared), parse("a", "small", 1), annotated(parse("a", "z", minShared), "1")}
	second := []Object{parse("b", "x", minShared), parse("b", "small", 1), annotated(parse("b", "z", minShared), "1"), annotated(parse("b", "z", minShared), "2")}
	want := []string{second[0].Text(), second[1].Text(), second[2].Text(), second[3].Text()}
	s.Share(first)
	s.Share(second)
	for i, shared := range []bool{true, false, true, false} {
		if is := i < len(first) && second[i].doc == first[i].doc; is != shared {
			t.Errorf("%s is shared: %v, want %v", second[i].ID, is, shared)
		}
		if second[i].Text() != want[i] || second[i].File != "b" {
			t.Errorf("%s of %s changed", second[i].ID, second[i].File)
		}
	}
}
