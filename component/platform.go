package component

import yaml "go.yaml.in/yaml/v3"

// Platform is what the rendering of a component needs of the fleet section of the platform's
// ladder.yaml.
type Platform struct {
	// Environments are those that components may be rendered for.
	Environments []PlatformEnvironment `yaml:"environments"`
	// RepoURL is the repository with the components.
	RepoURL string `yaml:"repoURL"`
	Allow   struct {
		// BuildOptions are options of kustomize that let a kustomization read the files of others.
		BuildOptions []string `yaml:"buildOptions"`
	} `yaml:"allow"`
}

// PlatformEnvironment is an environment of the platform.
type PlatformEnvironment struct {
	Name string `yaml:"name"`
	// Values are values files next to a component.yaml. Components without such a file
	// do not have values for the environment.
	Values []string `yaml:"values"`
}

// PlatformOf reads a fleet section, of which it ignores what no rendering needs; nil means none.
func PlatformOf(section *yaml.Node) (p Platform, err error) {
	if section != nil {
		err = section.Decode(&p)
	}
	return p, err
}
