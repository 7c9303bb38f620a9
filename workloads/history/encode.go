package history

import (
	"strconv"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1"
)

// codec reads or writes the fields of an event, each after its key.
type codec interface {
	int(key string, n *int64)
	uint(key string, n *uint64)
	text(key string, s *string)
	list(key string, list *[]string)
}

// fields are those after "kind" and "at_ns", in the order of the file, but for the last ones: few lines
// have "log", "run", "machine" and "usage".
func (e *Event) fields(c codec) {
	c.int(`,"from_ns":`, &e.FromNS)
	c.int(`,"sent_ns":`, &e.SentNS)
	c.int(`,"err_ns":`, &e.ErrNS)
	c.uint(`,"seq":`, &e.Seq)
	c.uint(`,"line":`, &e.Line)
	c.text(`,"host":"`, &e.Host)
	c.text(`,"node":"`, &e.Node)
	c.text(`,"state":"`, &e.State)
	c.text(`,"client":"`, &e.Client)
	c.text(`,"hold":"`, &e.Hold)
	c.text(`,"resource":"`, &e.Resource)
	c.text(`,"outcome":"`, &e.Outcome)
	c.text(`,"error":"`, &e.Error)
	c.uint(`,"token":`, &e.Token)
	c.uint(`,"messages":`, &e.Messages)
	c.uint(`,"wakeups":`, &e.Wakeups)
	c.uint(`,"count":`, &e.Count)
	c.uint(`,"version":`, &e.Version)
	c.uint(`,"base":`, &e.Base)
	c.text(`,"room":"`, &e.Room)
	c.text(`,"order":"`, &e.Order)
	c.text(`,"worker":"`, &e.Worker)
	c.list(`,"unreachable":["`, &e.Unreachable)
	c.text(`,"id":"`, &e.ID)
	c.text(`,"fault":"`, &e.Fault)
	c.text(`,"target":"`, &e.Target)
	c.list(`,"from":["`, &e.From)
	c.list(`,"to":["`, &e.To)
	c.list(`,"nodes":["`, &e.Nodes)
	c.int(`,"delay_ns":`, &e.DelayNS)
}

// AppendJSON appends e as one JSON object, without a line break, to dst. It
// leaves out what encoding/json would leave out; bytes that are not UTF-8 become
// U+FFFD, as there.
func AppendJSON(dst []byte, e *Event) []byte {
	w := appender(appendString(append(dst, `{"kind":"`...), string(e.Kind)))
	w = strconv.AppendInt(append(w, `,"at_ns":`...), e.AtNS, 10)
	e.fields(&w)
	w.list(`,"log":["`, &e.Log)
	if e.Run != nil {
		w.rare(`,"run":`, e.Run)
	}
	if e.Machine != nil {
		w.rare(`,"machine":`, e.Machine)
	}
	if len(e.Usage) > 0 {
		w.rare(`,"usage":`, e.Usage)
	}
	return append(w, '}')
}

// appender writes the fields that are not empty.
type appender []byte

func (w *appender) int(key string, n *int64) {
	if *n != 0 {
		*w = strconv.AppendInt(append(*w, key...), *n, 10)
	}
}

func (w *appender) uint(key string, n *uint64) {
	if *n != 0 {
		*w = strconv.AppendUint(append(*w, key...), *n, 10)
	}
}

func (w *appender) text(key string, s *string) {
	if *s != "" {
		*w = appendString(append(*w, key...), *s)
	}
}

func (w *appender) list(key string, list *[]string) {
	for i, s := range *list {
		if i > 0 {
			key = `,"`
		}
		*w = appendString(append(*w, key...), s)
	}
	if len(*list) > 0 {
		*w = append(*w, ']')
	}
}

func (w *appender) rare(key string, value any) {
	data, _ := json.Marshal(value) // whole numbers, and rates that were validated: cannot fail
	*w = append(append(*w, key...), data...)
}

// appendString appends what stands between the quotes, and the second one.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
				start = i + 1
			}
			i += size
			continue
		case c == '"' || c == '\\':
			dst = append(append(dst, s[start:i]...), '\\', c)
			start = i + 1
		case c < ' ':
			dst = append(append(dst, s[start:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			start = i + 1
		}
		i++
	}
	return append(append(dst, s[start:]...), '"')
}
