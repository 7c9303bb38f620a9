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

// setnxGetset takes keys as clients did before SET had NX and PX: the value is its expiry by the
// wall clock of the client that set it, and each reader compares it with its own wall clock.
type setnxGetset struct {
	clock clock.Clock
	ttl   time.Duration
}

// token is the expiry, in ms since 1970, and a random part that tells clients apart.
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

func (s setnxGetset) set(do redlock.Do, key, token string) (answer redlock.Answer, keep bool, err error) {
	value, err := do("setnx", key, token)
	if ran := redlock.Ran(err); ran != redlock.Yes || value == int64(1) {
		return ran, false, err
	}
	value, err = do("get", key)
	switch {
	case redlock.Ran(err) != redlock.Yes:
		return redlock.Unsent, false, err // GET sets no key
	case !s.expired(value):
		return redlock.No, false, nil
	}
	// GETSET overwrites the value, and then shows whether another client was faster. If so, the key
	// carries the loser's token, and deleting it would free the winner's lock.
	value, err = do("getset", key, token)
	switch ran := redlock.Ran(err); {
	case ran != redlock.Yes:
		return ran, ran == redlock.Unknown, err
	case value != nil && !s.expired(value):
		return redlock.No, true, nil
	}
	return redlock.Yes, false, nil
}
