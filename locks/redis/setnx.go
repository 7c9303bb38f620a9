package redis

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"locklab/locks/clock"
	"locklab/locks/redlock"
)

// setnxGetset takes keys as one did before SET knew NX and PX: the value says when it
// expires, by the wall clock of who set it, and everybody reads it by his own.
type setnxGetset struct {
	clock clock.Clock
	ttl   time.Duration
}

// token is the time of expiry, in ms since 1970, and what tells clients apart.
func (s setnxGetset) token() string {
	return fmt.Sprintf("%d.%s", clock.Wall(s.clock).Add(s.ttl).UnixMilli(), rand.Text())
}

// expired is false for a value that is not a token.
func (s setnxGetset) expired(value any) bool {
	text, _ := value.(string)
	text, _, _ = strings.Cut(text, ".")
	ms, err := strconv.ParseInt(text, 10, 64)
	return err == nil && ms <= clock.Wall(s.clock).UnixMilli()
}

func (s setnxGetset) set(a redlock.Attempt) {
	a.Do(func(value any, ran redlock.Answer) {
		switch {
		case ran != redlock.Yes:
			a.Answer(ran)
		case value == int64(1):
			a.Answer(redlock.Yes)
		default:
			s.look(a)
		}
	}, "setnx", a.Key, a.Token)
}

func (s setnxGetset) look(a redlock.Attempt) {
	a.Do(func(value any, ran redlock.Answer) {
		switch {
		case ran != redlock.Yes:
			a.Answer(redlock.Unsent) // nothing that sets a key
		case s.expired(value):
			s.take(a)
		default:
			a.Answer(redlock.No)
		}
	}, "get", a.Key)
}

// take overwrites the value, and only then sees whether somebody else was faster. If so
// the key carries the loser's token, and deleting it would free what the winner holds.
func (s setnxGetset) take(a redlock.Attempt) {
	a.Do(func(old any, ran redlock.Answer) {
		switch {
		case ran == redlock.Unsent:
		case ran == redlock.Unknown:
			a.Keep()
		case old == nil || s.expired(old):
		default:
			a.Keep()
			ran = redlock.No
		}
		a.Answer(ran)
	}, "getset", a.Key, a.Token)
}
