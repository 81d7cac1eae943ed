package node

import (
	"context"
	"net/netip"
	"os"

	"k8s.io/client-go/rest"

	"github.com/ladder-cmp/ladder/e2e/node/provider"
)

// firstBalancer is the first address of a load balancer.
var firstBalancer = netip.MustParseAddr("10.201.0.1")

// providers are controllers that run in this process.
type providers struct {
	cancel context.CancelFunc
	log    *os.File
}

func (n *Node) startProviders(context.Context) error {
	log, err := os.Create(n.file("providers.log"))
	if err != nil {
		return err
	}
	// They run until the node stops, whatever becomes of the context of its start.
	ctx, cancel := context.WithCancel(context.Background())
	n.providers = &providers{cancel, log}
	config := rest.CopyConfig(n.Config)
	config.BearerToken = n.tokens[programs]
	if err := provider.Volumes(ctx, config, n.file("volumes"), log); err != nil {
		return err
	}
	if !n.opts.LoadBalancers {
		return nil
	}
	return provider.LoadBalancers(ctx, config, firstBalancer, log)
}

func (p *providers) stop() error {
	p.cancel()
	return p.log.Close()
}
