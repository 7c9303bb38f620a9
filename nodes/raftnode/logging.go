package raftnode

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newRaftLogger lets the raft library log through slog.
func newRaftLogger(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "raft", Level: hclog.Info, DisableTime: true, Output: lineLogger{log},
	})
}

// lineLogger turns the library's lines, which begin with a level in brackets, into
// records. What the library calls errors are mostly peers that cannot be reached,
// which is everyday life in the lab: they become warnings.
type lineLogger struct{ log *slog.Logger }

func (l lineLogger) Write(line []byte) (int, error) {
	text := bytes.TrimSpace(line)
	level := slog.LevelDebug
	for prefix, mapped := range map[string]slog.Level{
		"[ERROR]": slog.LevelWarn, "[WARN]": slog.LevelInfo, "[INFO]": slog.LevelDebug,
	} {
		if rest, ok := bytes.CutPrefix(text, []byte(prefix)); ok {
			text, level = bytes.TrimSpace(rest), mapped
			break
		}
	}
	l.log.Log(context.Background(), level, "raft library", "line", string(text))
	return len(line), nil
}
