package knowledge

import (
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// schemaFile is schemas.yaml: how to interpret CRDs.
type schemaFile struct {
	Source    string   `yaml:"source"`
	Ready     []string `yaml:"ready"`
	Described []struct {
		Word string  `yaml:"word"`
		To   Targets `yaml:"to"`
		Why  string  `yaml:"why"`
	} `yaml:"described"`
	Written  []string `yaml:"written"`
	Siblings []string `yaml:"siblings"`
}

var schemaRules = sync.OnceValue(func() *schemaFile { return decoded[schemaFile]("schemas.yaml") })

// ConventionFor returns the convention that the description of a field implies, if any.
func (b *Base) ConventionFor(description string) (Convention, bool) {
	text := strings.ToLower(firstSentence(description))
	for _, d := range schemaRules().Described {
		if strings.Contains(text, d.Word) {
			return Convention{To: d.To, Meaning: Exists, Why: d.Why, Source: schemaRules().Source}, true
		}
	}
	return Convention{}, false
}

// IsWritten reports whether the description of a field says that the operator creates
// the object that the field names.
func (b *Base) IsWritten(description string) bool {
	text := strings.ToLower(firstSentence(description))
	return slices.ContainsFunc(schemaRules().Written, func(words string) bool { return strings.Contains(text, words) })
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	first, _, _ := strings.Cut(text, ". ")
	return first
}

// Sibling removes the suffix of a key that may name another object of the same
// group. The rest is its kind, or the end of it.
func (b *Base) Sibling(key string) (kind string, ok bool) {
	for _, ending := range schemaRules().Siblings {
		if stem, cut := strings.CutSuffix(key, ending); cut && stem != "" {
			return stem, true
		}
	}
	return "", false
}

// conditionColumn matches the path of a printer column with the status of a
// condition.
var conditionColumn = lazyregexp.New(`^\.status\.conditions\[\?\(@\.type\s*==\s*['"](\w+)['"]\)\]\.status$`)

// valueColumn matches the path of a printer column with a status value.
var valueColumn = lazyregexp.New(`^\.(status(?:\.\w+)*\.(\w+))$`)

// StatusOf returns how the status shows health, according to a version of the CRD;
// nil if it does not. where is the name of the source.
func (b *Base) StatusOf(version object.Value, schema func() object.Schema, where string) *Status {
	if !version.Get("subresources", "status").Exists() {
		return nil
	}
	status := sync.OnceValue(func() object.Schema { return schema().Get("properties", "status", "properties") })
	for _, name := range schemaRules().Ready {
		sign, ok := signOf(version, name)
		if !ok && !listed(status(), name) {
			continue
		}
		sees := &Status{Healthy: []Sign{sign}, Source: where, Note: "Taken from the " + where + ", not from the operator's documentation."}
		if status().Get("observedGeneration").Exists() {
			sees.Generation = "status.observedGeneration"
		}
		return sees
	}
	return nil
}

// signOf returns the sign for a condition or boolean value with a printer column;
// without a column, for the condition.
func signOf(version object.Value, name string) (sign Sign, ok bool) {
	for _, c := range version.Get("additionalPrinterColumns").Items() {
		path := c.Get("jsonPath").Text()
		if m := conditionColumn.FindStringSubmatch(path); m != nil && m[1] == name {
			return Sign{Condition: name}, true
		}
		if m := valueColumn.FindStringSubmatch(path); m != nil && c.Get("type").Text() == "boolean" && strings.EqualFold(m[2], name) {
			return Sign{At: m[1], Is: []string{"true"}}, true
		}
	}
	return Sign{Condition: name}, false
}

// listed reports whether a schema lists a condition among the possible ones.
func listed(status object.Schema, condition string) bool {
	types := status.Get("conditions", "items", "properties", "type", "enum")
	return slices.ContainsFunc(types.Items(), func(v object.Value) bool { return v.Text() == condition })
}
