package scratch

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"locklab/internal/testfile"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// TestMain lets the test binary play a process that owns a directory until it is killed.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_OWNER") != "" {
		d, err := New()
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Path)
		killed := make(chan os.Signal, 1) // the runtime would end a process that waits for nothing
		signal.Notify(killed, os.Interrupt)
		<-killed
		runtime.KeepAlive(d)
	}
	os.Exit(m.Run())
}

func TestWhatNobodyOwnsIsRemoved(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	owner := exec.Command(os.Args[0]) //nolint:gosec // this test
	owner.Env = append(os.Environ(), "SCRATCH_OWNER=1")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	others := strings.TrimSpace(line)
	testfile.Write(t, filepath.Join(others, "data"), make([]byte, 1000))

	// What is not surely an orphan of this package.
	precious := filepath.Join(t.TempDir(), "precious")
	unproven, linked, byLink := filepath.Join(base, "locklab-unproven"), filepath.Join(base, "locklab-linked"), filepath.Join(base, "locklab-by-link")
	for _, dir := range []string{precious, unproven, linked} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testfile.Write(t, filepath.Join(precious, ownerFile), "")
	for link, to := range map[string]string{byLink: precious, filepath.Join(linked, ownerFile): filepath.Join(precious, ownerFile)} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	stay := []string{precious, filepath.Join(precious, ownerFile), unproven, linked, byLink}

	mine, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if !exists(others) {
		t.Error("the directory of a living process was removed")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	if !exists(others) {
		t.Fatal("a killed process removed its directory: the test tests nothing")
	}
	// An orphan may have a link that leads out of it.
	if err := os.Symlink(precious, filepath.Join(others, "link")); err != nil {
		t.Fatal(err)
	}
	again, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if exists(others) {
		t.Error("the directory of a killed process is still there")
	}
	for _, path := range append(stay, mine.Path, again.Path) {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	for _, d := range []*Dir{mine, again} {
		if err := d.Remove(); err != nil || exists(d.Path) {
			t.Errorf("remove: %v", err)
		}
	}
}
