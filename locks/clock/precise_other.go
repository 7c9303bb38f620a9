//go:build !linux

package clock

import "time"

// alarm, without timerfd, is a timer of the runtime.
type alarm struct{ timer *time.Timer }

func newAlarm() (*alarm, error) { return &alarm{time.NewTimer(time.Hour)}, nil }

func (a *alarm) set(at int64) { a.timer.Reset(time.Duration(at - Mono())) }

func (a *alarm) wait() { <-a.timer.C }

func (a *alarm) close() { a.timer.Stop() }
