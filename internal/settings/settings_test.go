package settings_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// shop is a configuration with a key of each type that configurations have.
type shop struct {
	Name    string            `yaml:"name"`
	Open    *bool             `yaml:"open"`
	Floors  int               `yaml:"floors"`
	Mode    string            `yaml:"mode"`
	Tags    []string          `yaml:"tags"`
	Labels  map[string]string `yaml:"labels"`
	Shelves []shelf           `yaml:"shelves"`
	Stock   stock             `yaml:"stock"`
	Racks   racks             `yaml:"racks"`
	Price   price             `yaml:"price"`
	Address `yaml:",inline"`
	Ignored string `yaml:"-"`
}

type shelf struct {
	Width int `yaml:"width"`
}

// Address is a part of a shop without a key of its own.
type Address struct {
	Street string `yaml:"street"`
}

// stock is written as a number or as a list of names.
type stock struct{}

func (stock) Form(n *yaml.Node) any {
	if n.Kind == yaml.SequenceNode {
		return []string{}
	}
	return 0
}

// racks may be written as a single one.
type racks []shelf

func (*racks) UnmarshalYAML(*yaml.Node) error { return nil }

// price reads itself.
type price string

func (*price) UnmarshalYAML(n *yaml.Node) error {
	switch n.Value {
	case "free":
		return errors.New("nothing is free")
	case "cheap":
		return fmt.Errorf("line %d: %w", n.Line, finding.Finding{Message: "not a price", Remedy: "write a number"})
	}
	return nil
}

var file = settings.File{Name: "shops/shop.yaml", Rule: "bad-shop", Description: "the shop's settings"}

// findingsTests are texts with the findings about them, one per line: line, field, message,
// remedy.
var findingsTests = []struct{ name, text, want string }{
	{"no faults", `
name: corner
open: false
floors: 2
mode: self-service
tags: [a, b]
labels: {a: b}
shelves: [{width: 3}]
stock: 4
racks: [{width: 5}]
price: dear
street: Main Street
`, ""},
	{"another form", "stock: [apples]", ""},
	{"neither form", "stock: apples", `1 stock: must be a whole number, not "apples"; write stock: 10`},
	{"an element of a form", "stock: [[]]", "1 stock[0]: must be a string, not a list; write a string there"},
	{"a single value for a list of one", "racks: {width: 5}", ""},
	{"a fault in a single value for a list", "racks: {width: wide}", `1 racks.width: must be a whole number, not "wide"; write width: 10`},
	{"a fault in a list that may be a single value", "racks: [{widht: 5}]", `1 racks[0].widht: unknown key; did you mean "width"?`},

	{"a misspelled key", "\nnaem: corner", `2 naem: unknown key; did you mean "name"?`},
	{"an unknown key", "zzzzzzzz: 1",
		"1 zzzzzzzz: unknown key; use one of name, open, floors, mode, tags, labels, shelves, stock, racks, price, street"},
	{"a key that is not for YAML", "ignored: x",
		"1 ignored: unknown key; use one of name, open, floors, mode, tags, labels, shelves, stock, racks, price, street"},
	{"the name of a type without a key", "address: {street: x}",
		"1 address: unknown key; use one of name, open, floors, mode, tags, labels, shelves, stock, racks, price, street"},
	{"keys differ in case", "Name: corner", `1 Name: unknown key; did you mean "name"?`},
	{"a misspelled key of an element", "shelves:\n- width: 1\n- widht: 2", `3 shelves[1].widht: unknown key; did you mean "width"?`},
	{"any key of a map", "labels: {zzz: a}", ""},

	{"a key twice", "name: a\n\nname: b", "3 name: duplicate key, first set on line 1; keep one of the two"},
	{"a key three times", "name: a\nname: b\nname: c", `2 name: duplicate key, first set on line 1; keep one of the two
3 name: duplicate key, first set on line 2; keep one of the two`},
	{"a key of a map twice", "labels:\n  a: b\n  a: c", "3 labels.a: duplicate key, first set on line 2; keep one of the two"},
	{"a key of an element twice", "shelves:\n- width: 1\n  width: 2",
		"3 shelves[0].width: duplicate key, first set on line 2; keep one of the two"},

	{"no value", "name:", "1 name: missing value; write a string, or remove the key"},
	{"a null for an element", "tags: [~]", "1 tags[0]: missing value; write a string, or remove the key"},
	{"a list for a string", "name: [a]", "1 name: must be a string, not a list; write name: ..."},
	{"a mapping for a list", "tags: {a: b}", "1 tags: must be a list, not a mapping; write tags: [...]"},
	{"a string for a list is not printed", "tags: hunter2", "1 tags: must be a list, not a single value; write tags: [...]"},
	{"a string for a mapping is not printed", "labels: hunter2",
		"1 labels: must be a mapping, not a single value; write labels: {key: value}"},
	{"a string for a boolean", "open: 'true'", `1 open: must be true or false, not "true"; write open: true`},
	{"yes is a string", "open: yes", `1 open: must be true or false, not "yes"; write open: true`},
	{"a quoted number", "floors: '2'", `1 floors: must be a whole number without quotes, not "2"; write floors: 2`},
	{"half a floor", "floors: 2.5", `1 floors: must be a whole number, not "2.5"; write floors: 10`},
	{"a number is a string", "name: 2", ""},
	{"a value of a map", "labels:\n  a: [b]", "2 labels.a: must be a string, not a list; write labels: ..."},

	{"not among the choices", "mode: full-servce", `1 mode: unknown value "full-servce"; did you mean "full-service"?`},
	{"like none of the choices", "mode: zzzz", `1 mode: unknown value "zzzz"; use one of full-service, self-service`},
	{"the choice to reset", "mode: ''", ""},

	{"a message of the type", "price: free", "1 price: nothing is free"},
	{"a finding of the type", "price: cheap", "1 price: not a price; write a number"},

	{"an alias is checked against its type", "tags: &t [a]\nname: *t", "1 name: must be a string, not a list; write name: ..."},
	{"an alias with a fault is reported once", "shelves: [&s {width: x}, *s, *s]",
		`1 shelves[0].width: must be a whole number, not "x"; write width: 10`},
	{"every fault", "naem: x\nfloors: x\nopen: 1", `1 naem: unknown key; did you mean "name"?
2 floors: must be a whole number, not "x"; write floors: 10
3 open: must be true or false, not "1"; write open: true`},

	{"an empty file", "", ""},
	{"only a comment", "# later\n", ""},
	{"a null", "~", ""},
	{"not YAML", "name: corner\nopen: [\n", "2: not valid YAML: did not find expected node content; correct the syntax there"},
	{"binary", "\x00\x01\x02\xff", "0: binary file, not YAML; replace it with a text file"},
	{"two documents", "name: a\n---\nname: b", "0: the file has a second YAML document; keep one document"},
	{"a broken second document", "name: a\n---\n[", "0: the file has a second YAML document; keep one document"},
	{"a list", "\n- name: a", "2: not a mapping; write keys and values"},
	{"a scalar", "corner", "1: not a mapping; write keys and values"},
	{"a manifest", "apiVersion: v1\nkind: ConfigMap",
		"1: the file is a Kubernetes manifest, but shop.yaml is the name of the shop's settings; rename the file"},
}

