package signals_test

import (
	"testing"

	"locklab/internal/signals"
)

func TestSignals(t *testing.T) {
	over := make(chan struct{})
	if signals.Closed(over) {
		t.Error("it is not closed yet")
	}
	close(over)
	if !signals.Closed(over) {
		t.Error("it is closed")
	}
	look := make(chan struct{}, 1)
	signals.Wake(look)
	signals.Wake(look) // its reader has not looked yet
	<-look
	if len(look) != 0 {
		t.Error("the reader is to look once")
	}
	for name, end := range map[string]func(stop func(), c chan struct{}){
		"closed": func(_ func(), c chan struct{}) { close(c) }, "called": func(stop func(), _ chan struct{}) { stop() },
	} {
		c := make(chan struct{})
		ctx, stop := signals.Until(t.Context(), c)
		if ctx.Err() != nil {
			t.Errorf("%s: ended before", name)
		}
		end(stop, c)
		<-ctx.Done()
		stop()
	}
}
