package clock

import "golang.org/x/sys/windows"

// machineMono moves in steps of up to 16 ms: only the lab compares clocks of processes, and it
// does not run on Windows.
func machineMono() int64 { return int64(windows.DurationSinceBoot()) }
