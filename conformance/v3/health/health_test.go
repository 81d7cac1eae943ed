// Package health compares the records about health checks with Argo CD 3.5. It is apart, so that
// nothing else of Argo CD is compiled for it.
package health

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/resource_customizations"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

func TestHealthChecks(t *testing.T) {
	suite.HealthChecks(t, "3.5", resource_customizations.Embedded, func(text []byte, into any) error { return yaml.Unmarshal(text, into) })
}
