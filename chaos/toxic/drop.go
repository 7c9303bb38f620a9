package toxic

import "github.com/Shopify/toxiproxy/v2/toxics"

// Drop swallows everything that is sent while the connection stays open. A TCP
// stream with a hole is something no network delivers: whoever removes the toxic
// should end the connections that lost bytes.
type Drop struct{ cut }

var _ Effect = (*Drop)(nil)

// Kind is drop.
func (*Drop) Kind() string { return "drop" }

// Pipe swallows until it is interrupted or the input ended.
func (*Drop) Pipe(stub *toxics.ToxicStub) { new(toxics.TimeoutToxic).Pipe(stub) }
