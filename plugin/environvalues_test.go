package plugin_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ladder-cmp/ladder/plugin"
)

// TestNoValuesInFaults: what is wrong with a variable is said without what it holds, for
// each of them.
func TestNoValuesInFaults(t *testing.T) {
	const secret = "s3cr3t"
	faulty := 0
	for _, p := range plugin.Parameters() {
		for _, value := range []string{secret, secret + "=" + secret, "web=" + secret, "{a: " + secret, "[" + secret, "- [" + secret + "]",
			"a: *" + secret, secret + ": [", "{" + secret + ": &a [*a]}", "a,\"" + secret, "!!int " + secret, "web=" + secret + " \"'`;" + secret} {
			_, err := plugin.FromEnvironment(fstest.MapFS{}, "app", map[string]string{"ARGOCD_ENV_" + p.Variable(): value})
			if err == nil {
				continue
			}
			faulty++
			if strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), p.Variable()) {
				t.Errorf("%s=%s: %v", p.Variable(), value, err)
			}
		}
	}
	if faulty < 20 {
		t.Errorf("%d values are wrong", faulty)
	}
}
