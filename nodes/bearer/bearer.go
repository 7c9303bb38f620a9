// Package bearer is how a run's controllers and what they control know each other: by a
// secret that every request bears, and that a stranger on the same machine or in a web
// page does not have.
package bearer

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// New makes a token that nobody can guess.
func New() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// Set has a request bear the token.
func Set(r *http.Request, token string) { r.Header.Set("Authorization", "Bearer "+token) }

// Has says whether a request bears the token. There is no token that is empty.
func Has(r *http.Request, token string) bool {
	given, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	// Hashes have one length, so the comparison tells nothing about the token's.
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return bears && token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// Guard lets only requests through that bear the token.
func Guard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Has(r, token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong: want the one of the run", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
