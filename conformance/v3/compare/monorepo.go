package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	monorepoComponents = 1000
	monorepoBytes      = 50 << 20
	monorepoAtOnce     = 32
	// goalMonorepo is how many times the stock server's requests per second
	// the project wants.
	goalMonorepo = 5
	// monorepoTimeout is how long a server may take for all requests.
	monorepoTimeout = 10 * time.Minute
)

// measureMonorepo asks for different components of one large repository at the
// same time, as after a commit to it.
func (c *comparison) measureMonorepo(ctx context.Context) error {
	dir := filepath.Join(c.dir, "monorepo")
	defer os.RemoveAll(dir)
	repo := checkout{root: filepath.Join(dir, "checkout")}
	progress("monorepo: writing")
	component := func(i int) string { return fmt.Sprintf("components/%03d", i) }
	for i := range monorepoComponents {
		if err := writeChart(repo.root, component(i), fmt.Sprintf("app%03d", i)); err != nil {
			return err
		}
	}
	const fillerSize = 20 << 10
	if err := writeFiller(repo.root, monorepoBytes/fillerSize, fillerSize); err != nil {
		return err
	}
	// The same components each time, from all over the repository.
	requests := func(commit int, packed archive) []request {
		all := make([]request, c.requests)
		for i := range all {
			n := i * monorepoComponents / len(all) % monorepoComponents
			all[i] = request{app: fmt.Sprintf("app%03d-%d", n, i), root: repo.root, path: component(n), commit: commit, archive: packed}
		}
		return all
	}

	files, bytes, err := repo.size()
	if err != nil {
		return err
	}
	sent, packing, err := packingTime(repo.root)
	if err != nil {
		return err
	}
	fmt.Printf("%d components, %d files, %s, packed %s in %.0f ms; requests of different components, %d at the same time.\n\n",
		monorepoComponents, files, inBytes(bytes), inBytes(sent), inMS(packing), monorepoAtOnce)
	fmt.Println("| the stream is | server | requests | per second | : stock | median | worst | peak memory |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	if c.packing {
		if err := c.measureBatches(ctx, dir, &repo, archive{}, requests); err != nil {
			return err
		}
	}
	packed, err := pack(repo.root)
	if err != nil {
		return err
	}
	if err := c.measureBatches(ctx, dir, &repo, packed, requests); err != nil {
		return err
	}
	fmt.Printf("\nGoal: %d times the requests of the stock server.\n\n", goalMonorepo)
	return nil
}

// measureBatches has each server answer all requests, ours for a second commit,
// too. Unless packed is empty, it is what they are sent.
func (c *comparison) measureBatches(ctx context.Context, dir string, repo *checkout, packed archive,
	requests func(int, archive) []request) error {
	how := "packed for each request"
	if packed.rest != nil {
		how = "packed once"
	}
	var baseline float64
	batch := func(s *server, name string) error {
		progress("monorepo, %s: %s", how, name)
		o, err := s.requestAll(ctx, requests(repo.commit, packed.as(repo.commit)), monorepoAtOnce, monorepoTimeout)
		if err != nil {
			return err
		}
		if baseline == 0 {
			baseline = o.perSecond()
		}
		fmt.Printf("| %s | %s | %d | %.1f | %.1f | %.0f ms | %.0f ms | %s |\n",
			how, name, len(o.took), o.perSecond(), o.perSecond()/baseline, inMS(o.median()), inMS(o.worst()), inBytes(o.memory))
		return nil
	}

	stock, err := c.stock(filepath.Join(dir, "stock"))
	if err != nil {
		return err
	}
	err = batch(stock, "stock")
	stock.stop(c.programs)
	if err != nil {
		return err
	}
	ours, err := c.warm(filepath.Join(dir, "ours"))
	if err != nil {
		return err
	}
	defer ours.stop(c.programs)
	if err := batch(ours, "ours, the first commit"); err != nil {
		return err
	}
	if err := repo.next(nothing); err != nil {
		return err
	}
	return batch(ours, "ours, the next commit")
}
