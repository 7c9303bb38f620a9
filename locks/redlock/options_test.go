package redlock_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/redlock"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	with := func(change func(*redlock.Options)) redlock.Options {
		o := redlock.DefaultOptions()
		change(&o)
		return o
	}
	tests := []struct {
		spec string
		want redlock.Options
		bad  bool
	}{
		{spec: "redlock", want: redlock.DefaultOptions()},
		{spec: "redlock:order=sequential,retry=fixed,delay=7ms", want: with(func(o *redlock.Options) {
			o.Sequential, o.FixedDelay, o.Delay = true, true, 7*time.Millisecond
		})},
		{spec: "redlock:ttl=1s", want: with(func(o *redlock.Options) { o.TTL, o.Timeout = time.Second, 100*time.Millisecond })},
		{spec: "redlock:persistence=always,restart_delay=5s", want: with(func(o *redlock.Options) {
			o.Persistence, o.RestartDelay = "always", 5*time.Second
		})},
		{spec: "redlock:ttl=5ms", bad: true},
		{spec: "redlock:ttl=8761h", bad: true},
		{spec: "redlock:ttl=-1s", bad: true},
		{spec: "redlock:order=random", bad: true},
		{spec: "redlock:persistence=sometimes", bad: true},
		{spec: "redlock:wake=publish", bad: true},
		{spec: "redlock:fast", bad: true},
	}
	for _, tt := range tests {
		spec, err := locks.ParseSpec(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		got, err := redlock.ParseOptions(spec)
		if tt.bad != errors.Is(err, locks.ErrInvalid) || got != tt.want {
			t.Errorf("%s: got %+v, %v", tt.spec, got, err)
		}
	}
}

func endless(change func(*redlock.Options)) redlock.Options {
	o := redlock.DefaultOptions()
	change(&o)
	return o
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]redlock.Config{
		"no instances":  {},
		"no address":    {Addrs: []string{""}},
		"address twice": {Addrs: []string{"127.0.0.1:1", "127.0.0.1:1"}},
		"bad options":   {Addrs: []string{"127.0.0.1:1"}, Options: redlock.Options{TTL: time.Second}},
		"endless ttl":   {Addrs: []string{"127.0.0.1:1"}, Options: endless(func(o *redlock.Options) { o.TTL = math.MaxInt64 })},
		"endless delay": {Addrs: []string{"127.0.0.1:1"}, Options: endless(func(o *redlock.Options) { o.Delay = math.MaxInt64 })},
	} {
		if _, err := redlock.New(cfg); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", name, err)
		}
	}
}
