//go:build !linux

package hostload

// UsageOf knows nothing here.
func UsageOf(int) (Usage, bool) { return Usage{}, false }
