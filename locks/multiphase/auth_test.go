package multiphase_test

import (
	"testing"

	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/peertest"
)

// TestPeersThatProveWhoTheyAre hold the lock in turn, over TLS and with a shared secret.
func TestPeersThatProveWhoTheyAre(t *testing.T) {
	authority := locktest.NewAuthority(t)
	configs := peertest.Configs(t, 3, multiphase.DefaultOptions())
	for i := range configs {
		configs[i].TLS, configs[i].Secret = authority.Config(configs[i].ID), []byte("sixteen bytes and more")
	}
	peers := peertest.StartAll(t, configs, multiphase.New)
	for range 10 {
		for _, p := range peers {
			lease, err := p.Acquire(within(t), "x")
			if err != nil {
				t.Fatal(err)
			}
			release(t, lease)
		}
	}
}
