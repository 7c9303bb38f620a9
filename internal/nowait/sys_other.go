//go:build !linux

package nowait

import "errors"

const supported = false

func read(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
func write(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
func unread(uintptr) int                 { return 0 }
func ended(uintptr) bool                 { return false }
func lowWater(uintptr, int)              {}
