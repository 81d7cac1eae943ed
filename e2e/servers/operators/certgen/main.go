// Command certgen is what the hooks of charts with webhooks run: "create" makes a
// serving certificate with its CA in a Secret if there is none, "patch" writes the CA
// into webhook configurations. Its flags are those of kube-webhook-certgen, which
// cannot be had as a module.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	admission "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

type options struct {
	hosts, namespace, secret    string
	webhook, failurePolicy      string
	caKey, certKey, privateKey  string
	patchMutating, patchChecked bool
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := pflag.NewFlagSet("certgen", pflag.ContinueOnError)
	flags.StringVar(&o.hosts, "host", "", "DNS names of the certificate, separated by commas")
	flags.StringVar(&o.namespace, "namespace", "", "of the Secret")
	flags.StringVar(&o.secret, "secret-name", "", "")
	flags.StringVar(&o.webhook, "webhook-name", "", "of the webhook configurations")
	flags.StringVar(&o.failurePolicy, "patch-failure-policy", "", "")
	flags.StringVar(&o.caKey, "ca-name", "ca", "key of the Secret")
	flags.StringVar(&o.certKey, "cert-name", "cert", "key of the Secret")
	flags.StringVar(&o.privateKey, "key-name", "key", "key of the Secret")
	flags.BoolVar(&o.patchMutating, "patch-mutating", true, "")
	flags.BoolVar(&o.patchChecked, "patch-validating", true, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "create":
		return o.create(ctx, client)
	case "patch":
		return o.patch(ctx, client)
	}
	return fmt.Errorf("command %q is unknown; fix: use create or patch", flags.Arg(0))
}

func (o *options) create(ctx context.Context, client kubernetes.Interface) error {
	secrets := client.CoreV1().Secrets(o.namespace)
	_, err := secrets.Get(ctx, o.secret, metav1.GetOptions{})
	if err == nil {
		log.Printf("Secret %s/%s is there", o.namespace, o.secret)
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	ca, cert, key, err := serving(strings.Split(o.hosts, ","))
	if err != nil {
		return err
	}
	_, err = secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: o.secret},
		Data:       map[string][]byte{o.caKey: ca, o.certKey: cert, o.privateKey: key},
	}, metav1.CreateOptions{})
	return err
}

func (o *options) patch(ctx context.Context, client kubernetes.Interface) error {
	secret, err := client.CoreV1().Secrets(o.namespace).Get(ctx, o.secret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ca := secret.Data[o.caKey]
	if len(ca) == 0 {
		return fmt.Errorf("Secret %s/%s has no %s", o.namespace, o.secret, o.caKey)
	}
	return errors.Join(o.patchValidatingWebhooks(ctx, client, ca), o.patchMutatingWebhooks(ctx, client, ca))
}

func (o *options) patchValidatingWebhooks(ctx context.Context, client kubernetes.Interface, ca []byte) error {
	if !o.patchChecked {
		return nil
	}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	c, err := configurations.Get(ctx, o.webhook, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range c.Webhooks {
		c.Webhooks[i].ClientConfig.CABundle = ca
		o.setPolicy(&c.Webhooks[i].FailurePolicy)
	}
	_, err = configurations.Update(ctx, c, metav1.UpdateOptions{})
	return err
}

func (o *options) patchMutatingWebhooks(ctx context.Context, client kubernetes.Interface, ca []byte) error {
	if !o.patchMutating {
		return nil
	}
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := configurations.Get(ctx, o.webhook, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range c.Webhooks {
		c.Webhooks[i].ClientConfig.CABundle = ca
		o.setPolicy(&c.Webhooks[i].FailurePolicy)
	}
	_, err = configurations.Update(ctx, c, metav1.UpdateOptions{})
	return err
}

func (o *options) setPolicy(policy **admission.FailurePolicyType) {
	if o.failurePolicy != "" {
		wanted := admission.FailurePolicyType(o.failurePolicy)
		*policy = &wanted
	}
}

// serving makes a CA and a certificate for hosts, all as PEM.
func serving(hosts []string) (ca, cert, key []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	hostKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "certgen"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, hostKey.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(hostKey)
	if err != nil {
		return nil, nil, nil, err
	}
	return encode("CERTIFICATE", caDER), encode("CERTIFICATE", leafDER), encode("EC PRIVATE KEY", keyDER), nil
}

func encode(kind string, der []byte) []byte {
	return bytes.TrimSpace(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
