package link_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/chaos/link"
)

// TestTrafficCountsWhatWasDelivered both ways, of all links to a node, and of no probe.
func TestTrafficCountsWhatWasDelivered(t *testing.T) {
	h := newHost(t, "a")
	upstream := serve(t, echo)
	for name, port := range map[string]string{"one": "http", "two": "peer"} {
		c := dial(t, open(t, h, link.Spec{Name: name, ToNode: "n-1", Port: port, Upstream: upstream}))
		say(t, c, "hello")
		hear(t, c, "hello")
	}
	c := dial(t, open(t, h, link.Spec{Name: "nameless", Upstream: upstream}))
	say(t, c, "probe")
	hear(t, c, "probe")
	if diff := cmp.Diff([]link.Traffic{{ToNode: "n-1", Up: 10, Down: 10}}, h.Traffic()); diff != "" {
		t.Error(diff)
	}
	h.Clear()
	if have := h.Traffic(); len(have) > 0 {
		t.Errorf("a cleared host counts %+v", have)
	}
}
