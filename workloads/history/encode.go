package history

import (
	"strconv"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1"
)

// AppendJSON appends e as one JSON object, without a line break, to dst. It
// leaves out what encoding/json would leave out; bytes that are not UTF-8 become
// U+FFFD, as there.
func AppendJSON(dst []byte, e *Event) []byte {
	dst = appendString(append(dst, `{"kind":`...), string(e.Kind))
	dst = strconv.AppendInt(append(dst, `,"at_ns":`...), e.AtNS, 10)
	dst = appendInt(dst, `,"from_ns":`, e.FromNS)
	dst = appendInt(dst, `,"sent_ns":`, e.SentNS)
	dst = appendInt(dst, `,"err_ns":`, e.ErrNS)
	dst = appendUint(dst, `,"seq":`, e.Seq)
	dst = appendUint(dst, `,"line":`, e.Line)
	dst = appendField(dst, `,"host":`, e.Host)
	dst = appendField(dst, `,"node":`, e.Node)
	dst = appendField(dst, `,"state":`, e.State)
	dst = appendField(dst, `,"client":`, e.Client)
	dst = appendField(dst, `,"hold":`, e.Hold)
	dst = appendField(dst, `,"resource":`, e.Resource)
	dst = appendField(dst, `,"outcome":`, e.Outcome)
	dst = appendField(dst, `,"error":`, e.Error)
	dst = appendUint(dst, `,"token":`, e.Token)
	dst = appendUint(dst, `,"messages":`, e.Messages)
	dst = appendUint(dst, `,"wakeups":`, e.Wakeups)
	dst = appendUint(dst, `,"count":`, e.Count)
	dst = appendUint(dst, `,"version":`, e.Version)
	dst = appendUint(dst, `,"base":`, e.Base)
	dst = appendField(dst, `,"room":`, e.Room)
	dst = appendField(dst, `,"order":`, e.Order)
	dst = appendField(dst, `,"worker":`, e.Worker)
	dst = appendList(dst, `,"unreachable":`, e.Unreachable)
	dst = appendField(dst, `,"id":`, e.ID)
	dst = appendField(dst, `,"fault":`, e.Fault)
	dst = appendField(dst, `,"target":`, e.Target)
	dst = appendList(dst, `,"from":`, e.From)
	dst = appendList(dst, `,"to":`, e.To)
	dst = appendList(dst, `,"nodes":`, e.Nodes)
	dst = appendInt(dst, `,"delay_ns":`, e.DelayNS)
	dst = appendList(dst, `,"log":`, e.Log)
	if e.Run != nil {
		run, err := json.Marshal(e.Run)
		if err != nil { // a rate that is not a number is the only way to get here
			clean := *e.Run
			clean.OfferedPS = 0
			run, _ = json.Marshal(&clean)
		}
		dst = append(append(dst, `,"run":`...), run...)
	}
	if e.Machine != nil {
		machine, _ := json.Marshal(e.Machine) // whole numbers: cannot fail
		dst = append(append(dst, `,"machine":`...), machine...)
	}
	if len(e.Usage) > 0 {
		usage, _ := json.Marshal(e.Usage) // whole numbers: cannot fail
		dst = append(append(dst, `,"usage":`...), usage...)
	}
	return append(dst, '}')
}

func appendInt(dst []byte, key string, v int64) []byte {
	if v == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), v, 10)
}

func appendUint(dst []byte, key string, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, key...), v, 10)
}

func appendField(dst []byte, key, v string) []byte {
	if v == "" {
		return dst
	}
	return appendString(append(dst, key...), v)
}

func appendList(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(append(dst, key...), '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, v)
	}
	return append(dst, ']')
}

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
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
