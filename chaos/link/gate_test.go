package link_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks/clock"
)

// freeAddr is an address of the loopback network on which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.43.7.1:0")
	if err != nil {
		t.Fatalf("this test needs Linux, where all of 127.0.0.0/8 is there: %v", err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

func dialFrom(t *testing.T, source, addr string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	c, err := d.DialContext(context.Background(), "tcp", addr)
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(clock.System().Now().Add(30 * time.Second))
	return c
}

// TestAGateTellsLinksApart: two hosts dial one address, and what cuts the way of the one
// leaves that of the other as it is. Who comes from elsewhere gets nowhere.
func TestAGateTellsLinksApart(t *testing.T) {
	gates, addr, node := link.NewGates(), freeAddr(t), serve(t, echo)
	hosts := map[string]*link.Host{}
	for name, source := range map[string]string{"one": "127.43.7.2", "two": "127.43.7.3"} {
		hosts[name] = gatedHost(t, name, gates)
		if got := open(t, hosts[name], link.Spec{Upstream: node, Listen: addr, Source: source}); got != addr {
			t.Fatalf("the link is at %s, want %s", got, addr)
		}
	}
	cut := link.Impairment{ID: "cut", ToHosts: []string{"b"}, Direction: link.Both, Effect: new(link.Hold)}
	must.Do(t, hosts["one"].Apply(cut))
	one, two := dialFrom(t, "127.43.7.2", addr), dialFrom(t, "127.43.7.3", addr)
	say(t, one, "one")
	say(t, two, "two")
	hear(t, two, "two")
	silent(t, one)
	_ = one.SetDeadline(clock.System().Now().Add(30 * time.Second))
	hosts["one"].Heal("cut")
	hear(t, one, "one")

	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.43.7.4")}}
	stranger, err := d.DialContext(context.Background(), "tcp", addr) // which the reset may reach already
	if err == nil {
		_, err = stranger.Read(make([]byte, 1))
		_ = stranger.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a stranger: %v, want a reset", err)
	}
	// The one that is left takes everybody, and with the last the address is free again.
	hosts["one"].Clear()
	again := dialFrom(t, "127.43.7.4", addr)
	say(t, again, "x")
	hear(t, again, "x")
	hosts["two"].Clear()
	if c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr); err == nil {
		_ = c.Close()
		t.Error("the gate is open with no link behind it")
	}
}

func TestAGateHasOneLinkOfASource(t *testing.T) {
	gates, addr, node := link.NewGates(), freeAddr(t), serve(t, echo)
	h := gatedHost(t, "one", gates)
	open(t, h, link.Spec{Name: "first", Upstream: node, Listen: addr, Source: "127.43.7.2"})
	if _, err := h.Open(link.Spec{Name: "x", ToHost: "b", Upstream: node, Listen: addr, Source: "127.43.7.2"}); !errors.Is(err, link.ErrInvalid) {
		t.Errorf("want ErrInvalid, got %v", err)
	}
}
