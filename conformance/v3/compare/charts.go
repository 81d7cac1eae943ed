package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What the project holds itself to.
const (
	limitCold     = 0.5  // of the stock server's time
	limitWarm     = 1.1  // of the floor's
	limitValue    = 0.25 // of the stock server's, if a value changed
	limitTemplate = 0.3
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
	fmt.Println("| chart | files | packed | answer | stock | constant | floor | cold | warm | cold : stock | " +
		"warm : constant | warm : floor | peak memory: stock, floor, cold, warm |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	var changed strings.Builder
	for _, chart := range c.charts {
		progress("chart %s", chart.name)
		if err := c.measureChart(ctx, chart, &changed); err != nil {
			return fmt.Errorf("%s: %w", chart.name, err)
		}
	}
	fmt.Printf("\nLimits: cold : stock %.1f, warm : constant %.1f (and the floor is what no server can reach).\n\n", limitCold, limitWarm)
	fmt.Println("The same by what the commit changes, and the processor time of the servers, which counts less of what else runs.")
	fmt.Println()
	fmt.Println(
		"| chart | changed | stock | cold | warm | cold : stock | warm : stock | processor: stock, cold, warm | cold : stock | warm : stock |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	fmt.Println(changed.String())
	fmt.Printf("Limits: warm : stock %.2f for a value, %.2f for a template.\n\n", limitValue, limitTemplate)
	return nil
}

// measureChart prints the row of a chart, and writes its rows by changes to changed.
func (c *comparison) measureChart(ctx context.Context, chart chart, changed *strings.Builder) error {
	dir := filepath.Join(c.dir, "chart")
	defer os.RemoveAll(dir)
	repo := checkout{root: filepath.Join(dir, "checkout")}
	if err := os.CopyFS(filepath.Join(repo.root, "component"), os.DirFS(chart.dir)); err != nil {
		return err
	}
	if err := repo.next(nothing); err != nil {
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

	of, err := c.measureInTurn(ctx, []*server{stock, floor, cold, warm, constant}, &repo, nothing)
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
	ms := func(i int) float64 { return inMS(median(of[i].took)) }
	fmt.Printf(
		"| %s | %d, %s | %s, %.1f ms | %d, %s | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.2f | %.2f | %.2f | %s, %s, %s, %s |\n",
		chart.name, files, inBytes(bytes), inBytes(sent), inMS(packing), len(answer), inBytes(int64(size)), ms(0), ms(4), ms(1),
		ms(2), ms(3), ms(2)/ms(0), ms(3)/ms(4), ms(3)/ms(1),
		inBytes(of[0].memory), inBytes(of[1].memory), inBytes(of[2].memory), inBytes(of[3].memory))
	printChange(changed, chart, nothing, []measured{of[0], of[2], of[3]})
	return c.measureChanges(ctx, chart, []*server{stock, cold, warm}, &repo, changed)
}

// measureChanges writes the rows of a chart whose own files change.
func (c *comparison) measureChanges(ctx context.Context, chart chart, servers []*server, repo *checkout, to *strings.Builder) error {
	for _, what := range []change{aValue, aTemplate} {
		of, err := c.measureInTurn(ctx, servers, repo, what)
		if err != nil {
			return err
		}
		printChange(to, chart, what, of)
	}
	return nil
}

// printChange writes the row of a change, of the stock server, the cold and the warm one.
func printChange(to *strings.Builder, chart chart, what change, of []measured) {
	ms := func(i int) float64 { return inMS(median(of[i].took)) }
	cpu := func(i int) float64 { return inMS(of[i].cpu) }
	fmt.Fprintf(to, "| %s | %s | %.1f ms | %.1f ms | %.1f ms | %.2f | %.2f | %.1f, %.1f, %.1f ms | %.2f | %.2f |\n", chart.name,
		what, ms(0), ms(1), ms(2),
		ms(1)/ms(0), ms(2)/ms(0), cpu(0), cpu(1), cpu(2), cpu(1)/cpu(0), cpu(2)/cpu(0))
}

// measured is what the requests to a server took.
type measured struct {
	took   []time.Duration // each
	cpu    time.Duration   // of its processes, in the mean
	memory int64           // the most
}

// measureInTurn asks servers in turn, each time with a new commit.
func (c *comparison) measureInTurn(ctx context.Context, servers []*server, repo *checkout, what change) ([]measured, error) {
	all := make([]measured, len(servers))
	before := make([]time.Duration, len(servers))
	for round := range warmUps + c.rounds {
		for position := range servers {
			// Nobody always follows the same one.
			i := (position + round) % len(servers)
			if err := repo.next(what); err != nil {
				return nil, err
			}
			if round == warmUps {
				before[i] = servers[i].cpuTime()
			}
			o, err := servers[i].requestAll(ctx, []request{{app: appName, root: repo.root, path: "component",
				commit: repo.commit}}, 1, chartTimeout)
			if err != nil {
				return nil, err
			}
			all[i].memory = max(all[i].memory, o.memory)
			if round >= warmUps {
				all[i].took = append(all[i].took, o.all)
			}
		}
	}
	for i, s := range servers {
		all[i].cpu = (s.cpuTime() - before[i]) / time.Duration(c.rounds)
	}
	return all, nil
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
