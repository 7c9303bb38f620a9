//go:build !linux

package provenance

func kernel() string { return "" }
