package doctor

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
)

// sidecar is a container that serves a plugin.
type sidecar struct {
	node
	// stock means that it runs Argo CD's own plugin server.
	stock bool
	// isLadder means that the plugin is, or should be, Ladder's.
	isLadder bool
	// serves means that it runs a plugin server.
	serves bool
	// plugin is its name in Applications; empty if unknown.
	plugin string
	// hasDiscovery means that it supports Applications that do not name a plugin.
	hasDiscovery bool
	image        image
	env          map[string]node
	// flags are the flags of "cmp serve", and flagsErr is the error of parsing them.
	flags    Flags
	flagsErr error
	// config is the plugin.yaml of the stock server.
	config     mountedText
	mounted    bool
	pluginYAML pluginYAML
}

// pluginYAML is the content of a plugin.yaml, as read by the stock server.
type pluginYAML struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Version  string `yaml:"version"`
		Generate struct {
			Command []string `yaml:"command"`
			Args    []string `yaml:"args"`
		} `yaml:"generate"`
		Discover struct {
			FileName string `yaml:"fileName"`
			Find     struct {
				Glob    string   `yaml:"glob"`
				Command []string `yaml:"command"`
			} `yaml:"find"`
		} `yaml:"discover"`
	} `yaml:"spec"`
}

func (p pluginYAML) discovers() bool {
	d := p.Spec.Discover
	return d.FileName != "" || d.Find.Glob != "" || len(d.Find.Command) > 0
}

// pluginName returns the name of the plugin in Applications, which is also that of its
// socket.
func (p pluginYAML) pluginName() string {
	if p.Spec.Version != "" {
		return p.Metadata.Name + "-" + p.Spec.Version
	}
	return p.Metadata.Name
}

// program is the name of Ladder's program. ourPlugin is the name of its plugin, its
// container and its image.
const (
	program   = "cmp"
	ourPlugin = "ladder"
)

// findPlugins finds the plugin containers.
func (i *installation) findPlugins(w *workload) {
	for _, c := range w.others {
		s := i.sidecar(w, c)
		_, shares := mountAt(c, pluginsDir)
		if s.isLadder {
			w.sidecars = append(w.sidecars, s)
		}
		if s.isLadder || s.serves || shares {
			w.plugins = append(w.plugins, s)
		}
	}
}

func (i *installation) sidecar(w *workload, c node) *sidecar {
	s := &sidecar{node: c, image: imageOf(c.Get("image").Text()), env: i.environment(w, c)}
	command, args := c.at("command").texts(), c.at("args").texts()
	isNamed := isNamedLadder(c)
	words := slices.Concat(command, args)
	switch {
	case slices.ContainsFunc(words, func(word string) bool { return path.Base(word) == stockServer }):
		s.serves, s.stock = true, true
		i.readPluginYAML(w, s)
		s.isLadder = isNamed || s.pluginYAML.Metadata.Name == ourPlugin || runsLadder(s.pluginYAML)
	case len(command) > 0 && path.Base(command[0]) == program, len(command) == 0 && (isNamed || len(args) > 0 && args[0] == "serve"):
		s.isLadder = true
		if len(command) == 0 {
			words = append([]string{program}, words...)
		}
		if len(words) == 1 && len(command) == 0 {
			words = append(words, "serve") // the default command of the image
		}
		if len(words) > 1 && words[1] == "serve" {
			s.serves = true
			s.flags, s.flagsErr = i.serve(s, words[2:])
			s.plugin, s.hasDiscovery = s.flags.Plugin, s.flags.Discovery
		}
	default:
		s.isLadder = isNamed
	}
	return s
}

func isNamedLadder(c node) bool {
	return c.name() == ourPlugin || strings.Contains(imageOf(c.Get("image").Text()).base, ourPlugin)
}

func runsLadder(p pluginYAML) bool {
	return len(p.Spec.Generate.Command) > 0 && path.Base(p.Spec.Generate.Command[0]) == program
}

// serve parses the flags of "cmp serve".
func (i *installation) serve(s *sidecar, args []string) (Flags, error) {
	if i.ParseServe == nil {
		return Flags{}, finding.Finding{Message: "its flags cannot be checked"}
	}
	env := map[string]string{}
	for name, value := range s.env {
		env[name] = value.Text()
	}
	return i.ParseServe(args, env)
}

// readPluginYAML reads the plugin.yaml of the stock server.
func (i *installation) readPluginYAML(w *workload, s *sidecar) {
	s.config, s.mounted = i.textAt(w, s.node, pluginConfig)
	chartPlugin, ok := i.chartPlugins[s.config.mount.Get("subPath").Text()]
	if ok && w.volumes[s.config.mount.name()].configMap == "argocd-cmp-cm" {
		// The chart adds the name and the surrounding fields.
		s.config.source, s.config.found, s.config.problem = chartPlugin, true, ""
		text, err := chartPlugin.YAML()
		if err == nil && yaml.Unmarshal([]byte(text), &s.pluginYAML.Spec) == nil {
			s.pluginYAML.Kind, s.pluginYAML.Metadata.Name = "ConfigManagementPlugin",
				strings.TrimSuffix(s.config.mount.Get("subPath").Text(), ".yaml")
		}
	} else if s.config.found {
		if err := yaml.Unmarshal([]byte(s.config.text), &s.pluginYAML); err != nil {
			s.config.problem = "not valid YAML"
		}
	}
	if s.config.found && s.config.problem == "" {
		s.plugin, s.hasDiscovery = s.pluginYAML.pluginName(), s.pluginYAML.discovers()
	}
}
