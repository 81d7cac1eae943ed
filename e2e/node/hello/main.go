// Command hello is what runs on the node in its own tests:
//
//	hello serve             answer requests
//	hello serve FILE        the same, once "hello" is written to a file
//	hello extend CERT KEY   answer as an admission webhook that refuses, and as an aggregated API
//	hello ask URL           send a request, and fail unless the answer is 200 OK
//	hello ask-api PATH      print how the API server answers this Pod's ServiceAccount
//	hello resolve NAME...   fail unless DNS knows all names; those that begin with _ are services
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	usage := errors.New("usage: hello serve|extend|ask|ask-api|resolve …")
	if len(args) == 0 {
		return usage
	}
	switch verb, args := args[0], args[1:]; {
	case verb == "serve" && len(args) == 0:
		return serve()
	case verb == "serve" && len(args) == 1:
		if err := os.WriteFile(args[0], []byte("hello"), 0o644); err != nil {
			return err
		}
		return serve()
	case verb == "extend" && len(args) == 2:
		return http.ListenAndServeTLS(":8443", args[0], args[1], http.HandlerFunc(extend))
	case verb == "ask" && len(args) == 1:
		return ask(args[0])
	case verb == "ask-api" && len(args) == 1:
		return askAPI(args[0])
	case verb == "resolve":
		return resolve(args)
	}
	return usage
}

func serve() error {
	return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") }))
}

func ask(url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}

func askAPI(path string) error {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	ca, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	request, err := http.NewRequest(http.MethodGet, "https://kubernetes.default.svc"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	fmt.Println("the API server answers", answer.Status)
	return nil
}

func resolve(names []string) error {
	var faults []error
	for _, name := range names {
		var err error
		if strings.HasPrefix(name, "_") {
			_, _, err = net.LookupSRV("", "", name)
		} else {
			_, err = net.LookupHost(name)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
