package matchmaking

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/tracing"
	"locklab/locks"
	"locklab/locks/clock"
)

// errDown says that the master will never answer this request: it refused the
// connection (then the request is surely not done) or broke it (then who knows).
var errDown = errors.New("matchmaking: master is down")

// maxReply bounds the body of an answer.
const maxReply = 64 << 10

// reply is the body of an answer, of either kind.
type reply struct {
	Room    string `json:"room"`
	Worker  string `json:"worker"`
	State   string `json:"state"`
	Created bool   `json:"created"`

	Outcome string `json:"outcome"`
	Error   struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
}

// answerError is a master's own "no" or "I do not know".
type answerError struct {
	status        int
	kind, message string
	outcome       locks.Outcome
}

func (e *answerError) Error() string {
	return fmt.Sprintf("master answered %d: %s: %s", e.status, e.kind, e.message)
}

func (e *answerError) Is(target error) bool {
	if e.outcome == locks.OutcomeFailed {
		return target == locks.ErrNotAcquired
	}
	return target == locks.ErrUnknown
}

// conn is one keep-alive connection with its buffers. It speaks just enough of
// HTTP/1.1 to post one small body and read one answer; net/http's client costs
// two goroutines for each connection and several times the work.
type conn struct {
	net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

func newConn(nc net.Conn) *conn {
	return &conn{Conn: nc, in: bufio.NewReaderSize(nc, 2<<10), out: make([]byte, 0, 256), body: make([]byte, 0, 512)}
}

// match asks the master for a seat. An idle connection may have been closed by
// the master meanwhile, which says nothing about it, so a new one is tried then.
func (m *master) match(ctx context.Context, player, group string, deadline int64) (reply, error) {
	until := clock.System().Now().Add(time.Duration(deadline - clock.Mono()))
	for {
		c := m.take()
		fresh := c == nil
		if fresh {
			dialer := net.Dialer{Deadline: until}
			nc, err := dialer.DialContext(ctx, "tcp", m.addr)
			if err != nil {
				return reply{}, dialError(ctx, err)
			}
			c = m.adopt(nc)
		}
		m.arm(c, until)
		answer, reusable, err := c.exchange(m.addr, player, group, tracing.Parent(ctx))
		m.put(c, reusable)
		if !fresh && errors.Is(err, errDown) {
			continue
		}
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", locks.ErrUnknown, ctx.Err())
		}
		return answer, err
	}
}

func dialError(ctx context.Context, err error) error {
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("dial: %w: %w", locks.ErrNotAcquired, ctx.Err())
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("dial: %w: %w", locks.ErrNotAcquired, context.DeadlineExceeded)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Errorf("%w: %w: %w", errDown, locks.ErrNotAcquired, err)
	}
	return &answerError{kind: "dial", message: err.Error(), outcome: locks.OutcomeFailed}
}

// exchange sends one request, as part of a trace unless parent is "".
func (c *conn) exchange(host, player, group, parent string) (answer reply, reusable bool, err error) {
	c.body = append(c.body[:0], `{"player":"`...)
	c.body = append(append(c.body, player...), `","group":"`...) // made by us: nothing to escape
	c.body = append(append(c.body, group...), `"}`...)
	c.out = append(c.out[:0], "POST /v1/match HTTP/1.1\r\nHost: "...)
	c.out = append(append(c.out, host...), "\r\nContent-Type: application/json\r\nContent-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(c.body)), 10)
	if parent != "" {
		c.out = append(append(c.out, "\r\n"+tracing.Header+": "...), parent...)
	}
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, c.body...)
	if _, err := c.Write(c.out); err != nil {
		return reply{}, false, brokenError(err)
	}
	if _, err := c.in.Peek(1); err != nil {
		return reply{}, false, brokenError(err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return reply{}, false, brokenError(err)
	}
	c.body, err = readAll(c.body[:0], io.LimitReader(resp.Body, maxReply))
	_ = resp.Body.Close() // reads nothing more: the limit is above every real answer
	if err != nil {
		return reply{}, false, brokenError(err)
	}
	reusable = !resp.Close && len(c.body) < maxReply
	if err := json.Unmarshal(c.body, &answer); err != nil && resp.StatusCode == http.StatusOK {
		return reply{}, false, fmt.Errorf("decode answer: %w: %w", locks.ErrUnknown, err)
	}
	if resp.StatusCode != http.StatusOK {
		e := &answerError{status: resp.StatusCode, kind: answer.Error.Kind, message: answer.Error.Message, outcome: locks.OutcomeUnknown}
		if answer.Outcome == string(locks.OutcomeFailed) {
			e.outcome = locks.OutcomeFailed
		}
		if e.kind == "" {
			e.kind = "http-" + strconv.Itoa(resp.StatusCode)
		}
		return answer, reusable, e
	}
	return answer, reusable, nil
}

// brokenError is the error of a connection that carried the request, or a part.
func brokenError(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w: %w", locks.ErrUnknown, context.DeadlineExceeded)
	}
	return fmt.Errorf("%w: %w: %w", errDown, locks.ErrUnknown, err)
}

// readAll is io.ReadAll into a buffer that is used again.
func readAll(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
