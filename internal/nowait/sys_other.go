//go:build !linux

package nowait

import "errors"

const supported = false

func read(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
func write(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
func ended(uintptr) bool                 { return false }
