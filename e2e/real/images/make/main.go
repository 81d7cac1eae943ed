// Command make makes images before a suite asks for them, and prints what each costs:
//
//	go run ./real/images/make              # all
//	go run ./real/images/make redis nginx  # some
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ladder-cmp/ladder/e2e/program"
	"github.com/ladder-cmp/ladder/e2e/real/images"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, repositories []string) error {
	cache, err := program.Cache()
	if err != nil {
		return err
	}
	table, err := images.Open(ctx, cache)
	if err != nil {
		return err
	}
	if len(repositories) == 0 {
		repositories = table.Repositories()
	}
	for _, repository := range repositories {
		start := time.Now()
		made, err := table.Make(ctx, repository)
		if err != nil {
			return err
		}
		size, err := sizeOf(made)
		if err != nil {
			return err
		}
		fmt.Printf("%6.1f s %5d MiB  %s\n", time.Since(start).Seconds(), size>>20, repository)
	}
	return nil
}

func sizeOf(made v1.Image) (int64, error) {
	layers, err := made.Layers()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}
