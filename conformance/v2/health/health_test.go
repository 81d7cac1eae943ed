// Package health compares the records about health checks with Argo CD 2.14. It is apart, so that
// nothing else of Argo CD is compiled for it.
package health

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v2/resource_customizations"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

func TestHealthChecks(t *testing.T) {
	suite.HealthChecks(t, "2.14", resource_customizations.Embedded, func(text []byte, into any) error { return yaml.Unmarshal(text, into) })
}
