package main

import (
	"flag"
	"fmt"
	"strings"
	"time"
)

// habits are what the operator does at start besides reconciling. Each is a habit of
// real operators.
type habits struct {
	// Waits for these before it is ready, as the webhook of external-secrets waits for
	// the certificate that its cert-controller writes.
	WaitFor refs
	// Exits while one of these is missing. The operator of Zalando's PostgreSQL exits
	// without the OperatorConfiguration or ConfigMap that it is told to read, Keycloak's
	// without its CRD, CloudNativePG's without its webhook configurations.
	Require refs
	// Is ready only while this exists, as Kong's gateway, which answers 503 at
	// /status/ready until it was given a configuration.
	ReadyWith refs
	// Is ready so long after it has started, as the JVM's and Python's operators are.
	ReadyAfter time.Duration
	// Is never ready, as Vault is until somebody unseals it.
	NeverReady bool
	// Installs its CRD itself, as the operators of Cilium and Crossplane do.
	InstallCRD bool
	// Writes the CA and the certificate of its webhook into this Secret, as CloudNativePG,
	// Gatekeeper and mariadb-operator do. A Secret that is there and empty is filled, as
	// Gatekeeper's chart has it.
	WebhookSecret string
	// Serves its webhook with tls.crt and tls.key of this directory, as operators made
	// with Kubebuilder serve with a Certificate of cert-manager.
	WebhookCertificate string
	// Writes its CA into this ValidatingWebhookConfiguration, and exits if that is not
	// there, as CloudNativePG's operator does.
	InjectCA string
	// Registers its webhook configuration itself, fail closed, and leaves it behind, as
	// Kyverno's admission controller does. It selects its own namespace only.
	RegisterWebhook bool
	// Name of the Service in front of the webhook.
	Service string
	// Image of the Deployments that it makes; they run "beacon light".
	LightImage string
}

// Webhook says whether it serves one.
func (h habits) Webhook() bool { return h.WebhookSecret != "" || h.WebhookCertificate != "" }

func parseHabits(args []string) (habits, error) {
	h := habits{Service: "beacon-webhook", LightImage: "registry.example.com/ladder/beacon:v1"}
	flags := flag.NewFlagSet("operate", flag.ContinueOnError)
	flags.Var(&h.WaitFor, "wait-for", "KIND/NAME that must exist before it starts; may be given several times")
	flags.Var(&h.Require, "require", "KIND/NAME without which it exits; may be given several times")
	flags.Var(&h.ReadyWith, "ready-with", "KIND/NAME without which it is not ready; may be given several times")
	flags.DurationVar(&h.ReadyAfter, "ready-after", 0, "time from the start until it is ready")
	flags.BoolVar(&h.NeverReady, "never-ready", false, "never become ready")
	flags.BoolVar(&h.InstallCRD, "install-crd", false, "install the CRD at start")
	flags.StringVar(&h.WebhookSecret, "webhook-secret", "", "Secret to which it writes the certificate of its webhook")
	flags.StringVar(&h.WebhookCertificate, "webhook-certificate", "", "directory of the certificate of its webhook")
	flags.StringVar(&h.InjectCA, "inject-ca", "", "ValidatingWebhookConfiguration to which it writes its CA")
	flags.BoolVar(&h.RegisterWebhook, "register-webhook", false, "create the ValidatingWebhookConfiguration")
	flags.StringVar(&h.Service, "service", h.Service, "Service of the webhook")
	flags.StringVar(&h.LightImage, "light-image", h.LightImage, "image of the Deployments that it makes")
	if err := flags.Parse(args); err != nil {
		return habits{}, err
	}
	if flags.NArg() > 0 {
		return habits{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if h.WebhookSecret != "" && h.WebhookCertificate != "" {
		return habits{}, fmt.Errorf("--webhook-secret and --webhook-certificate are mutually exclusive")
	}
	if (h.InjectCA != "" || h.RegisterWebhook) && h.WebhookSecret == "" {
		return habits{}, fmt.Errorf("--inject-ca and --register-webhook need --webhook-secret, since only then it has a CA")
	}
	return h, nil
}

// ref names an object that a habit is about: of the operator's namespace, if its kind
// has one.
type ref struct{ Kind, Name string }

func (r ref) String() string { return r.Kind + "/" + r.Name }

// refs is a flag that may be given several times.
type refs []ref

func (all *refs) String() string {
	var names []string
	for _, r := range *all {
		names = append(names, r.String())
	}
	return strings.Join(names, ",")
}

// Set adds KIND/NAME.
func (all *refs) Set(text string) error {
	kind, name, ok := strings.Cut(text, "/")
	if _, known := kinds[kind]; !ok || !known || name == "" {
		return fmt.Errorf("want KIND/NAME with a KIND of beacon, configmap, crd, secret or webhook")
	}
	*all = append(*all, ref{kind, name})
	return nil
}
