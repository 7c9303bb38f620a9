package agent

import (
	"bufio"
	"errors"
	"io"
)

// errLongLine says that a line is longer than the bound.
var errLongLine = errors.New("line is too long")

// lineReader reads lines of bounded length without an allocation for each.
type lineReader struct {
	in   *bufio.Reader
	max  int
	long []byte // a line that is longer than the buffer
}

func newLineReader(in io.Reader, longest int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 32<<10), max: longest}
}

// next returns the next line with its line feed, valid until the next call. At the
// end of the input it returns what is left, without a line feed, and the error.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return part, nil
		}
		l.long = append(l.long, part...)
		switch {
		case len(l.long) > l.max:
			return nil, errLongLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return l.long, err
		}
	}
}
