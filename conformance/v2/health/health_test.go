// Package health compares the records about health checks with Argo CD 2.14. It is apart, so that
// little else of Argo CD is compiled for it.
package health

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v2/resource_customizations"
	"github.com/argoproj/argo-cd/v2/util/lua"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

func unmarshal(text []byte, into any) error { return yaml.Unmarshal(text, into) }

func TestHealthChecks(t *testing.T) {
	suite.HealthChecks(t, "2.14", resource_customizations.Embedded, unmarshal)
}

func TestChildHealth(t *testing.T) {
	suite.ChildHealth(t, unmarshal, func(script string, obj map[string]any) (string, error) {
		status, err := lua.VM{}.ExecuteHealthLua(&unstructured.Unstructured{Object: obj}, script)
		if err != nil {
			return "", err
		}
		return string(status.Status), nil
	})
}
