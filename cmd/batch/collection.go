package main

import (
	"runtime"
	"runtime/debug"
)

// postponeCollection lets the heap grow to 32 MB before garbage is collected for the first
// time, and from then on collects as ever. It is for a command that reads, prints and ends: the
// dry run of 500 rows would collect six times while it only adds to what it needs. The memory of
// a run has a limit, and its first steps may need much at once.
func postponeCollection() {
	usual := debug.SetGCPercent(800) // of 4 MB
	if usual != 100 {                // somebody set GOGC
		debug.SetGCPercent(usual)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
