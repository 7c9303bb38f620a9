// Package peertest tests locks that are made with peerlock: [Explore] visits every
// state that a few peers of a pure core can get into, [Walk] follows one random way
// through more of them, and [Configs], [Start] and [Proxy] connect real peers over
// loopback TCP.
package peertest
