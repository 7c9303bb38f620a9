package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/testfile"
)

func TestAllMakersGetOneToken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	const makers = 16
	tokens := make([]string, makers)
	var wg sync.WaitGroup
	for i := range makers {
		wg.Go(func() {
			if err := makeToken(file); err != nil {
				t.Error(err)
				return
			}
			var err error
			if tokens[i], err = readToken("--token-file", file); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, token := range tokens {
		if len(token) < 32 || token != tokens[0] {
			t.Fatalf("tokens differ or are short: %q", tokens)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("want nothing but the token in %v: %v", left, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("everybody can read the token: %v, %v", info.Mode(), err)
	}
}

func TestTokenIsWaitedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	synctest.Test(t, func(t *testing.T) {
		if _, err := awaitToken(t.Context(), file, time.Second); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("want ErrNotExist, got %v", err)
		}
		go func() {
			time.Sleep(10 * time.Second)
			if err := makeToken(file); err != nil {
				t.Error(err)
			}
		}()
		if token, err := awaitToken(t.Context(), file, time.Minute); err != nil || token == "" {
			t.Errorf("token %q, %v", token, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := awaitToken(gone, file+"2", time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("want an interruption, got %v", err)
		}
	})
}

// TestNoTokenFile: a file without a token in it is refused by its name.
func TestNoTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty")
	testfile.Write(t, file, " \n")
	_, err := readToken("--scrape-token-file", file)
	if err == nil || !strings.Contains(err.Error(), "--scrape-token-file "+file+": it is empty") {
		t.Errorf("%v, want that it is empty", err)
	}
	if err := (&agentFlags{scrapeFile: file, makeToken: true}).readTokens(); err == nil {
		t.Error("a token without a file was made")
	}
}
