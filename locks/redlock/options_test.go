package redlock_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	locktest.Specs(t, redlock.ParseOptions, map[string]string{
		"redlock": "", "redlock:persistence=always,restart_delay=5s": "",
		"redlock:ttl=5ms": "10ms", "redlock:ttl=8761h": "8760h", "redlock:ttl=-1s": "positive", "redlock:fast": "it has none",
		"redlock:order=random": "parallel", "redlock:persistence=sometimes": "none", "redlock:wake=publish": "unknown option",
	})
	want := redlock.DefaultOptions()
	want.Sequential, want.FixedDelay, want.Delay = true, true, 7*time.Millisecond
	want.TTL, want.Timeout = time.Second, 100*time.Millisecond
	got := locktest.Options(t, redlock.ParseOptions, "redlock:order=sequential,retry=fixed,delay=7ms,ttl=1s")
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	endless := redlock.DefaultOptions()
	endless.Delay = math.MaxInt64
	for name, cfg := range map[string]redlock.Config{
		"no instances":  {},
		"no address":    {Addrs: []string{""}},
		"address twice": {Addrs: []string{"127.0.0.1:1", "127.0.0.1:1"}},
		"bad options":   {Addrs: []string{"127.0.0.1:1"}, Options: redlock.Options{TTL: time.Second}},
		"endless ttl":   {Addrs: []string{"127.0.0.1:1"}, Options: redlock.Options{TTL: math.MaxInt64, Timeout: 1, Delay: 1}},
		"endless delay": {Addrs: []string{"127.0.0.1:1"}, Options: endless},
	} {
		if _, err := redlock.New(cfg); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", name, err)
		}
	}
}
