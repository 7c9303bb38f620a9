package journal

import (
	"errors"
	"slices"
	"testing"
)

// FuzzDecode checks that a file of any content is read, or refused, and that what is left
// of it once the torn end is cut off reads the same.
func FuzzDecode(f *testing.F) {
	const owner = "me"
	frame := func(records ...string) []byte {
		b := make([]byte, headBytes)
		for _, r := range records {
			b = appendRecord(b, []byte(r))
		}
		return seal(b)
	}
	file := slices.Concat(header(owner), frame("a", ""), frame("another"))
	f.Add([]byte{})
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add(append(slices.Clone(file), 0, 0, 0))
	f.Add(slices.Concat(header(owner), seal(append(make([]byte, headBytes), 200, 1, 2)))) // a record that is too long
	f.Add(header("you"))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(b []byte) (records []string, length int, err error) {
			length, err = decode(b, owner, func(r []byte) error {
				records = append(records, string(r))
				return nil
			})
			return records, length, err
		}
		first, length, err := read(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("want ErrCorrupt, got %v", err)
			}
			return
		}
		again, whole, err := read(b[:length])
		if err != nil || whole != length || !slices.Equal(first, again) {
			t.Errorf("read %q, then %q, %d of %d bytes, %v", first, again, whole, length, err)
		}
	})
}
