package plugin_test

import (
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/plugin"
)

// TestLoadRestrictions: neither a component nor an Application decides that a kustomization reads
// the files of others.
func TestLoadRestrictions(t *testing.T) {
	const none = "--load-restrictor LoadRestrictionsNone"
	const allowed = "fleet: {allow: {buildOptions: [--load-restrictor=LoadRestrictionsNone]}}\n"
	for name, tt := range map[string]struct {
		component, application, platform, tenant, operator string
		own                                                bool
		want                                               string // a part of the error
	}{
		"by component.yaml":                   {component: none, want: "team/x: parameter build-options: with LoadRestrictionsNone"},
		"by the Application":                  {application: none, want: "with LoadRestrictionsNone"},
		"by its own ladder.yaml":              {component: none, tenant: allowed, want: "with LoadRestrictionsNone"},
		"by the user":                         {application: none, own: true},
		"by component.yaml, of the user":      {component: none, own: true, want: "with LoadRestrictionsNone"},
		"the platform allows component.yaml":  {component: none, platform: allowed},
		"the platform allows the Application": {application: none, platform: allowed},
		"the server allows the Application":   {application: none, operator: allowed},
		"the platform allows something else": {application: none,
			platform: "fleet: {allow: {buildOptions: [--enable-helm, '*', LoadRestrictionsNone]}}\n", want: "with LoadRestrictionsNone"},
		"the Application takes it back": {component: none, application: "--load-restrictor LoadRestrictionsRootOnly",
			want: "does not read files outside"},
		"nobody asks":                             {want: "does not read files outside"},
		"nobody asks, and the platform allows":    {platform: allowed, want: "does not read files outside"},
		"the Application asks for something else": {application: "--enable-helm", want: "does not read files outside"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"team/x/kustomization.yaml": "resources: [a.yaml, ../../other/b.yaml]\n",
				"team/x/a.yaml":             "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
				"other/b.yaml":              "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
				"team/x/component.yaml":     "name: x\n",
			}
			for file, text := range map[string]string{"ladder.yaml": tt.platform, "team/x/ladder.yaml": tt.tenant} {
				if text != "" {
					files[file] = text
				}
			}
			if tt.component != "" {
				files["team/x/component.yaml"] += "buildOptions: " + tt.component + "\n"
			}
			env := map[string]string{"ARGOCD_APP_NAME": "x"}
			if tt.application != "" {
				env["ARGOCD_ENV_LADDER_BUILD_OPTIONS"] = tt.application
			}
			req, err := plugin.FromEnvironment(repository(files), "team/x", env)
			if err != nil {
				t.Fatal(err)
			}
			req.OwnSettings = tt.own
			base, err := knowledge.Default().With("the server's", tt.operator)
			if err != nil {
				t.Fatal(err)
			}
			res, err := plugin.Generate(t.Context(), req, base)
			got := ""
			for _, f := range finding.Of(err) {
				got += f.Error() + "\n"
			}
			if (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Contains(res.YAML(), "name: b") != (tt.want == "") {
				t.Errorf("the file of another: %s", res.YAML())
			}
		})
	}
}
