// Command cainjector is cert-manager's CA injector, with the flags that its chart sets.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/cli/flag"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	config "github.com/cert-manager/cert-manager/internal/apis/config/cainjector"
	"github.com/cert-manager/cert-manager/internal/apis/config/cainjector/scheme"
	configv1 "github.com/cert-manager/cert-manager/pkg/apis/config/cainjector/v1alpha1"
	certmanager "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
	"github.com/cert-manager/cert-manager/pkg/util/feature"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logs.InitLogs()
	defer logs.FlushLogs()
	ctrl.SetLogger(logs.Log)
	if err := command(logs.NewContext(ctx, logs.Log, "cainjector"), os.Args[1:]); err != nil {
		logs.Log.Error(err, "the CA injector ends")
		logs.FlushLogs()
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	c, err := configured(args)
	if err != nil {
		return err
	}
	if err := feature.DefaultMutableFeatureGate.SetFromMap(c.FeatureGates); err != nil {
		return err
	}
	if err := logs.ValidateAndApply(&c.Logging); err != nil {
		return err
	}
	return run(ctx, c)
}

// configured is cert-manager's default configuration with the flags of the chart.
func configured(args []string) (*config.CAInjectorConfiguration, error) {
	known, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	versioned, c := &configv1.CAInjectorConfiguration{}, &config.CAInjectorConfiguration{}
	known.Default(versioned)
	if err := known.Convert(versioned, c, nil); err != nil {
		return nil, err
	}
	flags := pflag.NewFlagSet("cainjector", pflag.ContinueOnError)
	flags.StringVar(&c.Namespace, "namespace", c.Namespace, "")
	flags.BoolVar(&c.LeaderElectionConfig.Enabled, "leader-elect", c.LeaderElectionConfig.Enabled, "")
	flags.StringVar(&c.LeaderElectionConfig.Namespace, "leader-election-namespace", c.LeaderElectionConfig.Namespace, "")
	flags.DurationVar(&c.LeaderElectionConfig.LeaseDuration, "leader-election-lease-duration", c.LeaderElectionConfig.LeaseDuration, "")
	flags.DurationVar(&c.LeaderElectionConfig.RenewDeadline, "leader-election-renew-deadline", c.LeaderElectionConfig.RenewDeadline, "")
	flags.DurationVar(&c.LeaderElectionConfig.RetryPeriod, "leader-election-retry-period", c.LeaderElectionConfig.RetryPeriod, "")
	flags.StringVar(&c.MetricsListenAddress, "metrics-listen-address", c.MetricsListenAddress, "")
	flags.Var(flag.NewMapStringBool(&c.FeatureGates), "feature-gates", "")
	logs.AddFlags(&c.Logging, flags)
	return c, flags.Parse(args)
}

func run(ctx context.Context, c *config.CAInjectorConfiguration) error {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kubernetes.AddToScheme, certmanager.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		if err := add(known); err != nil {
			return err
		}
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(restConfig, "cainjector"), ctrl.Options{
		Scheme: known,
		Cache:  cache.Options{ReaderFailOnMissingInformer: true},
		// Secrets are many and large; they are read one by one.
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		LeaderElection:                c.LeaderElectionConfig.Enabled,
		LeaderElectionNamespace:       c.LeaderElectionConfig.Namespace,
		LeaderElectionID:              "cert-manager-cainjector-leader-election",
		LeaderElectionReleaseOnCancel: true,
		LeaderElectionResourceLock:    resourcelock.LeasesResourceLock,
		LeaseDuration:                 &c.LeaderElectionConfig.LeaseDuration,
		RenewDeadline:                 &c.LeaderElectionConfig.RenewDeadline,
		RetryPeriod:                   &c.LeaderElectionConfig.RetryPeriod,
		Metrics:                       server.Options{BindAddress: c.MetricsListenAddress},
	})
	if err != nil {
		return err
	}
	if c.EnableDataSourceConfig.Certificates {
		if err := awaitCertificates(ctx, manager); err != nil {
			return err
		}
	}
	if err := cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		Namespace:                    c.Namespace,
		EnableCertificatesDataSource: c.EnableDataSourceConfig.Certificates,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   c.EnableInjectableConfig.MutatingWebhookConfigurations,
			cainjector.ValidatingWebhookConfigurationName: c.EnableInjectableConfig.ValidatingWebhookConfigurations,
			cainjector.APIServiceName:                     c.EnableInjectableConfig.APIServices,
			cainjector.CustomResourceDefinitionName:       c.EnableInjectableConfig.CustomResourceDefinitions,
		},
	}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// awaitCertificates waits up to five minutes for the CRD of Certificates, as the
// original does.
func awaitCertificates(ctx context.Context, manager ctrl.Manager) error {
	direct, err := client.New(manager.GetConfig(), client.Options{Scheme: manager.GetScheme(), Mapper: manager.GetRESTMapper()})
	if err != nil {
		return err
	}
	const crd = "certificates.cert-manager.io"
	err = wait.PollUntilContextTimeout(ctx, time.Second, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, types.NamespacedName{Name: crd}, &apiextensions.CustomResourceDefinition{})
		if apierrors.IsNotFound(err) {
			logs.FromContext(ctx).Info("waiting for a CRD", "name", crd)
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the CRD %s: %w", crd, err)
	}
	return nil
}
