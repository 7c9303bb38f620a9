// Package web is what the HTTP APIs of the lab's own nodes have in common: strict
// JSON bodies of bounded size, answers from pooled buffers, and a server that ends
// with its context.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
)

// Limits on what comes from outside.
const (
	BodyBytesMax = 4 << 10
	NameBytesMax = 128
)

// JSON writes answers. Its zero value is not usable; see NewJSON.
type JSON struct {
	log         *slog.Logger
	buffers     sync.Pool
	contentType []string // shared by all answers: setting a header would allocate
}

// NewJSON makes a writer that logs what it cannot write.
func NewJSON(log *slog.Logger) *JSON {
	return &JSON{
		log:         log,
		buffers:     sync.Pool{New: func() any { return new(bytes.Buffer) }},
		contentType: []string{"application/json"},
	}
}

// Reply answers with the status and the body as one line of JSON.
func (j *JSON) Reply(rw http.ResponseWriter, status int, body any) {
	rw.Header()["Content-Type"] = j.contentType
	err := j.line(body, func(line []byte) error {
		rw.WriteHeader(status)
		_, err := rw.Write(line)
		return err
	})
	if err != nil {
		j.log.Debug("answer not written", slog.Any("error", err))
	}
}

// WriteLine adds the body as one line of JSON to an answer under way.
func (j *JSON) WriteLine(out io.Writer, body any) error {
	return j.line(body, func(line []byte) error {
		_, err := out.Write(line)
		return err
	})
}

func (j *JSON) line(body any, write func([]byte) error) error {
	buf := j.buffers.Get().(*bytes.Buffer)
	defer j.buffers.Put(buf)
	buf.Reset()
	if err := json.MarshalWrite(buf, body); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	buf.WriteByte('\n')
	return write(buf.Bytes())
}

// Bounded is the request's body cut off behind BodyBytesMax.
func Bounded(rw http.ResponseWriter, r *http.Request) io.Reader {
	return http.MaxBytesReader(rw, r.Body, BodyBytesMax)
}

// Decode reads exactly one JSON value all of whose fields are known.
func Decode(body io.Reader, into any) error {
	if err := json.UnmarshalRead(body, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("decode body: %w", err)
	}
	return nil
}

// StatusOf is the status for a body that could not be used.
func StatusOf(err error) int {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// CheckName refuses names that are empty, long or have control characters.
func CheckName(field, value string) error {
	if value == "" || len(value) > NameBytesMax {
		return fmt.Errorf("field %q has %d bytes: want 1 to %d", field, len(value), NameBytesMax)
	}
	for _, r := range value {
		if unicode.IsControl(r) {
			return fmt.Errorf("field %q is %q: want no control characters", field, value)
		}
	}
	return nil
}

// Serve answers on the listener, which it closes, until ctx ends; then it calls
// stop, which must let long answers end, and gives what is under way a second.
// The error is nil when ctx ended it.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, stop func(), log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(listener)
		close(served)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	stop()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if shutErr := server.Shutdown(grace); shutErr != nil {
		_ = server.Close() // what is still open after the grace is cut
	}
	for range served { // until the server's goroutine has ended
	}
	return err
}
