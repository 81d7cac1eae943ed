package cluster

import (
	"context"

	"github.com/ladder-cmp/ladder/e2e/program"
)

// Binaries are the programs that a cluster consists of.
type Binaries struct {
	APIServer string // kube-apiserver, built from e2e/servers/kubernetes
	Etcd      string // etcd, of the machine
}

// Build builds the kube-apiserver that e2e/servers/kubernetes pins and finds
// etcd. The first build takes some minutes; its result is kept in cacheDir. An empty
// cacheDir is the user's cache directory. It must be called from within the e2e
// module, as tests are.
func Build(ctx context.Context, cacheDir string) (b Binaries, err error) {
	if err := program.Find(program.OfMachine{Path: &b.Etcd, Name: "etcd", Package: "etcd-server"}); err != nil {
		return b, err
	}
	if cacheDir == "" {
		if cacheDir, err = program.Cache(); err != nil {
			return b, err
		}
	}
	b.APIServer, err = program.Build(ctx, program.Kubernetes("kube-apiserver"), cacheDir)
	return b, err
}
