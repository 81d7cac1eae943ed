// Command beacon is an operator with the habits of real ones, each behind a flag, so that the
// suite can see on a real node what an order of applies does to such a program.
//
//	beacon operate   reconciles Beacons: a ConfigMap, a Deployment and a Service for each
//	beacon light     what these Deployments run: answers requests with MESSAGE
//	beacon certify   writes the certificate of a webhook into a Secret and ends, as
//	                 kube-webhook-certgen and the certgen Jobs of Envoy Gateway and Contour do
//
// Flags may stand in BEACON_FLAGS, too: an image that sets it has habits that no
// manifest shows.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "beacon:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "light":
		return light(ctx, os.Getenv("MESSAGE"))
	case len(args) > 0 && (args[0] == "operate" || args[0] == "certify"):
		h, err := parseHabits(append(strings.Fields(os.Getenv("BEACON_FLAGS")), args[1:]...))
		if err != nil {
			return err
		}
		c, err := connect()
		if err != nil {
			return err
		}
		o := &operator{habits: h, cluster: c}
		if args[0] == "certify" {
			return o.certify(ctx)
		}
		return o.operate(ctx)
	}
	return fmt.Errorf("usage: beacon operate [flags], beacon certify [flags], or beacon light")
}

// light answers every request with the message.
func light(ctx context.Context, message string) error {
	return serve(ctx, &http.Server{Addr: ":8080", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, message)
	})})
}

// connect reaches the cluster that the Pod runs in.
func connect() (cluster, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return cluster{}, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return cluster{}, err
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return cluster{}, fmt.Errorf("finding the namespace of the Pod: %w", err)
	}
	return cluster{client: client, namespace: strings.TrimSpace(string(namespace))}, nil
}

// operate starts the operator with its habits and reconciles until it is told to stop.
func (o *operator) operate(parent context.Context) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	// The probes are answered from the beginning: what waits is alive, and not ready.
	go func() { stop(serve(ctx, &http.Server{Addr: ":8081", Handler: o.probes()})) }()
	if err := o.start(ctx); err != nil {
		return err
	}
	if o.habits.Webhook() {
		if err := o.prepareWebhook(ctx); err != nil {
			return err
		}
		go func() { stop(serve(ctx, o.webhookServer())) }()
	}
	o.started()
	slog.Info("started", "namespace", o.cluster.namespace)
	o.reconcileAll(ctx)
	if parent.Err() != nil {
		return nil // told to stop
	}
	return context.Cause(ctx)
}

// serve runs a server until ctx ends.
func serve(ctx context.Context, server *http.Server) error {
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if server.TLSConfig != nil {
		return server.ListenAndServeTLS("", "")
	}
	return server.ListenAndServe()
}
