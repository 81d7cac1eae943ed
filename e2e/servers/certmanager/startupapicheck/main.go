// Command startupapicheck is what the hook of cert-manager's chart runs: it waits until
// a Certificate can be created. Its arguments are "check api --wait=1m".
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util/cmapichecker"
)

func main() {
	logs.InitLogs()
	ctrl.SetLogger(logs.Log)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println("The cert-manager API is ready")
}

func run(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("startupapicheck", pflag.ContinueOnError)
	timeout := flags.Duration("wait", 0, "how long the API may take to be ready")
	flags.StringP("v", "v", "", "verbosity, which is ignored")
	flags.Lookup("v").NoOptDefVal = "2"
	if err := flags.Parse(args); err != nil {
		return err
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return err
	}
	checker, err := cmapichecker.New(restConfig, string(namespace))
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 5*time.Second, *timeout, true, func(ctx context.Context) (bool, error) {
		if last = checker.Check(ctx); last != nil {
			logs.Log.Info("not ready", "error", last.Error())
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}
