package hostload

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestProcessesThatWaitAreSeen keeps more processes busy than there are CPUs: they run,
// and they wait. Processes of others do not count.
func TestProcessesThatWaitAreSeen(t *testing.T) {
	s := New(nil, t.TempDir())
	defer s.Close()
	var pids []int
	for range 2 * runtime.NumCPU() {
		busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		must.Do(t, busy.Start())
		defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
		pids = append(pids, busy.Process.Pid)
	}
	const enough = 200_000_000 // ns
	var ran, waited, busy, late, at int64
	for ran < enough || waited < enough || busy < enough || late == 0 {
		e := s.Sample(pids)
		m := e.Machine
		if at != 0 && e.FromNS != at || e.AtNS < e.FromNS {
			t.Fatalf("sample from %d to %d follows one that ended at %d", e.FromNS, e.AtNS, at)
		}
		if m.CPUs != runtime.NumCPU() {
			t.Fatalf("it has %d CPUs: %+v", runtime.NumCPU(), m)
		}
		at, late = e.AtNS, max(late, m.LateNS)
		ran, waited, busy = ran+m.RunNS, waited+m.WaitNS, busy+m.BusyNS
	}
	own := s.Sample(nil).Machine // the others' counters are not read any more
	if own.RunNS >= enough {
		t.Errorf("this process alone ran %d ns since the last sample", own.RunNS)
	}
}

// TestSlowWritesAreSeen: a write that goes on counts with the time it has taken so far,
// and where nothing can be written nothing is known.
func TestSlowWritesAreSeen(t *testing.T) {
	dir := t.TempDir()
	s := New(nil, dir)
	defer s.Close()
	for s.Sample(nil).Machine.FsyncNS == 0 { // a sync takes some time
		runtime.Gosched()
	}
	under := &probe{began: clock.Mono() - 3_000_000_000, longest: 5}
	if have := under.take(); have < 3_000_000_000 {
		t.Errorf("a write that began 3 s ago took %d ns", have)
	}
	nowhere := New(nil, filepath.Join(t.TempDir(), "missing"))
	defer nowhere.Close()
	if nowhere.Sample(nil).Machine.FsyncNS != 0 {
		t.Error("a directory that does not exist has a disk")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestSinceCountsWhatIsNew(t *testing.T) {
	last := &reading{busy: 100, stolen: 20, threads: map[threadID]schedstat{{1, 1}: {10, 20}, {1, 2}: {500, 500}, {2, 2}: {7, 7}}}
	now := &reading{busy: 90, stolen: 40, throttled: 3, threads: map[threadID]schedstat{
		{1, 1}: {15, 40}, // has gone on
		{1, 2}: {3, 4},   // another thread by the same number
		{3, 3}: {1, 2},   // began in between
	}}
	m := now.since(last)
	if m.RunNS != 5+3+1 || m.WaitNS != 20+4+2 {
		t.Errorf("ran %d, waited %d, want 9 and 26", m.RunNS, m.WaitNS)
	}
	if m.BusyNS != 0 || m.StolenNS != 20 || m.ThrottledNS != 3 {
		t.Errorf("have %+v, want busy 0, stolen 20, throttled 3", m)
	}
}

func TestFilesOfTheKernel(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		testfile.Write(t, path, text)
		return path
	}
	stat := file("usage_usec 5\nnr_periods 9\nthrottled_usec 7\nnr_bursts 0\n")
	if n := throttledTime(stat); n != 7000 {
		t.Errorf("throttled %v, want 7000", n)
	}
	if n := throttledTime(stat+"x") + throttledTime(file("usage_usec 5\n")); n != 0 {
		t.Errorf("have %d where there is nothing to read", n)
	}
}
