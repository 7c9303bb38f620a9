// Twoprocesses shows the multiphase lock between two processes over TCP. Each of them
// adds one to a number in a file, over and over: reads it, and writes one more. Without
// a lock, additions get lost; with it, none is.
//
//	go run ./locks/multiphase/examples/twoprocesses
//	go run ./locks/multiphase/examples/twoprocesses -lock=false
//
// It starts itself again as the second process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"locklab/locks/multiphase"
)

func main() {
	times := flag.Int("times", 500, "additions by each process")
	lock := flag.Bool("lock", true, "take the lock for each addition")
	rank := flag.Int("rank", 0, "of this process: 0, or 1 in the one that 0 starts")
	listen := flag.String("listen", "127.0.0.1:0", "address of this process")
	peer := flag.String("peer", "", "address of the other process; empty starts it")
	file := flag.String("file", "", "the file with the number; empty makes one")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*rank, *listen, *peer, *file, *times, *lock); err != nil {
		log.Fatal(err)
	}
}

func run(rank int, listen, peer, file string, times int, lock bool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	if peer == "" { // the first process
		dir, err := os.MkdirTemp("", "twoprocesses-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file = filepath.Join(dir, "number")
		if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
			return err
		}
		var second *exec.Cmd
		if peer, second, err = startSecond(ctx, listener.Addr().String(), file, times, lock); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, second.Wait(), report(file, 2*times)) }()
	}
	l, err := multiphase.New(multiphase.Config{
		ID: fmt.Sprint("process-", rank), Rank: rank, Cluster: "example", Listener: listener,
		Peers: []multiphase.Peer{{ID: fmt.Sprint("process-", 1-rank), Rank: 1 - rank, Addr: peer}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Ready(ctx); err != nil {
		return err
	}
	for range times {
		if err := addOne(ctx, l, file, lock); err != nil {
			return err
		}
	}
	return nil
}

// startSecond starts this program again, as the process of rank 1.
func startSecond(ctx context.Context, first, file string, times int, lock bool) (addr string, second *exec.Cmd, err error) {
	// The lower rank dials, so it must know where the other one will listen.
	var config net.ListenConfig
	free, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = free.Addr().String()
	if err := free.Close(); err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	second = exec.CommandContext(ctx, self, "-rank=1", "-listen="+addr, "-peer="+first, "-file="+file,
		"-times="+strconv.Itoa(times), "-lock="+strconv.FormatBool(lock))
	second.Stdout, second.Stderr = os.Stdout, os.Stderr
	return addr, second, second.Start()
}

// addOne adds one to the number in the file.
func addOne(ctx context.Context, l *multiphase.Locker, file string, lock bool) error {
	if lock {
		lease, err := l.Acquire(ctx, "number")
		if err != nil {
			return err
		}
		defer func() { _ = lease.Release(ctx) }()
	}
	n, err := read(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600)
}

// read reads the number. Without the lock, the other process may be about to write it.
func read(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil || len(text) == 0 {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func report(file string, want int) error {
	n, err := read(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d additions by two processes, %d of them lost\n", want, want-n)
	return nil
}
