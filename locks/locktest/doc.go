// Package locktest is the conformance suite for locks: what every [locks.Locker]
// must do when nothing is broken and, if its leases have an end, when a holder crashes,
// checked against its real server.
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Subject{
//			New: func(tb testing.TB) []locks.Locker { ... three clients of one fresh service ... },
//		})
//	}
//
// Each check is a plain function that says what it found wrong, so that the
// suite itself can be tested: deliberately broken locks must fail it.
package locktest
