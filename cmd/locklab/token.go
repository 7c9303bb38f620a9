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

// readToken reads a bearer token from the file of the flag; without a file, from the environment.
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

// awaitToken is readToken for a file that the first agent may make a little later.
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

// makeToken puts a random token into the file if there is none. Agents that do so at once end with the same.
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
