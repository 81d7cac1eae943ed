package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// What grows.
var (
	growthFiles  = []int{10, 100, 1000, 10_000}
	growthAtOnce = []int{1, 4, 16, 64}
)

// growthLeast is how many requests are made at least.
const growthLeast = 8

// growthTimeout is how long a server may take for all requests of one figure,
// so that the whole ends some time.
const growthTimeout = time.Minute

// measureGrowth asks for the same component in larger and larger repositories,
// more and more at a time, for an Application each. The archives are packed
// before, and each is another commit to the server.
func (c *comparison) measureGrowth(ctx context.Context) error {
	fmt.Printf("Medians of a request, streams packed once, every request a commit of its own; a new server for each figure.\n\n")
	fmt.Println("| files | at once | stock | cold | warm | cold : stock | peak memory: stock, cold, warm |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, files := range growthFiles {
		dir := filepath.Join(c.dir, "growth")
		repo := checkout{root: filepath.Join(dir, "checkout")}
		const fillerSize = 2 << 10
		err := func() error {
			defer os.RemoveAll(dir)
			if err := writeChart(repo.root, "component", "web"); err != nil {
				return err
			}
			// All but those of the chart, and the one that changes.
			if err := writeFiller(repo.root, files-chartFiles-1, fillerSize); err != nil {
				return err
			}
			if err := repo.next(nothing); err != nil {
				return err
			}
			packed, err := pack(repo.root)
			if err != nil {
				return err
			}
			for _, atOnce := range growthAtOnce {
				progress("growth: %d files, %d at once", files, atOnce)
				if err := c.measureSize(ctx, dir, files, atOnce, packed); err != nil {
					return err
				}
			}
			return nil
		}()
		if err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

func (c *comparison) measureSize(ctx context.Context, dir string, files, atOnce int, packed archive) error {
	commit := 0
	requests := func() []request {
		all := make([]request, max(growthLeast, atOnce))
		for i := range all {
			commit++
			all[i] = request{app: fmt.Sprintf("app%d", i), root: dir, path: "component", commit: commit, archive: packed.as(commit)}
		}
		return all
	}
	var outcomes []outcome
	for _, start := range []func(string) (*server, error){c.stock, c.cold, c.warm} {
		s, err := start(filepath.Join(dir, "server"))
		if err != nil {
			return err
		}
		// The one with a memory must have seen every Application; the others
		// only warm up.
		before := requests()
		if s.name != "warm" {
			before = before[:1]
		}
		o, err := s.requestAll(ctx, before, atOnce, growthTimeout)
		if err == nil {
			o, err = s.requestAll(ctx, requests(), atOnce, growthTimeout)
		}
		s.stop(c.programs)
		if err != nil && !errors.Is(err, errTimeout) { // the table says so
			return err
		}
		outcomes = append(outcomes, o)
	}
	stock, cold, warm := outcomes[0], outcomes[1], outcomes[2]
	ratio := "-"
	if stock.took != nil && cold.took != nil {
		ratio = fmt.Sprintf("%.2f", inMS(cold.median())/inMS(stock.median()))
	}
	fmt.Printf("| %d | %d | %s | %s | %s | %s | %s, %s, %s |\n", files, atOnce, grown(stock), grown(cold), grown(warm), ratio,
		inBytes(stock.memory), inBytes(cold.memory), inBytes(warm.memory))
	return nil
}

// grown is the time of a request, if all of them were answered in time.
func grown(o outcome) string {
	if o.took == nil {
		return fmt.Sprintf("not done after %s", growthTimeout)
	}
	return fmt.Sprintf("%.0f ms", inMS(o.median()))
}
