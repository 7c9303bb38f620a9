//go:build !linux

package agent

// ephemeralPorts is the range from which systems other than Linux take ports for
// outgoing connections.
func ephemeralPorts() (low, high int) { return 49152, 65535 }

// listenBesideHeld: BSD refuses a second socket on the same port.
const listenBesideHeld = false
