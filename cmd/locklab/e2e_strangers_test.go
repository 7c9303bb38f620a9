//go:build e2e

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/internal/testfile"
)

// TestE2EStrangersControlNothing: who is on the machine, too, finds the ports of a local
// run. Nothing behind them that controls the run obeys without its token.
func TestE2EStrangersControlNothing(t *testing.T) {
	t.Parallel()
	lab := begin(t, nil, "run", "--locks", "none", "--scenarios", "baseline", "--workload", "mutex",
		"--topology", "one-host", "--duration", "1m", "--out", filepath.Join(t.TempDir(), "out"))
	orders := []string{"/v1/reset", "/v1/nodes/master-a/kill", "/v1/links/clear", "/v1/workload/stop", "/v1/rooms"}
	refused := map[string]bool{}
	client := &http.Client{Timeout: time.Second} // other ports are not of HTTP and may say nothing
	for len(refused) < len(orders) && t.Context().Err() == nil {
		for _, port := range listeners(t, lab.Process.Pid) {
			for _, order := range orders {
				answer, err := client.Post(fmt.Sprintf("http://127.0.0.1:%d%s", port, order), "application/json", nil)
				if err != nil {
					continue
				}
				_ = answer.Body.Close()
				if answer.StatusCode == http.StatusUnauthorized {
					refused[order] = true
				}
				if answer.StatusCode < 300 {
					t.Errorf("port %d obeys a stranger's %s: status %d", port, order, answer.StatusCode)
				}
			}
		}
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", lab.Process.Pid)); err != nil {
			break // it has ended, which its parent has not yet asked about
		}
	}
	_ = lab.Process.Signal(os.Interrupt)            // unless it has ended
	if code := lab.end(); code == 1 || code == -1 { // its verdict: a busy machine may leave it undecided
		t.Errorf("the run ended with %v", lab.ProcessState)
	}
	if len(refused) < len(orders) {
		t.Errorf("only %v were refused: the test has not met all that controls a run", refused)
	}
}

// listeners are the TCP ports that a process and its children listen on.
func listeners(t *testing.T, pid int) []int {
	t.Helper()
	sockets := map[string]bool{}
	for _, p := range append(childrenOf(pid), pid) {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p))
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
				sockets[strings.Trim(to, "socket:[]")] = true
			}
		}
	}
	var ports []int
	for line := range strings.Lines(string(testfile.Read(t, "/proc/net/tcp"))) {
		const listening = "0A"
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != listening || !sockets[fields[9]] {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if port, err := strconv.ParseInt(hex, 16, 32); err == nil {
			ports = append(ports, int(port))
		}
	}
	return ports
}

func childrenOf(pid int) []int {
	var all []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
