package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/strictjson"
	"locklab/locks/clock"
)

// AnswersFD is the file descriptor on which an own node answers orders.
const AnswersFD = 5

// Order is what an agent wants of a node that runs, a line of JSON on its standard input.
// Each that can be read is answered by one [Answer], in order; one that asks for nothing reads
// the clock.
type Order struct {
	Number uint64 `json:"number"`
	// Clock makes the node's clock wrong.
	Clock *Skew `json:"clock,omitzero"`
	// PauseAt has the process stop itself when it next passes the point, see [Points]; ""
	// takes that back.
	PauseAt *string `json:"pause_at,omitzero"`
}

// Skew is what is wrong with a clock: see [clock.Skewed].
type Skew struct {
	Offset time.Duration `json:"offset_ns,format:nano"`
	Rate   float64       `json:"rate"` // 1 is right
}

// Answer says that an order was carried out, or why not.
type Answer struct {
	Number uint64 `json:"number"`
	WallNS int64  `json:"wall_ns"`        // the node's wall clock after it, ns since 1970
	Error  string `json:"error,omitzero"` // why nothing was done
}

// maxOrder bounds a line.
const maxOrder = 4 << 10

// obey carries orders out until the input ends. What is no order is one agent's mistake and
// ends nothing.
func (n *Node) obey(orders io.Reader, answers io.Writer) {
	lines := bufio.NewScanner(orders)
	lines.Buffer(nil, maxOrder)
	for lines.Scan() {
		if err := n.carryOut(lines.Bytes(), answers); err != nil {
			n.Log.Error("an order was not carried out", "error", err)
		}
	}
	_, _ = io.Copy(io.Discard, orders) // after a line that is too long; any end is the agent's end
}

func (n *Node) carryOut(line []byte, answers io.Writer) error {
	var o Order
	if err := strictjson.Decode(line, &o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	a := Answer{Number: o.Number}
	if err := n.follow(o); err != nil {
		a.Error = err.Error()
	}
	a.WallNS = clock.Wall(n.Clock).UnixNano()
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("answer order %d: %w", o.Number, err)
	}
	if _, err := answers.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("answer order %d: %w", o.Number, err)
	}
	return nil
}

// follow does all of what an order asks for, or nothing.
func (n *Node) follow(o Order) error {
	if o.Clock != nil {
		if o.Clock.Rate <= 0 {
			return fmt.Errorf("clock.rate %v: want more than 0: %w", o.Clock.Rate, ErrInvalid)
		}
		n.Clock.Set(o.Clock.Offset, o.Clock.Rate)
	}
	if o.PauseAt != nil {
		n.Points.arm(*o.PauseAt)
	}
	return nil
}

// openAnswers is where answers go: nowhere, where a node is started by hand.
func openAnswers() io.Writer {
	f := os.NewFile(AnswersFD, "answers")
	if info, err := f.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return io.Discard
	}
	return f
}
