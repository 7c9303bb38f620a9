package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"locklab/internal/httpapi"
	"locklab/nodes/agent"
)

// TestOnlyAPoorMachineGivesUp: what would be the same in the next run ends the comparison.
func TestOnlyAPoorMachineGivesUp(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	a := agent.NewClient(slow.URL, "")
	defer a.Close()
	limited, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, clientErr := (&http.Client{Timeout: time.Millisecond}).Get(slow.URL)
	for name, err := range map[string]error{
		"agent does not answer": a.Stop(limited, "n"),
		"node is not ready":     fmt.Errorf("start n: %w", agent.ErrLate),
		"events were lost":      fmt.Errorf("drain events: %w", agent.ErrEventsLost),
		"client's own limit":    clientErr,
		"no descriptor here":    fmt.Errorf("open pipe: %w", syscall.EMFILE),
		"none on the machine":   fmt.Errorf("create history: %w", syscall.ENFILE),
		"none at the agent":     &httpapi.Error{Kind: "start", Message: "start n: open pipe: too many open files"},
		"none in the node":      fmt.Errorf("start n: it ended with exit-1: %w; the end of its log:\nlisten tcp: socket: too many open files", agent.ErrStart),
		"no agent":              agent.NewClient("http://127.0.0.1:1", "").Stop(t.Context(), "n"),
		"one of two":            errors.Join(errors.New("other"), a.Stop(limited, "n")),
	} {
		if got := GiveUp(err); !errors.Is(got, ErrGivenUp) || !errors.Is(got, err) {
			t.Errorf("%s: %v is not given up: %v", name, err, got)
		}
	}
	slow.Close()
	for name, err := range map[string]error{
		"nothing":         nil,
		"node that fails": fmt.Errorf("start n: %w", agent.ErrStart),
		"anything else":   errors.New("no such file"),
	} {
		if errors.Is(GiveUp(err), ErrGivenUp) {
			t.Errorf("%s: %v was given up", name, err)
		}
	}
}
