// Package suite is what Argo CD and this plugin must agree on, for every major
// version of Argo CD alike.
//
// The cases start the program's own plugin server, cmp serve, and Argo CD's
// argocd-cmp-server with the repository's plugin.yaml, and ask both through
// [ArgoCD], which a module for each major version implements with Argo CD's
// own code. The package imports neither Argo CD nor the program: two major
// versions of the one need different dependencies, and of the other the
// built binary is tested.
package suite

import (
	"context"
	"path/filepath"
	"testing"
)

// ArgoCD is a major version of Argo CD, where it meets plugins. It finds the
// socket of a plugin in the directory that ARGOCD_PLUGINSOCKFILEPATH names.
type ArgoCD interface {
	// Generate returns the manifests of an Application in the form in which
	// the repo-server hands them to the controller.
	Generate(context.Context, Application) ([]string, error)
	// SourceType tells whether the repo-server takes an Application for Helm,
	// Kustomize, Directory or Plugin.
	SourceType(context.Context, Application) (string, error)
	// Dial connects to the plugin server behind a socket.
	Dial(socket string) (Plugin, error)
	// ReadConfig reads plugin.yaml in a directory.
	ReadConfig(dir string) (Config, error)
}

// Plugin is a connection to a plugin server, with a method for each call of
// the protocol.
type Plugin interface {
	CheckPluginConfiguration(context.Context) (Configuration, error)
	MatchRepository(context.Context, Repository) (Match, error)
	GetParametersAnnouncement(context.Context, Repository) ([]Parameter, error)
	GenerateManifest(context.Context, Repository) ([]string, error)
	Close() error
}

// Application is what the repo-server knows of an Application.
type Application struct {
	// Root is the checkout of the repository, and Path the Application's
	// directory below it.
	Root, Path string
	// Source is the Application's spec.source as people write it, without
	// repoURL and path.
	Source string
	Name   string
	// KubeVersion is empty when manifests are hydrated, without a cluster.
	KubeVersion string
	// GeneratePaths is the annotation manifest-generate-paths; unless it is
	// empty, only the directories that it names are sent.
	GeneratePaths string
	// SendsAll is an installation without the setting that makes the annotation
	// count for plugins (reposerver.plugin.use.manifest.generate.paths).
	SendsAll bool
}

// Repository is what goes over the stream of a call.
type Repository struct {
	Root, Path string
	Env        []string
	// Checksum, unless empty, is sent instead of the right one.
	Checksum string
	// Sending, unless nil, is called before each message with its number; the
	// first one is 0 and holds the metadata.
	Sending func(message int)
}

// Configuration is the answer to CheckPluginConfiguration.
type Configuration struct{ Discovery, GitCreds bool }

// Match is the answer to MatchRepository.
type Match struct{ Supported, Discovery bool }

// Parameter is a parameter as the UI learns of it.
type Parameter struct {
	Name, Title, Tooltip, ItemType, CollectionType string
	Required                                       bool
	String                                         string
	Array                                          []string
	Map                                            map[string]string
}

// Config is a plugin.yaml, as Argo CD understands it.
type Config struct {
	// Socket is where a server with this configuration listens.
	Socket     string
	Generate   []string
	Match      Configuration
	Parameters []Parameter
}

// Run proves that a version of Argo CD and the plugin understand one another.
// The test's package must begin with [Main].
func Run(t *testing.T, argo ArgoCD) {
	t.Setenv(keepAliveEnv, keepAlive)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := world{argo: argo, root: root, cmp: build(t, root)}
	w.serve = w.startServe(t)
	w.stock = w.startStock(t)

	// Begun first, so that the other cases run meanwhile.
	pingedStream := w.beginPingedStream(t)
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"configuration", w.configuration},
		{"parameters", w.parameters},
		{"components", w.components},
		{"applications", w.applications},
		{"errors", w.errors},
		{"discovery", w.discovery},
		{"unusual repository", w.unusualRepository},
		{"part of a repository", w.partOfRepository},
		{"paths of a repository", w.pathsOfRepository},
		{"large repository", w.largeRepository},
		{"cancelled stream", w.cancelledStream},
		{"deadline", w.deadline},
		{"at once", w.atOnce},
		{"patient stream", pingedStream},
	} {
		t.Run(c.name, c.run)
	}
}

// world is what the cases share.
type world struct {
	argo ArgoCD
	// root is the repository of the program, and cmp the program.
	root, cmp string
	// serve is the program's plugin server, and stock is Argo CD's with the
	// program's plugin.yaml.
	serve, stock server
}
