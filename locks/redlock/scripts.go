package redlock

import (
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// script is a Lua script and the name under which Redis caches it.
type script struct {
	text string
	sha  any // a string, as an argument
}

func newScript(name string) *script {
	text, _ := scriptFiles.ReadFile("scripts/" + name + ".lua") // is there; every test would fail
	return scriptOf(string(text))
}

func scriptOf(text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see above
	return &script{text: text, sha: hex.EncodeToString(sum[:])}
}

// Extend is the Lua of an extension, with the key in KEYS[1], the token in ARGV[1] and the
// lease time in ms in ARGV[2].
//
//go:embed scripts/extend.lua
var Extend string

// scripts are those of one client.
type scripts struct {
	release, releaseHome, extend, enrol, leave *script
	free                                       *script // in place of release when a lease ends
}

func newScripts(how *Single) scripts {
	s := scripts{
		release: newScript("release"), releaseHome: newScript("release_home"), extend: scriptOf(Extend),
		enrol: newScript("enrol"), leave: newScript("leave"),
	}
	if how != nil {
		if how.Release != "" {
			s.release = scriptOf(how.Release)
		}
	}
	s.free = s.release
	if how != nil && how.FreeAnyway != "" {
		s.free = scriptOf(how.FreeAnyway)
	}
	return s
}

// call is the short form of a script's call, by its hash.
func (s *script) call(keys int, args ...any) []any {
	return append(append(make([]any, 0, 3+len(args)), "evalsha", s.sha, keys), args...)
}

// inFull turns the short form into the one that carries the script, after which
// the instance knows it.
func (s *script) inFull(args []any) []any {
	full := append([]any(nil), args...)
	full[0], full[1] = "eval", s.text
	return full
}

func isScriptUnknown(err error) bool {
	return isServerError(err) && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

// isServerError says that Redis itself answered with an error.
func isServerError(err error) bool {
	var e redis.Error
	return errors.As(err, &e)
}

// verdict reads the answer to a command.
func verdict(kind effectKind, value any) answer {
	switch v := value.(type) {
	case string: // SET: OK
		return yes
	case int64:
		if kind == effDelete {
			v &= 1 // see release_home.lua
		}
		if v > 0 {
			return yes
		}
	}
	return no
}
