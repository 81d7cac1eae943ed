// Package provider does for a node what a cloud does for a cluster: it makes the volumes
// that PVCs ask for, and gives Services of type LoadBalancer an address. Both are
// controllers in this process that run until their context ends.
package provider

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// userAgent is how the audit log names the writes of this package.
const userAgent = "ladder-provider"

// retry is how long a provider waits after an error before it looks again.
const retry = time.Second

// run calls reconcile once what the informers read is there, and after each change of
// it. Errors go to log, and reconcile is called again.
func run(ctx context.Context, log io.Writer, factory informers.SharedInformerFactory, read []cache.SharedIndexInformer,
	reconcile func(context.Context) error) error {
	changed := make(chan struct{}, 1)
	change := func() {
		select {
		case changed <- struct{}{}:
		default: // one look is due already
		}
	}
	for _, informer := range read {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { change() },
			UpdateFunc: func(any, any) { change() },
			DeleteFunc: func(any) { change() },
		}); err != nil {
			return err
		}
	}
	factory.StartWithContext(ctx)
	go func() {
		factory.WaitForCacheSync(ctx.Done())
		for ctx.Err() == nil {
			var again <-chan time.Time
			if err := reconcile(ctx); err != nil {
				fmt.Fprintln(log, time.Now().Format(time.TimeOnly), err)
				again = time.After(retry)
			}
			select {
			case <-changed:
			case <-again:
			case <-ctx.Done():
			}
		}
		factory.Shutdown()
	}()
	return nil
}

func connect(config *rest.Config) (kubernetes.Interface, informers.SharedInformerFactory, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	return client, informers.NewSharedInformerFactory(client, 0), nil
}
