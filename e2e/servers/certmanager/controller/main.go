// Command controller is cert-manager's controller with the issuers that need no one
// outside of the cluster, and the flags that its chart sets.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs/api/v1"

	"github.com/cert-manager/cert-manager/internal/pem"
	"github.com/cert-manager/cert-manager/pkg/controller"
	gateways "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/gateways"
	"github.com/cert-manager/cert-manager/pkg/healthz"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util/feature"

	// Controllers and issuers register themselves. Those of ACME, Vault and Venafi are
	// not here: they have to reach a server of theirs.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := command(logs.NewContext(ctx, logs.Log, "controller"), os.Args[1:]); err != nil {
		logs.Log.Error(err, "the controller ends")
		logs.FlushLogs()
		os.Exit(1)
	}
}

// settings are cert-manager's defaults with the flags of the chart. Its own
// configuration brings all controllers with it.
type settings struct {
	clusterNamespace string // of Secrets of ClusterIssuers
	election         struct {
		namespace                string
		lease, renewal, interval time.Duration
	}
	issuer      controller.IngressShimOptions
	ownerRef    bool
	gatewayAPI  bool
	controllers []string
	features    map[string]bool
	logging     v1.LoggingConfiguration
}

func command(ctx context.Context, args []string) error {
	s := settings{features: map[string]bool{}}
	v1.SetRecommendedLoggingConfiguration(&s.logging)
	if err := s.flags().Parse(args); err != nil {
		return err
	}
	if err := feature.DefaultMutableFeatureGate.SetFromMap(s.features); err != nil {
		return err
	}
	if err := logs.ValidateAndApply(&s.logging); err != nil {
		return err
	}
	pem.SetGlobalSizeLimits(pem.DefaultSizeLimits())
	return run(ctx, s)
}

func (s *settings) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	flags.StringVar(&s.clusterNamespace, "cluster-resource-namespace", "kube-system", "")
	flags.StringVar(&s.election.namespace, "leader-election-namespace", "kube-system", "")
	flags.DurationVar(&s.election.lease, "leader-election-lease-duration", time.Minute, "")
	flags.DurationVar(&s.election.renewal, "leader-election-renew-deadline", 40*time.Second, "")
	flags.DurationVar(&s.election.interval, "leader-election-retry-period", 15*time.Second, "")
	flags.StringVar(&s.issuer.DefaultIssuerName, "default-issuer-name", "", "")
	flags.StringVar(&s.issuer.DefaultIssuerKind, "default-issuer-kind", "Issuer", "")
	flags.StringVar(&s.issuer.DefaultIssuerGroup, "default-issuer-group", "cert-manager.io", "")
	flags.BoolVar(&s.ownerRef, "enable-certificate-owner-ref", false, "")
	flags.BoolVar(&s.gatewayAPI, "enable-gateway-api", false, "")
	flags.StringSliceVar(&s.controllers, "controllers", []string{"*"}, "")
	flags.Var(flag.NewMapStringBool(&s.features), "feature-gates", "")
	logs.AddFlags(&s.logging, flags)
	// What only ACME looks at.
	flags.String("acme-http01-solver-image", "", "")
	flags.Int("max-concurrent-challenges", 0, "")
	return flags
}

func run(ctx context.Context, s settings) error {
	group, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: s.clusterNamespace},
		IngressShimOptions: s.shim(),
		CertificateOptions: controller.CertificateOptions{
			EnableOwnerRef:                           s.ownerRef,
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
		ConfigOptions: controller.ConfigOptions{EnableGatewayAPI: s.gatewayAPI},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	health, err := serve(ctx, group, shared)
	if err != nil {
		return err
	}
	elected := make(chan struct{})
	group.Go(func() error { return s.lead(ctx, factory, health, func() { close(elected) }) })
	select {
	case <-ctx.Done():
		return group.Wait()
	case <-elected:
	}
	for name, start := range controller.Known() {
		if !s.enabled(name) {
			continue
		}
		started, err := start(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		group.Go(func() error { return started.Run(5, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	if s.gatewayAPI {
		shared.GWShared.Start(ctx.Done())
	}
	return group.Wait()
}

func (s *settings) shim() controller.IngressShimOptions {
	options := s.issuer
	options.DefaultAutoCertificateAnnotations = []string{"kubernetes.io/tls-acme"}
	return options
}

func (s *settings) enabled(name string) bool {
	if name == gateways.ControllerName {
		return s.gatewayAPI
	}
	enabled := false
	for _, choice := range s.controllers {
		if off, ok := strings.CutPrefix(choice, "-"); ok && off == name {
			return false
		}
		enabled = enabled || choice == "*" || choice == name
	}
	return enabled
}

// serve answers what probes and Prometheus ask.
func serve(ctx context.Context, group *errgroup.Group, shared *controller.Context) (*leaderelection.HealthzAdaptor, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "0.0.0.0:9403")
	if err != nil {
		return nil, err
	}
	health := healthz.NewServer(20 * time.Second)
	group.Go(func() error { return health.Start(ctx, listener) })
	metrics, err := new(net.ListenConfig).Listen(ctx, "tcp", "0.0.0.0:9402")
	if err != nil {
		return nil, err
	}
	server := shared.Metrics.NewServer(metrics)
	group.Go(func() error { return server.Serve(metrics) })
	context.AfterFunc(ctx, func() { server.Close() })
	return health.LeaderHealthzAdaptor, nil
}

// lead waits until this instance is the leader, and returns an error when it is one no
// more.
func (s *settings) lead(ctx context.Context, factory *controller.ContextFactory, health *leaderelection.HealthzAdaptor,
	elected func()) error {
	own, err := factory.Build("leader-election")
	if err != nil {
		return err
	}
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	lock, err := resourcelock.NewWithLabels(resourcelock.LeasesResourceLock, s.election.namespace, "cert-manager-controller",
		own.Client.CoreV1(), own.Client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity + "-external-cert-manager-controller", EventRecorder: own.Recorder},
		map[string]string{"app.kubernetes.io/managed-by": "cert-manager"})
	if err != nil {
		return err
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   s.election.lease,
		RenewDeadline:   s.election.renewal,
		RetryPeriod:     s.election.interval,
		ReleaseOnCancel: true,
		WatchDog:        health,
		Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { elected() }, OnStoppedLeading: func() {}},
	})
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("leader election lost")
}
