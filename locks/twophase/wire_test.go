package twophase

import (
	"testing"

	"locklab/verify/peertest"
)

func FuzzDecode(f *testing.F) {
	peertest.FuzzDecode(f, Options{}.Algorithm(), Message{Prepare, 1 << 40}, Message{No, 1}, Message{YesWaiting, 1})
}
