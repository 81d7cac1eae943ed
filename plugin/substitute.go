package plugin

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/render"
)

// substitutable are the variables that Argo CD sets for an Application
// (reposerver/repository, newEnv) and substitutes in some fields of its own
// sources. In parameters it leaves them to the plugin.
var substitutable = []string{
	"ARGOCD_APP_NAME", "ARGOCD_APP_NAMESPACE", ProjectName, Revision, "ARGOCD_APP_REVISION_SHORT", "ARGOCD_APP_REVISION_SHORT_8",
	RepoURL, "ARGOCD_APP_SOURCE_PATH", "ARGOCD_APP_SOURCE_TARGET_REVISION",
}

// Substitutable returns the variables that are read only if a parameter uses them.
func Substitutable() []string {
	return slices.DeleteFunc(slices.Clone(substitutable), func(name string) bool {
		return slices.Contains([]string{"ARGOCD_APP_NAME", "ARGOCD_APP_NAMESPACE", Revision, RepoURL}, name)
	})
}

// variables returns the variables that parameters may use.
func (req Request) variables() map[string]string {
	if req.Variables != nil {
		return req.Variables
	}
	return map[string]string{"ARGOCD_APP_NAME": req.App.Name, "ARGOCD_APP_NAMESPACE": req.App.Namespace,
		Revision: req.App.Revision, RepoURL: req.App.RepoURL,
		"ARGOCD_APP_REVISION_SHORT":   req.App.Revision[:min(7, len(req.App.Revision))],
		"ARGOCD_APP_REVISION_SHORT_8": req.App.Revision[:min(8, len(req.App.Revision))]}
}

// substitute replaces $NAME and ${NAME} where Argo CD does so in its own sources.
// Other dollar signs are kept: Argo CD replaces "$" and any unknown name after it by
// nothing, which corrupts passwords. Variables without a value, as most are on a laptop,
// are also kept.
func (opt *options) substitute(variables map[string]string) {
	fill := func(text string) string {
		if !strings.Contains(text, "$") {
			return text
		}
		return expandKnown(text, func(name string) (string, bool) {
			if !slices.Contains(substitutable, name) {
				return "", false
			}
			if !slices.Contains(opt.usedVariables, name) {
				opt.usedVariables = append(opt.usedVariables, name)
			}
			return variables[name], variables[name] != ""
		})
	}
	all := func(texts []string) []string {
		filled := slices.Clone(texts)
		for i := range filled {
			filled[i] = fill(filled[i])
		}
		return filled
	}
	for i, v := range opt.render.Values {
		v.Files, v.Set, v.SetString, v.SetFile = all(v.Files), all(v.Set), all(v.SetString), all(v.SetFile)
		opt.render.Values[i] = v
	}
	edits := &opt.render.Edits
	edits.Images = all(edits.Images)
	for key, value := range edits.CommonLabels {
		edits.CommonLabels[key] = fill(value)
	}
	for key, value := range edits.CommonAnnotations {
		if opt.fillAnnotations {
			edits.CommonAnnotations[key] = fill(value)
		}
	}
	for _, variables := range [][]render.Variable{opt.render.Directory.Jsonnet.TLAs, opt.render.Directory.Jsonnet.ExtVars} {
		for i := range variables {
			variables[i].Value = fill(variables[i].Value)
		}
	}
}

var variable = lazyregexp.New(`\$(?:\{\w+\}|\w+)`)

// expandKnown is os.Expand limited to known names.
func expandKnown(text string, value func(name string) (string, bool)) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if v, known := value(strings.Trim(found, "${}")); known {
			return v
		}
		return found
	})
}
