package peercore

// Client is what the client of one peer believes of one resource: by what it did itself
// and by what it was told, in effects. The core's own state has no say in it, as it has
// none in production: explorations, simulations and tests judge a core by its clients.
// A client that dies believes nothing: [ClientIdle].
type Client uint8

// What a client believes.
const (
	ClientIdle    Client = iota // it wants nothing
	ClientWaits                 // it wants the lock
	ClientHolds                 // it holds the lock
	ClientStrange               // it was told to hold what it did not wait for
)

// Does is what the client believes once it has had the core take an event. Only its
// own wishes change that.
func (c Client) Does(k EventKind) Client {
	switch {
	case k == Request && c == ClientIdle:
		return ClientWaits
	case k == Leave:
		return ClientIdle
	}
	return c
}

// Hears is what it believes once it was told of an effect.
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

// Knows says that a core which waits or holds, or not, has told its client so. It must
// be true after every step: a hold that ends ends by the client's own release, or with
// Lose.
func (c Client) Knows(waits, holds bool) bool {
	return c != ClientStrange && waits == (c == ClientWaits) && holds == (c == ClientHolds)
}
