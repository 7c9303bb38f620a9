package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
)

// readToken reads a bearer token from the file that the flag names, or, without one, from the
// environment.
func readToken(flag, file string) (string, error) {
	if file == "" {
		return os.Getenv("LOCKLAB_TOKEN"), nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("%s %s: it is empty: want a token in it", flag, file)
	}
	return token, nil
}

// awaitToken is readToken for a file that may appear a little later, when the first
// agent makes it.
func awaitToken(ctx context.Context, file string, patience time.Duration) (string, error) {
	deadline := clock.Mono() + int64(patience)
	for {
		token, err := readToken("--token-file", file)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || clock.Mono() >= deadline {
			return token, err
		}
		if err := clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return "", fmt.Errorf("wait for --token-file: %w", err)
		}
	}
}

// makeToken sees that the file has a token, a random one if it is not there. Any
// number of agents may do so at once: all end with the same.
func makeToken(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	// A link appears with its content, and never in place of another.
	draft, err := os.CreateTemp(filepath.Dir(file), ".token-*")
	if err != nil {
		return fmt.Errorf("--make-token: %w", err)
	}
	_, err = draft.WriteString(httpapi.NewToken() + "\n")
	if err = errors.Join(err, draft.Chmod(0o440), draft.Close()); err == nil {
		err = os.Link(draft.Name(), file)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil // another agent was faster
	}
	if err = errors.Join(err, os.Remove(draft.Name())); err != nil {
		return fmt.Errorf("--make-token: %w", err)
	}
	return nil
}
