package conformance

import (
	"context"
	"testing"

	log "github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/ladder-cmp/ladder/conformance/suite"
)

// TestApplicationSets lets Argo CD 3 make Applications of the ApplicationSets
// that are generated for the fleets.
func TestApplicationSets(t *testing.T) {
	suite.ApplicationSets(t, "want.appset.yaml", application, func(t *testing.T, files suite.GitFiles, text string) []any {
		var set v1alpha1.ApplicationSet
		if err := yaml.UnmarshalStrict([]byte(text), &set); err != nil {
			t.Fatal(err)
		}
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		projects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(project("default"), project("platform")).Build()
		apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, makers(gitRepository(files)),
			&utils.Render{}, projects)
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for _, app := range apps {
			for _, source := range app.Spec.GetSources() {
				if source.Chart != "" && source.IsOCI() {
					t.Errorf("%s: Argo CD would take %s for the chart, and not look at %s in it", app.Name, source.RepoURL, source.Chart)
				}
			}
			app.APIVersion, app.Kind = v1alpha1.SchemeGroupVersion.String(), "Application"
			all = append(all, app)
		}
		return all
	})
}

func application(text string) (any, error) {
	var app v1alpha1.Application
	err := yaml.UnmarshalStrict([]byte(text), &app)
	return app, err
}

// TestApps reads the Applications of the app-of-apps with Argo CD's own types.
func TestApps(t *testing.T) {
	suite.Apps(t, func(text string) error { return yaml.UnmarshalStrict([]byte(text), &v1alpha1.Application{}) })
}

func project(name string) client.Object {
	var p v1alpha1.AppProject
	p.Name, p.Namespace = name, "argocd"
	return &p
}

func makers(files gitRepository) map[string]generators.Generator {
	made := map[string]generators.Generator{
		"List": generators.NewListGenerator(),
		"Git":  generators.NewGitGenerator(files, "argocd"),
	}
	made["Matrix"] = generators.NewMatrixGenerator(map[string]generators.Generator{"List": made["List"], "Git": made["Git"]})
	return made
}

// gitRepository stands for the repo-server.
type gitRepository suite.GitFiles

func (r gitRepository) GetFiles(_ context.Context, _, _, _, pattern string, _ bool,
	_ *v1alpha1.SourceIntegrity) (map[string][]byte, error) {
	return r(pattern)
}

func (gitRepository) GetDirectories(context.Context, string, string, string, bool, *v1alpha1.SourceIntegrity) ([]string, error) {
	panic("no generator asks for directories")
}

func decode(text string) (map[string]any, error) {
	var obj map[string]any
	err := yaml.Unmarshal([]byte(text), &obj)
	return obj, err
}
