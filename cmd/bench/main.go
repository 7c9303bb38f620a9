// Command bench prints how fast the lab's own parts are, as ratios against a peer
// or a floor that is measured in the same run, in turn. `make bench` calls it.
//
//	go run ./cmd/bench                     every row
//	go run ./cmd/bench -rows 'redlock'     the rows whose name matches
//	go run ./cmd/bench viewers             what it costs a run that 20 look at its page
//	go run ./cmd/bench -check              exit 2 if a figure to reach is missed
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// rows is the whole table.
func rows() []row {
	return slices.Concat(
		redlockRows(), redisRows(), postgresRows(), etcdRows(), zookeeperRows(), raftRows(),
		multiphaseRows(), linkRows(), workloadRows(),
	)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "viewers" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err := runViewers(ctx, os.Args[2:])
		stop()
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench viewers: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) < 4 || os.Args[1] != "peer" {
		os.Exit(run())
	}
	// This is a subject's other process, which ends with its input.
	serve := map[string]func(ctx context.Context, config string) error{"raft": serveRaft, "zookeeper": serveZookeeper, "multiphase": serveMultiphase, "viewers": lookAt}[os.Args[2]]
	if err := serve(context.Background(), os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "bench peer %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
}

func run() int {
	rounds := flag.Int("rounds", 6, fmt.Sprintf("counted rounds per row, after one that warms up; %d times as many where these leave open whether a figure is reached", patience))
	each := flag.Duration("each", time.Second, "how long one measurement takes")
	pattern := flag.String("rows", "", "regular expression: only rows whose name matches")
	check := flag.Bool("check", false, "exit 2 if a figure to reach is surely missed")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	if err != nil || *rounds < 1 || *each <= 0 || flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: -rows wants a regular expression, -rounds and -each more than 0, and nothing else: %v %v\n", err, flag.Args())
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	fmt.Printf("ratios are medians of %d interleaved rounds of %v, or of %d where these leave open whether the figure to reach is, [interval of the median, at 95 %% from 6 rounds on]; open: so do all rounds\n",
		*rounds, *each, patience**rounds)
	missed, failed := 0, 0
	for _, r := range rows() {
		if !match.MatchString(r.name) {
			continue
		}
		out, err := measure(ctx, r, *rounds, *each)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			failed++
			if ctx.Err() != nil {
				return 130
			}
			continue
		}
		out.print(os.Stdout)
		if out.missed() {
			missed++
		}
	}
	switch {
	case failed > 0:
		return 1
	case missed > 0 && *check:
		return 2
	}
	return 0
}
