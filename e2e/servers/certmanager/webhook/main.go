// Command webhook is cert-manager's webhook.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cert-manager/cert-manager/internal/apis/config/webhook/validation"
	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util/feature"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logs.InitLogs()
	defer logs.FlushLogs()
	ctrl.SetLogger(logs.Log)
	if err := run(logs.NewContext(ctx, logs.Log, "webhook"), os.Args[1:]); err != nil {
		logs.Log.Error(err, "the webhook ends")
		logs.FlushLogs()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	c, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	options.AddConfigFlags(flags, c)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := feature.DefaultMutableFeatureGate.SetFromMap(c.FeatureGates); err != nil {
		return err
	}
	if faults := validation.ValidateWebhookConfiguration(c, nil); len(faults) > 0 {
		return faults.ToAggregate()
	}
	if err := logs.ValidateAndApply(&c.Logging); err != nil {
		return err
	}
	server, err := webhook.NewCertManagerWebhookServer(logs.FromContext(ctx), *c)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
