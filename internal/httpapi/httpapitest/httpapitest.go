// Package httpapitest asks HTTP servers of tests.
package httpapitest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"locklab/internal/must"
)

// Ask makes one request, with these headers (Host is one), and returns the answer's status
// and text.
func Ask(tb testing.TB, method, url, body string, header map[string]string) (int, string) {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	must.Do(tb, err)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	r.Host = header["Host"]
	answer, err := http.DefaultClient.Do(r)
	must.Do(tb, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	must.Do(tb, err)
	return answer.StatusCode, string(text)
}
