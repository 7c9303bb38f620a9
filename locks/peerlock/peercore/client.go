package peercore

// Client is what the client of one peer believes about one resource. It depends only on the client's own
// requests and on the effects that it was told, not on the core's state. Explorations, simulations and
// tests judge a core by its clients. A client that dies is [ClientIdle].
type Client uint8

// The beliefs of a client.
const (
	ClientIdle    Client = iota // it wants nothing
	ClientWaits                 // it wants the lock
	ClientHolds                 // it holds the lock
	ClientStrange               // it was told Hold while it did not wait
)

// Does returns the belief after an event. Only the client's own Request and Leave change it.
func (c Client) Does(k EventKind) Client {
	switch {
	case k == Request && c == ClientIdle:
		return ClientWaits
	case k == Leave:
		return ClientIdle
	}
	return c
}

// Hears returns the belief after an effect.
func (c Client) Hears(k EffectKind) Client {
	switch {
	case k == Hold && c == ClientWaits:
		return ClientHolds
	case k == Hold:
		return ClientStrange
	case k == Lose && c == ClientHolds:
		return ClientIdle
	}
	return c
}

// Knows reports whether the belief matches the core's state. It must be true after every step:
// a hold ends only by the client's own release, or with Lose.
func (c Client) Knows(waits, holds bool) bool {
	return c != ClientStrange && waits == (c == ClientWaits) && holds == (c == ClientHolds)
}
