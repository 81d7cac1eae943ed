// Command shop is a web application with a PostgreSQL database, as it is deployed: a Job that
// brings the schema, servers that exit without it, and a Job that asks the servers for
// something. With other flags it has the shape of Keycloak (brings its schema itself,
// starts slowly) and of Temporal (several servers on one schema).
//
//	shop migrate           creates the schema
//	shop serve             answers PUT and GET of /COLLECTION/NAME, and /readyz
//	shop put URL           puts something and reads it back, as a smoke test or an import
//
// The database is DATABASE_URL (the key uri of a Secret of CloudNativePG is one), or the
// variables PGHOST, PGUSER, PGPASSWORD, PGDATABASE of libpq, or what a file of settings says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// habits are what tells one such program from another.
type habits struct {
	// How long it tries what does not work at first, once a second. Zero fails at once, as
	// most migrations do; Keycloak and Temporal's servers exit, too.
	Timeout time.Duration
	// Brings the schema at start, as Keycloak does.
	Migrate bool
	// Is that slow to start, as a JVM is.
	Slow time.Duration
	Port int
	// Settings is a YAML file with database.host and database.name.
	Settings string
}

func run(ctx context.Context, args []string) error {
	usage := errors.New("usage: shop migrate, shop serve, or shop put URL")
	if len(args) == 0 {
		return usage
	}
	h := habits{Port: 8080}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.DurationVar(&h.Timeout, "patience", 0, "how long to try what does not work at first")
	if args[0] == "serve" {
		flags.BoolVar(&h.Migrate, "migrate", false, "create the schema at start")
		flags.DurationVar(&h.Slow, "slow", 0, "time that starting takes")
		flags.IntVar(&h.Port, "port", h.Port, "TCP port to listen on")
		flags.StringVar(&h.Settings, "settings", "", "YAML file that says where the database is")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if err := readSettings(h.Settings); err != nil {
		return err
	}
	switch {
	case args[0] == "migrate" && flags.NArg() == 0:
		return h.withStore(ctx, store.migrate)
	case args[0] == "serve" && flags.NArg() == 0:
		return serve(ctx, h)
	case args[0] == "put" && flags.NArg() == 1:
		client := &http.Client{Timeout: 10 * time.Second}
		return h.try(ctx, func(ctx context.Context) error { return put(ctx, client, flags.Arg(0)) })
	}
	return usage
}

// readSettings sets the variables of libpq that a file of settings decides, if there is one.
func readSettings(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	var settings struct {
		Database struct{ Host, Name string } `json:"database"`
	}
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return fmt.Errorf("reading the settings: %s: %w", file, err)
	}
	return errors.Join(os.Setenv("PGHOST", settings.Database.Host), os.Setenv("PGDATABASE", settings.Database.Name))
}

// withStore connects to the database and does something with it.
func (h habits) withStore(ctx context.Context, do func(store, context.Context) error) error {
	s, err := openStore(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer s.pool.Close()
	return h.try(ctx, func(ctx context.Context) error { return do(s, ctx) })
}

// serve answers requests until ctx ends. It exits if the schema is missing.
func serve(ctx context.Context, h habits) error {
	return h.withStore(ctx, func(s store, ctx context.Context) error {
		if h.Migrate {
			if err := s.migrate(ctx); err != nil {
				return err
			}
		}
		if err := s.check(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(h.Slow):
		}
		server := &http.Server{Addr: fmt.Sprintf(":%d", h.Port), Handler: handler(s)}
		defer context.AfterFunc(ctx, func() { server.Close() })()
		slog.Info("serving", "port", h.Port)
		if err := server.ListenAndServe(); ctx.Err() == nil {
			return err
		}
		return nil
	})
}

// try repeats something until it works or the patience ends.
func (h habits) try(ctx context.Context, do func(context.Context) error) error {
	end := time.Now().Add(h.Timeout)
	for {
		err := do(ctx)
		if err == nil || ctx.Err() != nil || !time.Now().Add(time.Second).Before(end) {
			return err
		}
		slog.Info("trying again", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
