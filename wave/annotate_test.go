package wave

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTooLong compares the estimate with what kubectl would write.
func TestTooLong(t *testing.T) {
	dashboard := func(lines int, indent string) string {
		var b strings.Builder
		b.WriteString("kind: ConfigMap\ndata:\n  board.json: |\n    {\n")
		for i := range lines {
			fmt.Fprintf(&b, "    %s\"panel%d\": \"<a & b>\",\n", indent, i)
		}
		b.WriteString("    }\n")
		return b.String()
	}
	nested := func(lines int) string {
		return "kind: CustomResourceDefinition\nspec:\n  versions:\n" +
			strings.Repeat(strings.Repeat(" ", 40)+"- description: what it is for\n", lines)
	}
	tests := []struct {
		name, text string
		want       bool
	}{
		{"small", "kind: ConfigMap\n", false},
		{"dashboard", dashboard(6000, strings.Repeat(" ", 20)), true},
		{"minified", "kind: ConfigMap\ndata:\n  board: '" + strings.Repeat(`{"a":"b"},`, 24000) + "'\n", true},
		{"angle brackets", "kind: ConfigMap\ndata:\n  page: '" + strings.Repeat("<b>", 25000) + "'\n", true},
		{"below the limit", dashboard(1500, "  "), false},
		{"indentation is none of it", nested(4000), false},
		{"many lines", nested(9000), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(tt.text), &object); err != nil {
				t.Fatal(err)
			}
			kept, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if exceeds := len(kept) > annotationLimit; exceeds != tt.want {
				t.Fatalf("the case is wrong: %d bytes", len(kept))
			}
			if got := tooLong("", tt.text); got != tt.want {
				t.Errorf("tooLong = %v with %d bytes, want %v", got, len(kept), tt.want)
			}
		})
	}
}