// TestFindings compares the findings about each text.
func TestFindings(t *testing.T) {
	t.Parallel()
	for _, test := range findingsTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var found []finding.Finding
			root, err := file.Parse([]byte(test.text))
			if found = finding.Of(err); err == nil && root != nil {
				found = finding.Of(errors.Join(file.Check(root, shop{}, map[string][]string{"mode": {"", "full-service", "self-service"}})...))
			}
			var got []string
			for _, f := range found {
				line := fmt.Sprint(f.Line)
				if f.Field != "" {
					line += " " + f.Field
				}
				line += ": " + f.Message
				if f.Remedy != "" {
					line += "; " + f.Remedy
				}
				got = append(got, line)
				if f.Severity != finding.Error || f.Rule != "bad-shop" || f.File != "shops/shop.yaml" {
					t.Errorf("the finding is of another file or rule: %+v", f)
				}
			}
			if got := strings.Join(got, "\n"); got != test.want {
				t.Errorf("found:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

// tree is a configuration of any depth.
type tree struct {
	Trees []tree `yaml:"trees"`
}

// TestMultiplyingAliases checks a file whose aliases stand for 2^40 values: each must be
// checked only once.
func TestMultiplyingAliases(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("trees:\n- &t0 {leaves: 1}\n")
	for i := range 40 {
		fmt.Fprintf(&b, "- &t%d {trees: [*t%d, *t%d]}\n", i+1, i, i)
	}
	root, err := file.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	faults := finding.Of(errors.Join(file.Check(root, tree{}, nil)...))
	if len(faults) != 1 || faults[0].Field != "trees[0].leaves" {
		t.Errorf("found %v, want one unknown key", faults)
	}
}

func TestDuplicateKeys(t *testing.T) {
	t.Parallel()
	root, err := file.Parse([]byte("a:\n  b: 1\n  b: 2\nc: {d: {e: 1, e: 2}}\na: [{f: 1, f: 2}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range finding.Of(errors.Join(file.DuplicateKeys(root, "values.")...)) {
		got = append(got, fmt.Sprint(f.Line, " ", f.Field))
	}
	if want := []string{"3 values.a.b", "4 values.c.d.e", "5 values.a"}; !slices.Equal(got, want) {
		t.Errorf("duplicates are %q, want %q", got, want)
	}
}

// TestKeys compares the keys of a type, and the fields that their indices lead to.
func TestKeys(t *testing.T) {
	t.Parallel()
	v := reflect.ValueOf(shop{Name: "corner", Ignored: "ignored", Address: Address{Street: "Main Street"}})
	values := map[string]any{}
	for _, k := range settings.Keys(v.Type()) {
		values[k.Name] = v.FieldByIndex(k.Index).Interface()
		if field := v.FieldByIndex(k.Index); field.Type() != k.Type {
			t.Errorf("%s is of type %v, want %v", k.Name, k.Type, field.Type())
		}
	}
	if values["name"] != "corner" || values["street"] != "Main Street" {
		t.Errorf("keys lead to %v", values)
	}
	for _, other := range []any{"", []shop{}, map[string]shop{}, &shop{}} {
		if keys := settings.Keys(reflect.TypeOf(other)); len(keys) > 0 {
			t.Errorf("%T has keys: %v", other, keys)
		}
	}
}
