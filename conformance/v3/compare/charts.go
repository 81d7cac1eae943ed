package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// What the project holds itself to.
const (
	limitCold = 0.5 // of the stock server's time
	limitWarm = 1.1 // of the floor's
)

// chart is a directory with a name for the table.
type chart struct{ name, dir string }

// warmUps is how many requests are not counted.
const warmUps = 3

// chartTimeout is how long one request may take.
const chartTimeout = time.Minute

// measureCharts makes requests in turn, each for a new commit that leaves the
// component as it was.
func (c *comparison) measureCharts(ctx context.Context) error {
	fmt.Printf("One request at a time, each for a new commit; medians of %d.\n\n", c.rounds)
	fmt.Println("| chart | files | packed | answer | stock | constant | floor | cold | warm | cold : stock | warm : constant | warm : floor | peak memory: stock, floor, cold, warm |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, chart := range c.charts {
		progress("chart %s", chart.name)
		if err := c.measureChart(ctx, chart); err != nil {
			return fmt.Errorf("%s: %w", chart.name, err)
		}
	}
	fmt.Printf("\nLimits: cold : stock %.1f, warm : constant %.1f (and the floor is what no server can reach).\n\n", limitCold, limitWarm)
	return nil
}

func (c *comparison) measureChart(ctx context.Context, chart chart) error {
	dir := filepath.Join(c.dir, "chart")
	defer os.RemoveAll(dir)
	repo := checkout{root: filepath.Join(dir, "checkout")}
	if err := os.CopyFS(filepath.Join(repo.root, "component"), os.DirFS(chart.dir)); err != nil {
		return err
	}
	if err := repo.next(); err != nil {
		return err
	}

	stock, err := c.stock(filepath.Join(dir, "stock"))
	if err != nil {
		return err
	}
	defer stock.stop(c.programs)
	cold, err := c.cold(filepath.Join(dir, "cold"))
	if err != nil {
		return err
	}
	defer cold.stop(c.programs)
	warm, err := c.warm(filepath.Join(dir, "warm"))
	if err != nil {
		return err
	}
	defer warm.stop(c.programs)
	answer, err := cold.ask(ctx, request{app: appName, root: repo.root, path: "component", commit: repo.commit})
	if err != nil {
		return cold.explain(err)
	}
	floor, err := c.floor(filepath.Join(dir, "floor"), answer)
	if err != nil {
		return err
	}
	defer floor.stop(c.programs)

	constant, err := c.constant(filepath.Join(dir, "constant"), answer)
	if err != nil {
		return err
	}
	defer constant.stop(c.programs)

	took, memory, err := c.measureInTurn(ctx, []*server{stock, floor, cold, warm, constant}, &repo)
	if err != nil {
		return err
	}
	files, bytes, err := repo.size()
	if err != nil {
		return err
	}
	sent, packing, err := packingTime(repo.root)
	if err != nil {
		return err
	}
	size := 0
	for _, m := range answer {
		size += len(m)
	}
	ms := func(i int) float64 { return inMS(median(took[i])) }
	fmt.Printf("| %s | %d, %s | %s, %.1f ms | %d, %s | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.2f | %.2f | %.2f | %s, %s, %s, %s |\n",
		chart.name, files, inBytes(bytes), inBytes(sent), inMS(packing), len(answer), inBytes(int64(size)), ms(0), ms(4), ms(1), ms(2), ms(3), ms(2)/ms(0), ms(3)/ms(4), ms(3)/ms(1),
		inBytes(memory[0]), inBytes(memory[1]), inBytes(memory[2]), inBytes(memory[3]))
	return nil
}

// measureInTurn asks servers in turn, each time with a new commit, and returns how long each took
// and the most memory that each had.
func (c *comparison) measureInTurn(ctx context.Context, servers []*server, repo *checkout) (took [][]time.Duration, memory []int64, err error) {
	took = make([][]time.Duration, len(servers))
	memory = make([]int64, len(servers))
	for round := range warmUps + c.rounds {
		for position := range servers {
			// Nobody always follows the same one.
			i := (position + round) % len(servers)
			if err := repo.next(); err != nil {
				return nil, nil, err
			}
			o, err := servers[i].requestAll(ctx, []request{{app: appName, root: repo.root, path: "component", commit: repo.commit}}, 1, chartTimeout)
			if err != nil {
				return nil, nil, err
			}
			memory[i] = max(memory[i], o.memory)
			if round >= warmUps {
				took[i] = append(took[i], o.all)
			}
		}
	}
	return took, memory, nil
}

// packingTime is the client's share of a request, and how much it then sends.
func packingTime(root string) (bytes int64, took time.Duration, err error) {
	var all []time.Duration
	for range 5 {
		start := time.Now()
		a, err := pack(root)
		if err != nil {
			return 0, 0, err
		}
		all = append(all, time.Since(start))
		bytes = a.size()
	}
	return bytes, median(all), nil
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// inBytes writes a number of bytes as people read it.
func inBytes(n int64) string {
	switch {
	case n >= 100<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
