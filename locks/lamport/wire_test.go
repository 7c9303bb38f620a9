package lamport

import (
	"testing"

	"locklab/verify/peertest"
)

func FuzzDecode(f *testing.F) {
	peertest.FuzzDecode(f, Options{}.Algorithm(), Message{Request, 1 << 40}, Message{Ack, 1}, Message{Release, 1}, Message{Reply, 1})
}
