// Package must ends a test where what it needs fails.
package must

import "testing"

// Do ends the test if there is an error.
func Do(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
