package bearer_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"locklab/nodes/bearer"
)

func TestGuard(t *testing.T) {
	token := bearer.New()
	if other := bearer.New(); token == other || len(token) < 32 {
		t.Fatalf("tokens %q and %q", token, other)
	}
	passed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, tc := range []struct {
		name, token, header string
		want                int
	}{
		{"right", token, "Bearer " + token, http.StatusNoContent},
		{"none", token, "", http.StatusUnauthorized},
		{"wrong", token, "Bearer " + token[1:], http.StatusUnauthorized},
		{"another scheme", token, "Basic " + token, http.StatusUnauthorized},
		{"bare", token, token, http.StatusUnauthorized},
		{"nobody has one", "", "Bearer ", http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", tc.header)
		answer := httptest.NewRecorder()
		bearer.Guard(tc.token, passed).ServeHTTP(answer, r)
		if answer.Code != tc.want {
			t.Errorf("%s: status %d, want %d", tc.name, answer.Code, tc.want)
		}
	}
}
