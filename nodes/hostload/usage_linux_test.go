package hostload

import (
	"bufio"
	"os/exec"
	"testing"

	"locklab/internal/must"
)

// TestUsageCountsDescendants: what a grandchild does is the node's, while it runs and when
// it has ended.
func TestUsageCountsDescendants(t *testing.T) {
	const script = `exec 3<&0; sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; cat' <&3 & wait`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	in, err := cmd.StdinPipe()
	must.Do(t, err)
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "done\n" {
		t.Fatalf("%q, %v", line, err)
	}
	pid := cmd.Process.Pid
	own, _, ok := usageOf(pid)
	all, known := UsageOf(pid)
	if !ok || !known || all.CPUNS < own.CPUNS+50_000_000 { // a loop of some hundred ms
		t.Errorf("the shell used %+v (%v), with its descendants %+v (%v)", own, ok, all, known)
	}
	if all.MemoryBytes < own.MemoryBytes || own.MemoryBytes < 100<<10 || all.MemoryBytes > 100<<20 {
		t.Errorf("the shell has %d bytes, with its descendants %d", own.MemoryBytes, all.MemoryBytes)
	}
	_ = in.Close()
	_ = cmd.Wait()
	if u, ok := UsageOf(pid); ok {
		t.Errorf("a process that was waited for uses %+v", u)
	}
}
