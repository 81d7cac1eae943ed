package finding

import (
	"errors"
	"fmt"
	"testing"
)

func TestError(t *testing.T) {
	for want, f := range map[string]Finding{
		"a.yaml:3: Deployment web: spec.replicas: wrong; fix: mend it": {File: "a.yaml", Line: 3, Object: "Deployment web",
			Field: "spec.replicas", Message: "wrong", Remedy: "mend it"},
		"a.yaml: wrong":          {File: "a.yaml", Message: "wrong"},
		"over two lines; fix: x": {Message: "over\n  two\tlines", Remedy: " x"},
		// Names come from the input; none may break the line or steer a terminal.
		`a\nb.yaml:1: Deployment \x1b[2J: x\u202ey: \a [31mred; fix: a b`: {File: "a\nb.yaml", Line: 1,
			Object: "Deployment \x1b[2J", Field: "x\u202ey",
			Message: "\x07\r\n[31mred", Remedy: "a\u2028b"},
		"Secret a: gone": {Line: 7, Object: "Secret a", Message: "gone"},
	} {
		if got := f.Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestOf(t *testing.T) {
	a, b := Finding{Message: "a"}, Finding{Message: "b"}
	plain := errors.New("plain")
	err := fmt.Errorf("doing: %w", errors.Join(a, fmt.Errorf("more: %w", b), errors.Join(nil, plain)))
	var got []string
	for _, f := range Of(err) {
		got = append(got, f.Message)
	}
	if fmt.Sprint(got) != "[a b plain]" {
		t.Errorf("got %v", got)
	}
	if Of(nil) != nil {
		t.Error("findings of nothing")
	}
	if err := Err([]Finding{{Severity: Warning, Message: "w"}}); err != nil {
		t.Errorf("a warning became an error: %v", err)
	}
}
