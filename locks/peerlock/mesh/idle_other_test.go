//go:build !linux

package mesh_test

const wakesRarely = false
