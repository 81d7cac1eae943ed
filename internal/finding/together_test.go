package finding

import (
	"fmt"
	"strings"
	"testing"
)

// TestTogether: one missing object is one finding that lists its users, and stays one when
// findings of several components come together.
func TestTogether(t *testing.T) {
	of := func(object, missing string, severity Severity) Finding {
		return Finding{Severity: severity, Rule: "missing-object", Object: object, Message: "reads " + missing, Missing: missing}
	}
	one := Together([]Finding{of("Pod b", "Secret s", Note), of("Pod a", "Secret s", Warning), of("Pod a", "Secret t", Note),
		of("Pod a", "Secret s", Note)})
	if len(one) != 2 || one[0].Error() != "Pod b: reads Secret s; the same holds for Pod a" || one[0].Severity != Warning {
		t.Errorf("got %v", one)
	}
	both := Together(append(one, Together([]Finding{of("Pod d", "Secret s", Note), of("Pod c", "Secret s", Note)})...))
	if len(both) != 2 || both[0].Error() != "Pod b: reads Secret s; the same holds for Pod a, Pod c, Pod d" {
		t.Errorf("got %v", both)
	}
	if other := Together([]Finding{{Rule: "r", Object: "Pod a"}, {Rule: "r", Object: "Pod b"}}); len(other) != 2 {
		t.Errorf("got %v", other)
	}
	var many []Finding
	for i := range 30 {
		many = append(many, of(fmt.Sprintf("Pod %02d", i), "Secret s", Note))
	}
	if got := Together(many)[0].Message; !strings.HasSuffix(got, "Pod 10 and 19 more") {
		t.Errorf("got %s", got)
	}
}
