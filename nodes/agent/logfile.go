package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// maxLogSize bounds what is kept of a node's output: the newest half at least.
const maxLogSize = 2 << 20

// logFile takes a node's output. When it is half full it becomes path.old and a
// new one begins.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open node log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open node log: %w", err), f.Close())
	}
	return &logFile{path: path, file: f, size: info.Size()}, nil
}

// Write never fails: a full disk must not end a node by a broken pipe.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > maxLogSize/2 && l.size > 0 {
		l.rotate()
	}
	if l.file != nil {
		n, _ := l.file.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

func (l *logFile) rotate() {
	_ = os.Rename(l.path, l.path+".old") // failing, the log is truncated instead
	_ = l.file.Close()
	l.file, _ = os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	l.size = 0
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // what it holds was output, not data
		l.file = nil
	}
}

// readLog is what is kept of a node's output, oldest first.
func readLog(path string) ([]byte, error) {
	var all []byte
	for _, p := range []string{path + ".old", path} {
		data, err := os.ReadFile(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read node log: %w", err)
		}
		all = append(all, data...)
	}
	return all, nil
}

// tailOf is the end of a log for an error message.
func tailOf(path string) string {
	lines := lastLines(path)
	if len(lines) == 0 {
		return "its log is empty"
	}
	return "the end of its log:\n" + strings.Join(lines, "\n")
}

// lastLines is the end of a log: whole lines, a screen at most. One that cannot be read has none.
func lastLines(path string) []string {
	const maxLines, maxBytes = 20, 3000
	data, _ := readLog(path)
	if len(data) > maxBytes {
		data = data[len(data)-maxBytes:]
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	return lines[max(0, len(lines)-maxLines):]
}
