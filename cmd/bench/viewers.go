package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/workloads/result"
)

// viewersRun is what the live page costs: the same comparison with nobody, with many who
// look, and with nobody again, in turn. The difference of the two without is the noise that
// a difference must stand out of.
type viewersRun struct {
	binary, lock, scenario, rate, seed string
	duration                           time.Duration
	viewers, rounds                    int
}

// viewersFigures are what must not change when somebody looks.
func viewersFigures() []string {
	return []string{"served per second", "availability %", "request p50 ms", "request p99 ms"}
}

func runViewers(ctx context.Context, args []string) error {
	var c viewersRun
	fl := flag.NewFlagSet("bench viewers", flag.ContinueOnError)
	fl.StringVar(&c.binary, "locklab", "bin/locklab", "the program")
	fl.StringVar(&c.lock, "lock", "multiphase", "the lock")
	fl.StringVar(&c.scenario, "scenario", "baseline", "the scenario")
	fl.StringVar(&c.rate, "rate", "300", "requests per second")
	fl.StringVar(&c.seed, "seed", "1", "of all runs")
	fl.DurationVar(&c.duration, "duration", 20*time.Second, "of each run")
	fl.IntVar(&c.viewers, "viewers", 20, "how many look in every third run")
	fl.IntVar(&c.rounds, "rounds", 5, "of three runs: without, with, without")
	if err := fl.Parse(args); err != nil {
		return err
	}
	if c.rounds < 1 || c.viewers < 1 || fl.NArg() > 0 {
		return errors.New("-rounds and -viewers want more than 0, and there is nothing else")
	}
	const before, looked, after = 0, 1, 2
	var all [3][][]float64                       // the figures of each run
	line := func(about string, cells []string) { // at once, for who waits
		fmt.Printf("%-12s", about)
		for _, cell := range cells {
			fmt.Printf("%19s", cell)
		}
		fmt.Println()
	}
	line("viewers", viewersFigures())
	for round := range c.rounds {
		for i := range all {
			kind, viewers := (round+i)%len(all), 0
			if kind == looked {
				viewers = c.viewers
			}
			got, err := c.once(ctx, viewers)
			if err != nil {
				return fmt.Errorf("with %d viewers: %w", viewers, err)
			}
			all[kind] = append(all[kind], got)
			line(strconv.Itoa(viewers), formatAll("%.2f", got))
		}
	}
	without, with := medians(slices.Concat(all[before], all[after])), medians(all[looked])
	line("median, 0", formatAll("%.2f", without))
	line(fmt.Sprintf("median, %d", c.viewers), formatAll("%.2f", with))
	line("change %", formatAll("%+.2f", percents(without, with)))
	line("noise %", formatAll("%+.2f", percents(medians(all[before]), medians(all[after]))))
	return nil
}

// percents are in percent of what was before.
func percents(before, after []float64) (all []float64) {
	for i := range before {
		all = append(all, 100*(after[i]/before[i]-1))
	}
	return all
}

func formatAll(format string, values []float64) (words []string) {
	for _, v := range values {
		words = append(words, fmt.Sprintf(format, v))
	}
	return words
}

func medians(runs [][]float64) (all []float64) {
	for i := range viewersFigures() {
		var column []float64
		for _, r := range runs {
			column = append(column, r[i])
		}
		all = append(all, median(column))
	}
	return all
}

// once runs the comparison while so many look at its page.
func (c *viewersRun) once(ctx context.Context, viewers int) (figures []float64, err error) {
	dir, err := os.MkdirTemp("", "viewers-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	into := filepath.Join(dir, "run")
	cmd := exec.CommandContext(ctx, c.binary, "run", "--ui", "127.0.0.1:0", "--locks", c.lock, "--scenarios", c.scenario, "--rate", c.rate, //nolint:gosec // the user's own program
		"--duration", c.duration.String(), "--seed", c.seed, "--out", into)
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(said)
	address := regexp.MustCompile(`live page at (http://\S+)`)
	var looking *exec.Cmd
	for lines.Scan() {
		if at := address.FindStringSubmatch(lines.Text()); at != nil && viewers > 0 {
			// Who looks sits elsewhere: here they take what the run leaves.
			looking = exec.CommandContext(ctx, "nice", "-n", "19", os.Args[0], "peer", "viewers", strconv.Itoa(viewers)+" "+at[1]) //nolint:gosec // this program
			looking.Stderr = os.Stderr
			if err := looking.Start(); err != nil {
				return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
			}
		}
	}
	ended := cmd.Wait() // its code is the verdict's: what counts is whether there is a result
	var failed error
	if looking != nil {
		failed = looking.Wait()
	}
	file, err := result.Read(filepath.Join(into, "result.json"))
	if err = errors.Join(failed, err); err != nil {
		return nil, errors.Join(err, ended)
	}
	if len(file.Rows) != 1 {
		return nil, fmt.Errorf("the result has %d rows, want 1", len(file.Rows))
	}
	row := file.Rows[0]
	for _, name := range []string{"achieved_per_s", "served", "request_p50_ms", "request_p99_ms"} {
		value, known := row.Of(name)
		if !known {
			value = math.NaN()
		}
		figures = append(figures, value)
	}
	figures[1] *= 100
	return figures, nil
}

// lookAt is the other process of viewers: so many look at a page, by its address, until its
// run is over.
func lookAt(ctx context.Context, config string) error {
	var n int
	var url string
	if _, err := fmt.Sscan(config, &n, &url); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	for i := range n {
		all.Go(func() error { return look(ctx, url+"/events?lang="+[]string{"en", "ko"}[i%2]) })
	}
	return all.Wait()
}

// look reads what a browser would until the run is over.
func look(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	read, err := io.Copy(io.Discard, response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || read == 0) {
		err = fmt.Errorf("%s, %d bytes: want events", response.Status, read)
	}
	return errors.Join(err, response.Body.Close())
}
