package main

import (
	"runtime"
	"runtime/debug"
)

// postponeCollection lets the heap grow to 32 MB before garbage is collected for the first
// time, and then collects as usual. It is for commands that read, print and end: a dry run of
// 500 rows would collect six times while its heap only grows. It is not for runs: their memory
// has a limit, and their first steps may need much at once.
func postponeCollection() {
	usual := debug.SetGCPercent(800) // of 4 MB
	if usual != 100 {                // GOGC is set
		debug.SetGCPercent(usual)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
